//! Reads of several jobs in one round, mostly by searches.
//!
//! A search returns up to 50 jobs with all details, and a read returns one job. Up to 10 jobs are
//! searched for by their ids. For more jobs, those that have not ended are searched for by phase.
//! The other jobs have ended, have a phase that the client does not know, or no longer exist. If
//! these are many, they are searched for by the final phases; fewer jobs are searched for by their
//! ids, and the rest is read one by one.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{codes, types::Phase};

use crate::{
    error::Error,
    jobs::{
        filter::{Filter, MAX_SPAN, MAX_VALUES},
        job::{Job, is_final},
        list::ListJobs,
        wait::poller::Poller,
    },
    timestamp::Timestamp,
};

/// Number of concurrent reads of single jobs.
const CONCURRENT_CALLS: usize = 4;
/// Number of jobs on a page of a search.
const PAGE_SIZE: usize = 50;
/// Maximum number of searches by ids in a round, after the searches by phase.
const ID_SEARCHES: usize = 5;
/// Error codes with which the service rejects a search key.
const UNKNOWN_KEY_CODES: [&str; 4] = [
    codes::UNSUPPORTED_CONDITION_KEY,
    codes::UNSUPPORTED_CONDITION_OPERATOR,
    codes::UNSUPPORTED_CONDITION_VALUE,
    codes::UNSUPPORTED_FILTER_BY,
];

/// Resolution at which the service may compare times.
const TIME_RESOLUTION: Duration = Duration::from_secs(1);

/// Jobs of one workspace that were searched for.
type Group = (Option<String>, Vec<Job>);

/// Groups jobs by their workspaces, because a search covers one workspace.
fn by_workspace<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<Group> {
    let mut groups: BTreeMap<Option<String>, Vec<Job>> = BTreeMap::new();
    for job in jobs {
        let workspace = job.workspace().map(str::to_owned);
        groups.entry(workspace).or_default().push(job.clone());
    }
    groups.into_iter().collect()
}

impl Poller {
    /// Reads all jobs. If the deadline passes meanwhile, the jobs read so far are kept.
    pub(super) async fn poll_jobs(&mut self) -> Result<(), Error> {
        let mut found = HashSet::new();
        let mut searched = HashSet::new();
        for (workspace, jobs) in by_workspace(self.left.values()) {
            let list = self.list(workspace.as_deref());
            if jobs.len() <= MAX_VALUES
                && let Some(rows) = self.search_ids(list.clone(), &jobs).await?
            {
                searched.extend(jobs.iter().map(|job| job.id().to_owned()));
                self.update(rows, &mut found);
                continue;
            }
            self.search_phases(list, &jobs, &mut found).await?;
        }
        // The round begins after the job that was read last, so that jobs that remain unknown do
        // not block the others.
        let ids = self.left.keys().filter(|id| !found.contains(*id));
        let mut missing: Vec<String> = ids.cloned().collect();
        let next = |last: &String| missing.partition_point(|id| id <= last);
        let next = self.last_read.as_ref().map_or(0, next);
        missing.rotate_left(next);
        if self.searches_ids {
            missing.truncate((ID_SEARCHES * MAX_VALUES).max(self.budget));
            let jobs = missing.iter().filter(|id| !searched.contains(*id));
            let jobs = jobs.take(ID_SEARCHES * MAX_VALUES);
            let groups = by_workspace(jobs.filter_map(|id| self.left.get(id)));
            self.search_by_ids(groups, &mut found).await?;
        }
        if let Some(last) = missing.last() {
            self.last_read = Some(last.clone());
        }
        missing.retain(|id| !found.contains(id));
        if missing.len() > self.budget {
            missing.truncate(self.budget);
            self.last_read = missing.last().cloned();
        }
        self.read_each(missing).await
    }

    /// Stores the jobs that a search has returned.
    fn update(&mut self, rows: Vec<Job>, found: &mut HashSet<String>) {
        self.tolerance.reset();
        for job in rows {
            if self.left.contains_key(job.id()) {
                let id = job.id().to_owned();
                self.record_read(&id, job);
                found.insert(id);
            }
        }
    }

    /// Returns a search in a workspace. Jobs that the search does not return are read in another
    /// way.
    fn list(&self, workspace: Option<&str>) -> ListJobs {
        let list = self.limited_client.training_jobs().list();
        let list = list.allow_early_end();
        match workspace {
            Some(workspace) => list.workspace(workspace),
            None => list,
        }
    }

