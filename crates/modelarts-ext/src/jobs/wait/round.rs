//! `Round`: the requests with which a wait reads several jobs, mostly searches.
//!
//! A search returns up to 50 jobs, and a read one job. Up to 10 jobs are searched for by id, more
//! jobs by phase. Jobs that are not found have usually ended: more than 50 are searched for by the
//! final phases, fewer by id, and the remaining jobs are read one by one.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use futures::{FutureExt, StreamExt, TryFutureExt, TryStreamExt, future, stream};
use modelarts_api::{codes, types::Phase};

use crate::{
    client::Client,
    error::Error,
    jobs::{
        filter::{Filter, MAX_SPAN, MAX_VALUES},
        job::{Job, is_final},
        list::ListJobs,
        polling::{REQUESTS_IN_FLIGHT, poller::ErrorTolerance},
        wait::job_set::JobSet,
    },
    pagination::page::PageStream,
    timestamp::Timestamp,
};

pub(super) const PAGE_SIZE: usize = 50;

/// Number of requests of a wait, which grows with its rate limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// Maximum number of requests in flight.
    pub(super) in_flight: usize,
    /// Maximum number of searches by id in a round: those of 5 seconds.
    pub(super) id_searches: usize,
}

impl Pace {
    pub(super) fn new(calls_per_second: f64) -> Self {
        // The conversion discards fractions, and limits the number to the range of the type.
        let calls = |seconds: f64| (calls_per_second * seconds) as usize;
        Self {
            in_flight: calls(1.0).clamp(REQUESTS_IN_FLIGHT, 4 * REQUESTS_IN_FLIGHT),
            id_searches: calls(5.0).clamp(5, 1000),
        }
    }
}

/// Jobs of one workspace, because a search covers a single workspace.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) workspace: Option<String>,
    pub(super) jobs: Vec<Job>,
}

fn by_workspace<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<Group> {
    let mut groups: BTreeMap<Option<String>, Vec<Job>> = BTreeMap::new();
    for job in jobs {
        let workspace = job.workspace().map(str::to_owned);
        groups.entry(workspace).or_default().push(job.clone());
    }
    let groups = groups.into_iter();
    groups.map(|(workspace, jobs)| Group { workspace, jobs }).collect()
}

#[derive(Debug)]
pub(super) enum Request {
    Ids(Group),
    Unfinished(Group),
    /// Search by the final phases, until a page contains fewer than `worth` of the jobs.
    Ended {
        group: Group,
        /// Number of jobs that a request of the next stage returns.
        worth: usize,
    },
    Read(String),
}

#[derive(Debug)]
pub(super) enum Answer {
    /// Jobs that were read, including jobs that do not belong to the wait.
    Jobs(Vec<Job>),
    NoIdSearch(Group),
    Gone(String),
}

pub(super) struct SearchState {
    pub(super) budget: usize,
    pub(super) pace: Pace,
    pub(super) last_read: Option<String>,
    pub(super) searches_ids: bool,
}

/// Stage of a round. The requests of a stage are independent of each other.
enum Stage {
    Workspaces(Vec<Group>),
    /// Search by the final phases in the workspaces that were searched by phase.
    FinalPhases,
    Ids,
    Reads(Vec<String>),
    Over,
}

pub(super) struct Round {
    stage: Stage,
    by_phase: Vec<Group>,
    found: HashSet<String>,
    searched: HashSet<String>,
}

impl Round {
    pub(super) fn new(jobs: &JobSet) -> Self {
        Self {
            stage: Stage::Workspaces(by_workspace(jobs.unfinished())),
            by_phase: Vec::new(),
            found: HashSet::new(),
            searched: HashSet::new(),
        }
    }

