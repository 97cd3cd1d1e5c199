//! `JobSet`: the jobs of a wait, the condition that ends it, and the results.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

use modelarts_api::types::Phase;

use crate::jobs::{
    job::Job,
    wait::{Waited, outcome::Outcome},
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum JobState {
    Unfinished,
    Reached,
    Ended,
    Gone,
}

struct Entry {
    job: Job,
    state: JobState,
}

impl Entry {
    fn is_open(&self) -> bool {
        matches!(self.state, JobState::Unfinished | JobState::Ended)
    }
}

#[derive(Default)]
pub(super) struct JobSet {
    /// Jobs without a result, by their ids. Between two rounds, all of them are unfinished.
    jobs: BTreeMap<String, Entry>,
    ended: VecDeque<Job>,
    results: VecDeque<Waited>,
    until: Option<Condition>,
}

impl JobSet {
    pub(super) fn new(until: Option<Condition>) -> Self {
        Self { until, ..Self::default() }
    }

    /// Adds a job. The result of the job is returned once, even if the job is added twice.
    pub(super) fn add(&mut self, job: Job) {
        let id = job.id().to_owned();
        let state = JobState::Unfinished;
        self.jobs.insert(id, Entry { job, state });
    }

    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Job> {
        let open = self.jobs.values().filter(|entry| entry.is_open());
        open.map(|entry| &entry.job)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Job> {
        let open = self.jobs.get(id).filter(|entry| entry.is_open());
        open.map(|entry| &entry.job)
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn is_done(&self) -> bool {
        self.jobs.is_empty() && self.ended.is_empty() && self.results.is_empty()
    }

    pub(super) fn has_ended_jobs(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Records a job that was read. Returns `true` for a job of the wait; other jobs are ignored.
    pub(super) fn record_read(&mut self, job: Job) -> bool {
        let Some(entry) = self.jobs.get_mut(job.id()) else {
            return false;
        };
        if entry.is_open() {
            let until = self.until.as_ref();
            entry.state = match job.is_final() {
                _ if until.is_some_and(|condition| condition.holds(&job)) => JobState::Reached,
                true => JobState::Ended,
                false => JobState::Unfinished,
            };
            entry.job = job;
        }
        true
    }

    pub(super) fn record_gone(&mut self, id: &str) {
        if let Some(entry) = self.jobs.get_mut(id).filter(|entry| entry.is_open()) {
            entry.state = JobState::Gone;
        }
    }

    /// Moves finished jobs to `results` or `ended`. Returns `true` if these are not empty.
    pub(super) fn end_round(&mut self) -> bool {
        let jobs = self.jobs.iter();
        let ended = jobs.filter(|(_, entry)| entry.state != JobState::Unfinished);
        let ended: Vec<String> = ended.map(|(id, _)| id.clone()).collect();
        for Entry { job, state } in ended.iter().filter_map(|id| self.jobs.remove(id)) {
            let outcome = match state {
                JobState::Reached => Outcome::Reached,
                JobState::Gone => Outcome::Vanished,
                _ if job.is_completed() => Outcome::Completed,
                _ => {
                    self.ended.push_back(job);
                    continue;
                }
            };
            self.results.push_back(Waited::new(job, outcome));
        }
        !(self.results.is_empty() && self.ended.is_empty())
    }

    pub(super) fn time_out(&mut self) {
        let left = self.abandon().into_iter();
        self.results.extend(left.map(|job| Waited::new(job, Outcome::TimedOut)));
    }

    /// Returns the jobs as they were read last, and `true` for a job that no longer exists.
    pub(super) fn into_jobs(self) -> impl Iterator<Item = (Job, bool)> {
        self.jobs.into_values().map(|entry| (entry.job, entry.state == JobState::Gone))
    }

    pub(super) fn abandon(&mut self) -> Vec<Job> {
        let jobs = std::mem::take(&mut self.jobs).into_values();
        jobs.map(|entry| entry.job).collect()
    }

    pub(super) fn next_result(&mut self) -> Option<Waited> {
        self.results.pop_front()
    }

    /// Returns an ended job; a stopped job only if its cause, a part of the outcome, may be read.
    pub(super) fn next_ended(&mut self, may_read: bool) -> Option<Job> {
        let is_ready = |job: &Job| may_read || job.phase() != Phase::Terminated;
        self.ended.remove(self.ended.iter().position(is_ready)?)
    }
}

#[derive(Clone)]
pub(in crate::jobs) struct Condition(Arc<dyn Fn(&Job) -> bool + Send + Sync>);

impl Condition {
    pub(super) fn new(condition: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(condition))
    }

    pub(super) fn holds(&self, job: &Job) -> bool {
        (self.0)(job)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condition")
    }
}
