//! Wait for the end of one job or of several jobs.
//!
//! A [`Wait`] polls the job, and ends with an [`Outcome`], which distinguishes, for example, a job
//! that a user stopped from a job that reached its time limit. If all requests fail for 15 minutes,
//! the wait ends with the error; throttling only slows the wait.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # let job = hello(&emulator, &client, "wait")?.submit().await?;
//! use std::time::Duration;
//! use modelarts_ext::Outcome;
//!
//! let end = job.wait().timeout(Duration::from_secs(12 * 3600)).await?;
//! match end.outcome() {
//!     Outcome::Completed => println!("done after {:?}", end.job().time_run()),
//!     Outcome::Failed { exit_code, .. } => println!("failed: {exit_code:?}"),
//!     Outcome::Terminated { by } => println!("stopped: {by:?}"),
//!     Outcome::TimedOut => println!("it still runs"),
//!     other => println!("{other:?}"),
//! }
//! # assert!(end.is_completed());
//! # Ok(()) }) }
//! ```
//!
//! Functions that take a future, such as `join_all` and `tokio::spawn`, need
//! `job.wait().into_future()`.
//!
//! [`Waited::success`] returns an error unless the job completed or the condition of the wait
//! holds. A wait can also be a [stream](Wait::stream), or end [on a condition](Wait::until).
//!
//! [`TrainingJobs::wait_all`](crate::TrainingJobs::wait_all) waits for hundreds of jobs;
//! [`TrainingJobs::submit_all`](crate::TrainingJobs::submit_all) also submits the jobs.

mod all;
mod job_set;
pub(super) mod jobs_wait;
mod outcome;
mod round;
#[cfg(test)]
mod round_tests;
mod shared_reads;
mod waited;
mod watch;

pub use all::WaitAll;
pub use outcome::{Outcome, TerminatedBy};
pub use waited::Waited;
pub use watch::{JobChange, JobWatch, WatchPosition};

use std::{future::IntoFuture, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use modelarts_api::{BoxFuture, types::SecondaryPhase};
use serde::{Serialize, Serializer};

use crate::{
    error::Error,
    jobs::{
        events::event::Event,
        job::{Job, JobHandle, JobSummary},
        polling::poller::{ErrorTolerance, PollInterval, Poller},
        wait::{
            job_set::Condition,
            outcome::job_outcome,
            shared_reads::{Phases, phases},
        },
    },
    pagination::page::PageStream,
    timestamp::Timestamp,
};

/// State of a job during a wait.
///
/// As JSON, an observation is one object with the time `at` (RFC 3339), `id`, `name`, `phase` and
/// `secondary_phase` of the job, `errors`, and at the end the fields of the [`Outcome`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Observation {
    /// Time of the observation.
    pub at: Timestamp,
    /// Job as it was last read. A job that was never read has no details.
    #[serde(flatten, serialize_with = "serialize_phases")]
    pub job: Job,
    /// Number of errors that the wait has tolerated so far.
    pub errors: u32,
    /// Outcome of the wait, set only in the last observation.
    #[serde(flatten)]
    pub outcome: Option<Outcome>,
}

fn serialize_phases<S: Serializer>(job: &Job, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Json<'a> {
        #[serde(flatten)]
        job: JobSummary<'a>,
        secondary_phase: Option<&'a SecondaryPhase>,
    }
    let (job, secondary_phase) = (job.summary(), job.secondary_phase());
    Json { job, secondary_phase }.serialize(serializer)
}

/// Wait for the end of a job. Awaiting the value returns a [`Waited`]; [`stream`](Self::stream)
/// returns each change.
///
/// A job that the service restarts by itself has no final phase, so the wait continues. A job that
/// a user restarts after its end needs a new wait.
///
/// [`Waited::job`] is the job as last read. If the job failed, was stopped or is abnormal, the wait
/// also reads the last events and log lines of the job for [`Waited`].
///
/// Waits of one client share up to 16 requests in flight, or up to 64 with a
/// [`rate_limit`](crate::ClientBuilder::rate_limit). If more waits are due, a search reads up to 10
/// jobs at once, and a job whose phase has not changed keeps its details. A wait with a
/// [condition](Self::until) always reads its job.
///
/// Transient errors are tolerated for up to 15 minutes, throttling until the [time
/// limit](Self::timeout). A wait for a job never read may fail with [`Error::is_not_found`].
#[derive(Clone, Debug)]
#[must_use = "a wait does nothing unless it is awaited or streamed"]
pub struct Wait {
    job: JobHandle,
    interval: PollInterval,
    timeout: Option<Duration>,
    until: Option<Condition>,
}