    pub(super) fn next(&mut self, jobs: &JobSet, search: &mut SearchState) -> Vec<Request> {
        loop {
            let (requests, next) = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Workspaces(groups) if groups.is_empty() => (Vec::new(), Stage::FinalPhases),
                Stage::Workspaces(groups) => {
                    let requests = groups.into_iter().map(|group| {
                        if search.searches_ids && group.jobs.len() <= MAX_VALUES {
                            self.searched.extend(ids(&group.jobs));
                            return Request::Ids(group);
                        }
                        self.by_phase.push(group.clone());
                        Request::Unfinished(group)
                    });
                    // Groups whose search by ids is rejected are added to this stage.
                    (requests.collect(), Stage::Workspaces(Vec::new()))
                }
                Stage::FinalPhases => (self.search_final_phases(search), Stage::Ids),
                Stage::Ids => self.search_ids(jobs, search),
                Stage::Reads(missing) => (self.read_each(missing, search), Stage::Over),
                Stage::Over => return Vec::new(),
            };
            self.stage = next;
            if !requests.is_empty() {
                return requests;
            }
        }
    }

    pub(super) fn record(&mut self, answer: Answer, jobs: &mut JobSet, search: &mut SearchState) {
        match answer {
            Answer::Jobs(rows) => {
                for job in rows {
                    let id = job.id().to_owned();
                    if jobs.record_read(job) {
                        self.found.insert(id);
                    }
                }
            }
            Answer::NoIdSearch(group) => {
                search.searches_ids = false;
                if let Stage::Workspaces(groups) = &mut self.stage {
                    groups.push(group);
                }
            }
            Answer::Gone(id) => jobs.record_gone(&id),
        }
    }

    fn search_final_phases(&mut self, search: &SearchState) -> Vec<Request> {
        let worth = if search.searches_ids { MAX_VALUES } else { 1 };
        let groups = std::mem::take(&mut self.by_phase).into_iter();
        let requests = groups.filter_map(|mut group| {
            group.jobs.retain(|job| !self.found.contains(job.id()));
            (group.jobs.len() > PAGE_SIZE).then_some(Request::Ended { group, worth })
        });
        requests.collect()
    }

    /// Searches by id, beginning after the last read job, so that unknown jobs do not block others.
    fn search_ids(&self, jobs: &JobSet, search: &mut SearchState) -> (Vec<Request>, Stage) {
        let mut missing: Vec<String> = ids(jobs.unfinished()).collect();
        missing.retain(|id| !self.found.contains(id));
        let next = |last: &String| missing.partition_point(|id| id <= last);
        let next = search.last_read.as_ref().map_or(0, next);
        missing.rotate_left(next);
        let mut requests = Vec::new();
        if search.searches_ids {
            let found_by_id = search.pace.id_searches * MAX_VALUES;
            missing.truncate(found_by_id.max(search.budget));
            let ids = missing.iter().filter(|id| !self.searched.contains(*id));
            let ids = ids.take(found_by_id);
            for Group { workspace, jobs } in by_workspace(ids.filter_map(|id| jobs.get(id))) {
                let chunks = jobs.chunks(MAX_VALUES).filter(|jobs| jobs.len() > 1);
                requests.extend(chunks.map(|jobs| {
                    Request::Ids(Group { workspace: workspace.clone(), jobs: jobs.to_vec() })
                }));
            }
        }
        if let Some(last) = missing.last() {
            search.last_read = Some(last.clone());
        }
        (requests, Stage::Reads(missing))
    }

    fn read_each(&self, mut missing: Vec<String>, search: &mut SearchState) -> Vec<Request> {
        missing.retain(|id| !self.found.contains(id));
        if missing.len() > search.budget {
            missing.truncate(search.budget);
            search.last_read = missing.last().cloned();
        }
        missing.into_iter().map(Request::Read).collect()
    }
}

fn ids<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> impl Iterator<Item = String> {
    jobs.into_iter().map(|job| job.id().to_owned())
}

const UNKNOWN_KEY_CODES: [&str; 4] = [
    codes::UNSUPPORTED_CONDITION_KEY,
    codes::UNSUPPORTED_CONDITION_OPERATOR,
    codes::UNSUPPORTED_CONDITION_VALUE,
    codes::UNSUPPORTED_FILTER_BY,
];

const TIME_RESOLUTION: Duration = Duration::from_secs(1);

/// Runs a round. A failed search ends the round, because the service may request a pause.
pub(super) async fn read_jobs(
    client: &Client,
    jobs: &mut JobSet,
    search: &mut SearchState,
    tolerance: &mut ErrorTolerance,
) -> Result<(), Error> {
    let mut round = Round::new(jobs);
    loop {
        let requests = round.next(jobs, search);
        if requests.is_empty() {
            return Ok(());
        }
        let are_reads = matches!(requests[0], Request::Read(_));
        let in_flight = search.pace.in_flight;
        let pages = (in_flight / requests.len()).max(1);
        let requests = requests.into_iter();
        let answers = requests.map(|request| request.send(client.clone(), pages));
        let mut answers = stream::iter(answers).flatten_unordered(in_flight);
        let mut last_error = None;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(answer) => {
                    if !matches!(answer, Answer::NoIdSearch(_)) {
                        tolerance.reset();
                    }
                    round.record(answer, jobs, search);
                }
                Err(error) if are_reads => last_error = Some(error),
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = last_error {
            return Err(error);
        }
    }
}

