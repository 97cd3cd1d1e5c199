//! Poller of several jobs, which reads all of them in rounds, and returns the results of the jobs
//! that have ended.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_api::types::Phase;

use crate::{
    client::Client,
    clock::since,
    error::Error,
    jobs::{
        filter::MAX_VALUES,
        job::{Job, JobHandle},
        polling::{interval::PollInterval, tolerance::ErrorTolerance},
        wait::{
            Waited,
            condition::Condition,
            outcome::{Outcome, job_outcome},
        },
    },
    transport::{deadline::Deadline, rate_limit::RateLimit},
};

/// Number of calls that a wait for up to [`MAX_VALUES`] jobs may make in a burst: for each job a
/// search, a read, and two calls for its last events and lines.
const SMALL_BURST: u32 = 4 * MAX_VALUES as u32;

/// Options of a wait for several jobs.
#[derive(Clone, Debug)]
pub(in crate::jobs) struct PollOptions {
    pub(in crate::jobs) interval: PollInterval,
    pub(in crate::jobs) timeout: Option<Duration>,
    pub(in crate::jobs) calls_per_second: f64,
    /// Maximum number of jobs that a round reads one by one, and of jobs whose last events it
    /// reads.
    pub(in crate::jobs) budget: usize,
    /// Condition that ends the wait for a job.
    pub(in crate::jobs) until: Option<Condition>,
}

impl Default for PollOptions {
    fn default() -> Self {
        Self {
            interval: PollInterval::new(Duration::from_secs(5), Duration::from_secs(60)),
            timeout: None,
            calls_per_second: 1.0,
            budget: 10,
            until: None,
        }
    }
}

impl PollOptions {
    /// Creates the rate limit of a wait for this number of concurrent jobs.
    pub(in crate::jobs) fn rate_limit(&self, jobs: usize) -> Result<RateLimit, Error> {
        let burst = if jobs <= MAX_VALUES { SMALL_BURST } else { 1 };
        RateLimit::new(self.calls_per_second, burst)
    }
}

/// Poller of several jobs.
pub(in crate::jobs) struct Poller {
    /// Client of the returned jobs.
    client: Client,
    /// Same client with the rate limit of the wait.
    pub(super) limited_client: Client,
    deadline: Arc<Deadline>,
    /// Jobs that have not ended, as they were last read.
    pub(super) left: BTreeMap<String, Job>,
    /// Handles that the caller passed, by the ids of their jobs. The handles of a job are removed
    /// when it has ended.
    handles: HashMap<String, Vec<JobHandle>>,
    interval: PollInterval,
    /// End of the last round, or the time from which the first pause is counted.
    polled_at: Option<SystemTime>,
    pub(super) budget: usize,
    /// Id of the last job that was read one by one.
    pub(super) last_read: Option<String>,
    /// `true` if the service supports searches by ids.
    pub(super) searches_ids: bool,
    /// Tolerance of errors. Each request that succeeds resets it.
    pub(super) tolerance: ErrorTolerance,
    /// Results that need no further calls.
    results: VecDeque<Waited>,
    /// Jobs that ended without completing, whose events have not been read.
    ended: VecDeque<Job>,
    /// Number of jobs in `ended` whose events may still be read before the next round.
    reads_left: usize,
    /// `true` if the last events and log lines of jobs that did not complete may be read before the
    /// next round. Events that the outcome of a stopped job requires are read regardless.
    reads_details: bool,
    /// Condition that ends the wait for a job.
    until: Option<Condition>,
}

impl Poller {
    pub(in crate::jobs) fn new(client: Client, options: PollOptions, limit: RateLimit) -> Self {
        Self {
            deadline: Arc::new(Deadline::new(&**client.clock(), options.timeout)),
            limited_client: client.with_rate_limit(limit),
            client,
            left: BTreeMap::new(),
            handles: HashMap::new(),
            interval: options.interval,
            polled_at: None,
            budget: options.budget,
            last_read: None,
            searches_ids: true,
            tolerance: ErrorTolerance::default(),
            results: VecDeque::new(),
            ended: VecDeque::new(),
            reads_left: options.budget,
            reads_details: true,
            until: options.until,
        }
    }

    /// Adds a job. Its result is returned once, even if it is added twice.
    pub(in crate::jobs) fn add(&mut self, handle: JobHandle) {
        let job = handle.last_read();
        let job = job.unwrap_or_else(|| handle.without_details());
        let job = job.with_client(self.limited_client.clone());
        let id = handle.id().to_owned();
        self.left.insert(id.clone(), job);
        self.handles.entry(id).or_default().push(handle);
    }

    /// Lets the first round begin after a pause, too, for jobs that were just created.
    pub(in crate::jobs) fn start_with_pause(&mut self) {
        self.interval.reset();
        self.polled_at = Some(self.client.clock().now());
    }

    /// Returns the number of jobs that are not known to have ended.
    pub(in crate::jobs) fn unfinished(&self) -> usize {
        self.left.len()
    }

    /// Returns `true` if all results were returned.
    pub(in crate::jobs) fn is_done(&self) -> bool {
        self.left.is_empty() && self.results.is_empty() && self.ended.is_empty()
    }

    /// Returns `true` if the pause before the next round has passed.
    pub(in crate::jobs) fn is_due(&self) -> bool {
        let pause = self.interval.pause().unwrap_or_default();
        !self.left.is_empty() && self.time_since_round() >= pause
    }

