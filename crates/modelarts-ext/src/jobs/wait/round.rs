//! `Round`: the requests with which a wait reads several jobs, mostly searches.
//!
//! A search returns up to 50 jobs, and a read one. Up to 10 jobs are searched for by ids, more by
//! phase. The rest has ended or no longer exists: many are searched for by the final phases, fewer
//! by ids, and the others are read one by one.

use std::collections::{BTreeMap, HashSet};

use crate::jobs::{filter::MAX_VALUES, job::Job, wait::job_set::JobSet};

pub(super) const PAGE_SIZE: usize = 50;
const ID_SEARCHES: usize = 5;

/// Jobs of one workspace, because a search covers one workspace.
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
    /// Searches for up to 10 jobs by their ids.
    Ids(Group),
    /// Searches for jobs by the phases before the end, and by their times of creation.
    Unfinished(Group),
    /// Searches by final phases. Ends at a page with fewer of the jobs than `worth`, because the
    /// rest takes fewer requests in another way.
    Ended {
        group: Group,
        /// Number of jobs that a request of the next stage returns.
        worth: usize,
    },
    Read(String),
}

#[derive(Debug)]
pub(super) enum Answer {
    /// Jobs as they were read, among them jobs of others.
    Jobs(Vec<Job>),
    /// The service does not search for these jobs by ids.
    NoIdSearch(Group),
    Gone(String),
}

/// Facts that a wait keeps from round to round.
pub(super) struct SearchState {
    pub(super) budget: usize,
    pub(super) last_read: Option<String>,
    pub(super) searches_ids: bool,
}

/// Stage of a round. The requests of a stage are independent of each other.
enum Stage {
    /// Each of these workspaces is searched: by ids for up to 10 jobs, by phase for more.
    Workspaces(Vec<Group>),
    /// Workspaces that were searched by phase are searched by the final phases.
    FinalPhases,
    Ids,
    /// These jobs are read one by one, if they are missing still.
    Reads(Vec<String>),
    Over,
}

pub(super) struct Round {
    stage: Stage,
    by_phase: Vec<Group>,
    /// Ids of the jobs that were found, and of those that were searched for by their ids.
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

    /// Returns the requests of the next stage; none at the end of the round.
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
                    // Groups whose search by ids is refused are added to this stage.
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

    /// A single job is not searched for, because one read returns it as well. The round begins
    /// after the job that was read last, so that unknown jobs do not block others.
    fn search_ids(&self, jobs: &JobSet, search: &mut SearchState) -> (Vec<Request>, Stage) {
        let mut missing: Vec<String> = ids(jobs.unfinished()).collect();
        missing.retain(|id| !self.found.contains(id));
        let next = |last: &String| missing.partition_point(|id| id <= last);
        let next = search.last_read.as_ref().map_or(0, next);
        missing.rotate_left(next);
        let mut requests = Vec::new();
        if search.searches_ids {
            missing.truncate((ID_SEARCHES * MAX_VALUES).max(search.budget));
            let ids = missing.iter().filter(|id| !self.searched.contains(*id));
            let ids = ids.take(ID_SEARCHES * MAX_VALUES);
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