impl Request {
    fn send(self, client: Client, pages: usize) -> PageStream<Answer> {
        match self {
            Self::Ids(group) => search_ids(client, group).into_stream().boxed(),
            Self::Unfinished(group) => {
                let list = search_phases(&client, &group, |phase| !is_final(phase));
                numbered_pages(list, pages).map_ok(Answer::Jobs).boxed()
            }
            Self::Ended { group, worth } => {
                // Requests no more pages than the jobs can fill, as the search may end early.
                let pages = pages.min(group.jobs.len() / PAGE_SIZE).max(1);
                let list = search_phases(&client, &group, is_final);
                let ids = group.jobs.iter().map(|job| job.id().to_owned());
                let (pages, missing) = (numbered_pages(list, pages), ids.collect());
                stream::try_unfold(Some((pages, missing)), move |state| async move {
                    let Some((mut pages, mut missing)) = state else {
                        return Ok(None);
                    };
                    let jobs = pages.try_next().await?;
                    Ok(jobs.map(|jobs| {
                        let more = take_found(&mut missing, &jobs, worth);
                        (Answer::Jobs(jobs), more.then_some((pages, missing)))
                    }))
                })
                .boxed()
            }
            Self::Read(id) => read(client, id).into_stream().boxed(),
        }
    }
}

/// Reads the pages of a list by their numbers. Unlike a stream of the list, this does not notice
/// jobs that move to another page meanwhile, so it never reads pages again. Such jobs are missing,
/// and searched for by id.
fn numbered_pages(list: ListJobs, in_flight: usize) -> PageStream<Vec<Job>> {
    let pages = async move {
        let first = list.clone().page(0).await?;
        // The total of a search may be that of all jobs, and a service may ignore offsets, so the
        // first page without a new job is the end.
        let rows = first.matching.or(first.total);
        let in_flight = if rows.is_some() { in_flight } else { 1 };
        let numbers = 1..rows.unwrap_or(u64::MAX).div_ceil(PAGE_SIZE as u64);
        let others = stream::iter(numbers).map(move |number| list.clone().page(number));
        let others = others.buffered(in_flight).map_ok(|page| page.items);
        let mut seen: HashSet<String> = ids(&first.items).collect();
        let others = others.try_take_while(move |jobs| {
            let new = ids(jobs).filter(|id| seen.insert(id.clone()));
            future::ready(Ok(new.count() > 0))
        });
        Ok(stream::once(future::ready(Ok(first.items))).chain(others))
    };
    pages.try_flatten_stream().boxed()
}

/// Removes the found jobs. Returns `true` if the next page is worth a request.
pub(super) fn take_found(missing: &mut HashSet<String>, page: &[Job], worth: usize) -> bool {
    let before = missing.len();
    for job in page {
        missing.remove(job.id());
    }
    !missing.is_empty() && before - missing.len() >= worth
}

async fn search_ids(client: Client, group: Group) -> Result<Answer, Error> {
    let ids = group.jobs.iter().map(|job| job.id().to_owned()).collect();
    let found = find_ids(&client, group.workspace.as_deref(), ids).await?;
    Ok(found.map_or(Answer::NoIdSearch(group), Answer::Jobs))
}

/// Searches for jobs by id. Returns `None` if the service rejects the condition.
pub(super) async fn find_ids(
    client: &Client,
    workspace: Option<&str>,
    ids: Vec<String>,
) -> Result<Option<Vec<Job>>, Error> {
    let number = ids.len();
    let list = search(client, workspace).filter(Filter::id().is_in(ids));
    match list.collect(number).await {
        Err(error) if error.code().is_some_and(|code| UNKNOWN_KEY_CODES.contains(&code)) => {
            Ok(None)
        }
        rows => rows.map(Some),
    }
}

async fn read(client: Client, id: String) -> Result<Answer, Error> {
    match client.training_jobs().get(&id).await {
        Err(error) if error.is_job_gone() => Ok(Answer::Gone(id)),
        job => job.map(|job| Answer::Jobs(vec![job])),
    }
}

/// Returns a search in a workspace. Jobs that the search does not return are read in another way.
fn search(client: &Client, workspace: Option<&str>) -> ListJobs {
    let list = client.training_jobs().list().allow_early_end();
    match workspace {
        Some(workspace) => list.workspace(workspace),
        None => list,
    }
}

/// Returns a search by phase, within the creation times of the jobs if these span at most 31 days.
fn search_phases(client: &Client, group: &Group, is_wanted: fn(&Phase) -> bool) -> ListJobs {
    let phases = Phase::KNOWN.iter().map(|phase| Phase::from(*phase));
    let list = search(client, group.workspace.as_deref())
        .filter(Filter::phase().is_in(phases.filter(is_wanted)));
    let created = group.jobs.iter().map(Job::created_at);
    let created: Option<Vec<Timestamp>> = created.collect();
    let period = created.and_then(|at| Some((*at.iter().min()?, *at.iter().max()?)));
    match period {
        Some((first, last)) if last.duration_since(first) + TIME_RESOLUTION <= MAX_SPAN => {
            list.filter(Filter::create_time().between(first, last + TIME_RESOLUTION))
        }
        _ => list,
    }
}
