//! `JobSet`: the jobs of a wait, and their results.

use std::collections::{BTreeMap, VecDeque};

use modelarts_api::types::Phase;

use crate::jobs::{
    job::Job,
    wait::{Waited, condition::Condition, outcome::Outcome},
};

/// State of a job in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
enum JobState {
    /// The job has not ended, as far as is known.
    Unfinished,
    /// The condition of the wait holds for the job.
    Reached,
    /// The job has ended.
    Ended,
    /// The job no longer exists.
    Gone,
}

/// Job as it was last read, and its state.
struct Entry {
    job: Job,
    state: JobState,
}

impl Entry {
    /// Returns `true` if another read in this round can change the state.
    fn is_open(&self) -> bool {
        matches!(self.state, JobState::Unfinished | JobState::Ended)
    }
}

/// Jobs of a wait.
#[derive(Default)]
pub(super) struct JobSet {
    /// Jobs without a result, by their ids. Between two rounds, all of them are unfinished.
    jobs: BTreeMap<String, Entry>,
    /// Jobs that ended without completing, whose last events and lines have not been read.
    ended: VecDeque<Job>,
    /// Results that need no further request.
    results: VecDeque<Waited>,
    until: Option<Condition>,
}

impl JobSet {
    pub(super) fn new(until: Option<Condition>) -> Self {
        Self { until, ..Self::default() }
    }

    /// Adds a job. Its result is returned once, even if it is added twice.
    pub(super) fn add(&mut self, job: Job) {
        let id = job.id().to_owned();
        let state = JobState::Unfinished;
        self.jobs.insert(id, Entry { job, state });
    }

    /// Returns the jobs that may be read, by their ids.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Job> {
        let open = self.jobs.values().filter(|entry| entry.is_open());
        open.map(|entry| &entry.job)
    }

    /// Returns the job with this id, if it may be read.
    pub(super) fn get(&self, id: &str) -> Option<&Job> {
        let open = self.jobs.get(id).filter(|entry| entry.is_open());
        open.map(|entry| &entry.job)
    }

    /// Returns the number of jobs without a result.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns `true` if all results were taken.
    pub(super) fn is_done(&self) -> bool {
        self.jobs.is_empty() && self.ended.is_empty() && self.results.is_empty()
    }

    /// Returns `true` if ended jobs wait for their last events.
    pub(super) fn has_ended_jobs(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Records a job as it was read. Other jobs are ignored. Returns `true` for a job of the wait.
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

    /// Records that a job no longer exists.
    pub(super) fn record_gone(&mut self, id: &str) {
        if let Some(entry) = self.jobs.get_mut(id).filter(|entry| entry.is_open()) {
            entry.state = JobState::Gone;
        }
    }

    /// Ends a round: turns all jobs but the unfinished ones into results, in the order of their
    /// ids. Returns `true` if there are results.
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

    /// Ends the wait for all unfinished jobs, whose results are the outcome `TimedOut`.
    pub(super) fn time_out(&mut self) {
        let left = self.abandon().into_iter();
        self.results.extend(left.map(|job| Waited::new(job, Outcome::TimedOut)));
    }

    /// Removes and returns the jobs without a result.
    pub(super) fn abandon(&mut self) -> Vec<Job> {
        let jobs = std::mem::take(&mut self.jobs).into_values();
        jobs.map(|entry| entry.job).collect()
    }

    /// Removes and returns the next result that needs no request.
    pub(super) fn next_result(&mut self) -> Option<Waited> {
        self.results.pop_front()
    }

    /// Removes and returns the next job that has ended without completing. The cause of a stop is a
    /// part of the outcome, so a stopped job stays until it can be read. Other jobs do not wait for
    /// it.
    pub(super) fn next_ended(&mut self, may_read: bool) -> Option<Job> {
        let is_ready = |job: &Job| may_read || job.phase() != Phase::Terminated;
        self.ended.remove(self.ended.iter().position(is_ready)?)
    }
}