impl JobHandle {
    /// Returns a wait for the end of the job.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "bert")?.submit().await?;
    /// let end = job.wait().await?;
    /// println!("{}: {}", end.job().name(), end.outcome());
    /// // An error, with the last events and log lines, unless the job completed.
    /// let job = end.success()?;
    /// # assert!(job.is_completed());
    /// # Ok(()) }) }
    /// ```
    pub fn wait(&self) -> Wait {
        Wait {
            job: self.clone(),
            interval: PollInterval::new(Duration::from_secs(1), Duration::from_secs(30)),
            timeout: None,
            until: None,
        }
    }
}

impl Wait {
    /// Sets the time limit, which ends the wait with [`Outcome::TimedOut`]. The default is none.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// use std::time::Duration;
    /// use modelarts_ext::Outcome;
    ///
    /// let end = job.wait().timeout(Duration::from_secs(3600)).await?;
    /// if *end.outcome() == Outcome::TimedOut {
    ///     println!("after an hour, the job is {}", end.job().phase());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the pause between two polls: `shortest` after a change of phase, growing up to
    /// `longest`. The defaults are 1 and 30 seconds, the maximum is one day.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.interval = PollInterval::new(shortest, longest);
        self
    }

    /// Ends the wait with [`Outcome::Reached`] when a poll finds that the condition holds.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::{Outcome, types::Phase};
    ///
    /// let wait = job.wait().until(|job| job.phase() == Phase::Running);
    /// match wait.await?.outcome() {
    ///     Outcome::Reached => println!("it runs"),
    ///     other => println!("it never ran: {other:?}"),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn until(mut self, condition: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        self.until = Some(Condition::new(condition));
        self
    }

    /// Returns a stream of the current state of the job, each change of the phase, and the end.
    #[must_use]
    pub fn stream(self) -> PageStream<Observation> {
        stream::try_unfold(Some(WaitState::new(self)), |state| async move {
            let Some(mut state) = state else {
                return Ok(None);
            };
            let observation = state.next().await?;
            let more = observation.outcome.is_none();
            Ok(Some((observation, more.then_some(state))))
        })
        .boxed()
    }
}

impl IntoFuture for Wait {
    type Output = Result<Waited, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut state = WaitState::new(self);
            loop {
                let observation = state.next().await?;
                if let Some(outcome) = observation.outcome {
                    let mut waited = Waited::new(observation.job, outcome);
                    waited.errors = observation.errors;
                    waited.last_events = state.last_events;
                    Box::pin(waited.read_details(&state.poller.deadline)).await;
                    return Ok(waited);
                }
            }
        })
    }
}

struct WaitState {
    handle: JobHandle,
    until: Option<Condition>,
    poller: Poller,
    tolerance: ErrorTolerance,
    job: Option<Job>,
    last_phases: Option<Phases>,
    last_events: Vec<Event>,
}

impl WaitState {
    fn new(wait: Wait) -> Self {
        Self {
            poller: Poller::new(wait.job.client().clock(), wait.interval, wait.timeout),
            tolerance: ErrorTolerance::default(),
            job: wait.job.job(),
            handle: wait.job,
            until: wait.until,
            last_phases: None,
            last_events: Vec::new(),
        }
    }

    async fn next(&mut self) -> Result<Observation, Error> {
        let clock = &*Arc::clone(self.handle.client().clock());
        loop {
            // A condition may read any detail of the job, and a restarted job has new ones.
            let known = self.job.as_ref();
            let known = known.filter(|job| self.until.is_none() && !job.is_final());
            let job = match self.poller.round(shared_reads::read(&self.handle, known)).await {
                None => return Ok(self.observation(Some(Outcome::TimedOut))),
                Some(Ok(job)) => job,
                Some(Err(error)) if error.is_job_gone() && self.job.is_some() => {
                    return Ok(self.observation(Some(Outcome::Vanished)));
                }
                Some(Err(error)) => {
                    self.tolerance.tolerate(error, clock.now())?;
                    let retry_after = self.tolerance.take_retry_after();
                    self.poller.end_round(clock.now(), false, retry_after);
                    continue;
                }
            };
            self.tolerance.reset();
            let until = self.until.as_ref();
            let outcome = match job.is_final() {
                _ if until.is_some_and(|condition| condition.holds(&job)) => Some(Outcome::Reached),
                true => {
                    let (outcome, events) = job_outcome(&job, &self.poller.deadline).await;
                    self.last_events = events;
                    Some(outcome)
                }
                false => None,
            };
            let phases = Some(phases(&job));
            let changed = self.last_phases != phases;
            self.last_phases = phases;
            self.job = Some(job);
            self.poller.end_round(clock.now(), changed, Duration::ZERO);
            if changed || outcome.is_some() {
                return Ok(self.observation(outcome));
            }
        }
    }

    fn observation(&self, outcome: Option<Outcome>) -> Observation {
        Observation {
            job: match &self.job {
                Some(job) => job.clone(),
                None => self.handle.without_details(),
            },
            outcome,
            at: self.handle.client().clock().now().into(),
            errors: self.tolerance.errors,
        }
    }
}