    /// Searches for up to 10 jobs by their ids. Returns `None` if the service does not support this
    /// search.
    async fn search_ids(
        &mut self,
        list: ListJobs,
        jobs: &[Job],
    ) -> Result<Option<Vec<Job>>, Error> {
        if !self.searches_ids {
            return Ok(None);
        }
        let filter = Filter::id().is_in(jobs.iter().map(|job| job.id()));
        match list.filter(filter).collect(jobs.len()).await {
            Err(error)
                if error
                    .code()
                    .is_some_and(|code| UNKNOWN_KEY_CODES.contains(&code)) =>
            {
                self.searches_ids = false;
                Ok(None)
            }
            rows => rows.map(Some),
        }
    }

    /// Searches for missing jobs by their ids. A single job is not searched for, because one read
    /// returns it as well.
    async fn search_by_ids(
        &mut self,
        groups: Vec<Group>,
        found: &mut HashSet<String>,
    ) -> Result<(), Error> {
        for (workspace, jobs) in groups {
            for jobs in jobs.chunks(MAX_VALUES).filter(|jobs| jobs.len() > 1) {
                let list = self.list(workspace.as_deref());
                match self.search_ids(list, jobs).await? {
                    Some(rows) => self.update(rows, found),
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Searches for the jobs that have not ended, and for the other jobs if they are more than a
    /// page.
    async fn search_phases(
        &mut self,
        list: ListJobs,
        jobs: &[Job],
        found: &mut HashSet<String>,
    ) -> Result<(), Error> {
        let (ended, unfinished): (Vec<Phase>, Vec<Phase>) = Phase::KNOWN
            .iter()
            .map(|phase| Phase::from(*phase))
            .partition(is_final);
        let unfinished = list.clone().filter(Filter::phase().is_in(unfinished));
        let mut pages = in_period(unfinished, jobs).pages();
        while let Some(page) = pages.try_next().await? {
            self.update(page.items, found);
        }
        let missing = jobs.iter().filter(|job| !found.contains(job.id()));
        let missing: Vec<Job> = missing.cloned().collect();
        if missing.len() <= PAGE_SIZE {
            return Ok(());
        }
        // The search ends at a page that contains few of the missing jobs, because the rest can
        // then be read by ids with fewer calls.
        let worth = if self.searches_ids { MAX_VALUES } else { 1 };
        let ended = list.filter(Filter::phase().is_in(ended)).in_flight(1);
        let mut pages = in_period(ended, &missing).pages();
        let mut left = missing.len();
        while left > 0
            && let Some(page) = pages.try_next().await?
        {
            let before = found.len();
            self.update(page.items, found);
            let new = found.len() - before;
            left = left.saturating_sub(new);
            if new < worth {
                break;
            }
        }
        Ok(())
    }

    /// Reads jobs one by one.
    async fn read_each(&mut self, ids: Vec<String>) -> Result<(), Error> {
        let jobs = &self.limited_client.training_jobs();
        let mut reads = stream::iter(ids)
            .map(|id| async move { (jobs.get(&id).await, id) })
            .buffered(CONCURRENT_CALLS);
        let mut last_error = None;
        while let Some((read, id)) = reads.next().await {
            if read.as_ref().err().is_none_or(Error::is_job_gone) {
                self.tolerance.reset();
            }
            match read {
                Ok(job) => self.record_read(&id, job),
                Err(error) if error.is_job_gone() => self.record_vanished(&id),
                Err(error) => last_error = Some(error),
            }
        }
        last_error.map_or(Ok(()), Err)
    }
}

/// Restricts a search to the period in which these jobs were created, if the service accepts a
/// period of this length.
fn in_period(list: ListJobs, jobs: &[Job]) -> ListJobs {
    let created = jobs.iter().map(Job::created_at);
    let created: Option<Vec<Timestamp>> = created.collect();
    let period = created.and_then(|at| Some((*at.iter().min()?, *at.iter().max()?)));
    match period {
        Some((first, last)) if last.duration_since(first) + TIME_RESOLUTION <= MAX_SPAN => {
            list.filter(Filter::create_time().between(first, last + TIME_RESOLUTION))
        }
        _ => list,
    }
}