    /// Returns `true` if the time limit of the wait has passed.
    pub(in crate::jobs) fn is_late(&self) -> bool {
        let left = self.deadline.left(&**self.client.clock());
        left.is_some_and(|left| left.is_zero())
    }

    /// Abandons the jobs that are not known to have ended, and returns them.
    pub(in crate::jobs) fn abandon(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.left).into_values().collect()
    }

    /// Pauses after a request that the service throttled, but not beyond the time limit.
    pub(in crate::jobs) async fn pause_after(&mut self, error: Error) -> Result<(), Error> {
        let clock = Arc::clone(self.client.clock());
        self.tolerance.tolerate(error, &*clock)?;
        let (interval, tolerance) = (&self.interval, &mut self.tolerance);
        interval.sleep(&*clock, tolerance, &self.deadline).await;
        Ok(())
    }

    fn time_since_round(&self) -> Duration {
        let clock = &**self.client.clock();
        self.polled_at.map_or(Duration::MAX, |at| since(clock, at))
    }

    /// Returns the next result, or `None` if a round must come first.
    pub(in crate::jobs) async fn next_result(&mut self) -> Option<Waited> {
        if let Some(waited) = self.results.pop_front() {
            return Some(self.finish(waited));
        }
        let may_read = self.reads_left > 0;
        // The cause of a stop is a part of the outcome, so the job waits until it can be read. The
        // other jobs need not wait.
        let is_ready = |job: &Job| may_read || job.phase() != Phase::Terminated;
        let job = self.ended.iter().position(is_ready);
        let job = self.ended.remove(job?)?;
        let deadline = Arc::clone(&self.deadline);
        let (outcome, last_events) = job_outcome(&job, &deadline).await?;
        let mut waited = Waited::new(job, outcome);
        waited.last_events = last_events;
        let is_stopped = waited.job.phase() == Phase::Terminated;
        if may_read && (is_stopped || self.reads_details) {
            self.reads_left -= 1;
            if self.reads_details {
                self.reads_details = waited.read_details(&deadline).await;
            }
        }
        Some(self.finish(waited))
    }

    /// Sets the fields that all results share: the number of errors, and the client of the job.
    fn finish(&self, mut waited: Waited) -> Waited {
        waited.errors = self.tolerance.errors;
        waited.job = waited.job.with_client(self.client.clone());
        waited
    }

    /// Reads all jobs, after the pause since the last round. At the time limit, all jobs that have
    /// not ended time out.
    pub(in crate::jobs) async fn round(&mut self) -> Result<(), Error> {
        self.reads_left = self.budget;
        // While results of stopped jobs wait for their cause, the events and lines of other jobs
        // are not read.
        self.reads_details = self.ended.is_empty();
        if self.left.is_empty() {
            return Ok(());
        }
        let (clock, deadline) = (Arc::clone(self.client.clock()), Arc::clone(&self.deadline));
        let is_first = self.interval.pause().is_none();
        if let Some(pause) = self.interval.pause() {
            let pause = self.tolerance.pause(pause);
            let pause = pause.saturating_sub(self.time_since_round());
            let left = deadline.left(&*clock).unwrap_or(pause);
            clock.sleep(pause.min(left)).await;
        }
        let poll = deadline.run(&*clock, self.poll_jobs()).await;
        self.polled_at = Some(clock.now());
        let found_end = self.collect_ended();
        let is_over = match poll {
            None => true,
            Some(Ok(())) => false,
            Some(Err(error)) => {
                self.tolerance.tolerate(error, &*clock)?;
                self.is_late()
            }
        };
        if is_over {
            let left = std::mem::take(&mut self.left).into_values();
            self.results
                .extend(left.map(|job| Waited::new(job, Outcome::TimedOut)));
            return Ok(());
        }
        match is_first || found_end {
            true => self.interval.reset(),
            false => self.interval.back_off(),
        }
        Ok(())
    }

    /// Stores the job with this id as it was read, or moves it to the results if the condition
    /// holds. A job that is not in `left` is ignored.
    pub(super) fn record_read(&mut self, id: &str, job: Job) {
        let Some(last) = self.left.get_mut(id) else {
            return;
        };
        let until = self.until.as_ref();
        if until.is_none_or(|condition| !condition.holds(&job)) {
            *last = job;
            return;
        }
        self.left.remove(id);
        for handle in self.handles.remove(id).unwrap_or_default() {
            handle.record_end(&job);
        }
        self.results.push_back(Waited::new(job, Outcome::Reached));
    }

    /// Moves the jobs that have ended from `left`. Returns `true` if there are results.
    fn collect_ended(&mut self) -> bool {
        let ended = self.left.values().filter(|job| job.is_final()).cloned();
        for job in ended.collect::<Vec<_>>() {
            self.left.remove(job.id());
            for handle in self.handles.remove(job.id()).unwrap_or_default() {
                handle.record_end(&job);
            }
            match job.is_completed() {
                true => {
                    let completed = Waited::new(job, Outcome::Completed);
                    self.results.push_back(completed);
                }
                false => self.ended.push_back(job),
            }
        }
        !(self.results.is_empty() && self.ended.is_empty())
    }

    /// Records that a job no longer exists.
    pub(super) fn record_vanished(&mut self, id: &str) {
        let last = self.left.remove(id);
        self.results
            .extend(last.map(|job| Waited::new(job, Outcome::Vanished)));
    }
}
