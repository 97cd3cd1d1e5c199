//! Waiting for a job to end.

use std::{
    future::IntoFuture,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{
    BoxFuture,
    types::{Phase, SecondaryPhase},
};

use crate::{
    clock::since, error::Error, event_kind::EventKind, job::Job, page::Results, patience::Patience,
};

/// How a job ended, or why the wait did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job did what it was to do.
    Completed,
    /// The job's code failed.
    Failed {
        /// The exit code, if the service says it.
        exit_code: Option<i64>,
        /// The task that failed first, such as `worker-0`.
        task: Option<String>,
        /// What the service says about it.
        message: Option<String>,
    },
    /// The job was stopped.
    Terminated {
        /// By whom.
        by: TerminatedBy,
    },
    /// The platform failed: the job could not be made, or was lost.
    Abnormal {
        /// What the service says about it, such as `CreateFailed`.
        secondary_phase: Option<SecondaryPhase>,
    },
    /// The job was deleted while it was waited for.
    Vanished,
    /// The time limit of the wait was reached. The job goes on.
    TimedOut,
}

/// Who stopped a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TerminatedBy {
    /// A user.
    User,
    /// The limit that the job itself set for its duration.
    AutoStop {
        /// The limit.
        hours: u32,
    },
    /// The events do not say.
    Unknown,
}

/// What a wait saw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observation {
    /// The job as it was seen. When it vanished, as it was seen last.
    pub job: Job,
    /// How the wait ended, in its last observation.
    pub outcome: Option<Outcome>,
    /// When it was seen.
    pub at: SystemTime,
    /// How many errors the wait has passed over so far.
    pub errors: u32,
}

/// The end of a wait.
#[derive(Clone, Debug)]
pub struct Waited {
    job: Job,
    outcome: Outcome,
    errors: u32,
}

impl Waited {
    /// How it ended.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Whether the job completed.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// The job as it was seen last.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// How many errors the wait has passed over.
    #[must_use]
    pub fn errors(&self) -> u32 {
        self.errors
    }
}

/// A wait for the end of a job. Await it, or [`observe`](Self::observe) it.
#[derive(Clone, Debug)]
#[must_use = "a wait does nothing unless it is awaited or observed"]
pub struct Wait {
    job: Job,
    shortest: Duration,
    longest: Duration,
    timeout: Option<Duration>,
}

impl Wait {
    pub(crate) fn new(job: Job) -> Self {
        Self {
            job,
            shortest: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            timeout: None,
        }
    }

    /// Ends the wait after this long, with [`Outcome::TimedOut`]. Default: never.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long to wait between two looks: `shortest` after a change of phase, and
    /// longer from look to look, up to `longest`. Default 1 to 30 seconds.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.shortest = shortest;
        self.longest = longest.max(shortest);
        self
    }

    /// What the wait sees: the job as it is, each change of its phase, the end.
    #[must_use]
    pub fn observe(self) -> Results<Observation> {
        let watch = Watch {
            started: self.job.client().clock().now(),
            pause: None,
            seen: None,
            patience: Patience::default(),
            wait: self,
        };
        stream::try_unfold(Some(watch), |state| async move {
            let Some(mut watch) = state else {
                return Ok(None);
            };
            let observation = watch.next().await?;
            let more = observation.outcome.is_none();
            Ok(Some((observation, more.then_some(watch))))
        })
        .boxed()
    }
}

impl IntoFuture for Wait {
    type Output = Result<Waited, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut observations = self.observe();
            while let Some(observation) = observations.try_next().await? {
                if let Some(outcome) = observation.outcome {
                    return Ok(Waited {
                        job: observation.job,
                        outcome,
                        errors: observation.errors,
                    });
                }
            }
            Err(Error::invalid("the wait ended without an outcome"))
        })
    }
}

/// Where a wait stands.
struct Watch {
    wait: Wait,
    started: SystemTime,
    /// How long to wait before the next look; nothing before the first.
    pause: Option<Duration>,
    seen: Option<(Phase, Option<SecondaryPhase>)>,
    patience: Patience,
}

impl Watch {
    /// Looks until there is something to tell.
    async fn next(&mut self) -> Result<Observation, Error> {
        let clock = self.wait.job.client().clock().clone();
        loop {
            if let Some(pause) = self.pause {
                let left = self
                    .wait
                    .timeout
                    .map(|timeout| timeout.saturating_sub(since(&*clock, self.started)));
                if left == Some(Duration::ZERO) {
                    return Ok(self.observation(clock.now(), Some(Outcome::TimedOut)));
                }
                // Many waits that began together should not look together.
                let pause = pause.mul_f64(0.9 + 0.2 * fastrand::f64());
                clock
                    .sleep(left.map_or(pause, |left| pause.min(left)))
                    .await;
            }
            match self.wait.job.refresh().await {
                Ok(()) => self.patience.restore(),
                Err(error) if error.is_not_found() && self.seen.is_some() => {
                    return Ok(self.observation(clock.now(), Some(Outcome::Vanished)));
                }
                Err(error) => {
                    self.patience.bear(error, &*clock)?;
                    self.slow_down();
                    continue;
                }
            }
            let outcome = outcome(&self.wait.job).await;
            let now_seen = (
                self.wait.job.phase(),
                self.wait.job.secondary_phase().cloned(),
            );
            let changed = self.seen.as_ref() != Some(&now_seen);
            if changed {
                self.seen = Some(now_seen);
                self.pause = Some(self.wait.shortest);
            } else {
                self.slow_down();
            }
            if changed || outcome.is_some() {
                return Ok(self.observation(clock.now(), outcome));
            }
        }
    }

    fn slow_down(&mut self) {
        let pause = self.pause.unwrap_or(self.wait.shortest).mul_f64(1.3);
        self.pause = Some(pause.min(self.wait.longest));
    }

    fn observation(&self, at: SystemTime, outcome: Option<Outcome>) -> Observation {
        Observation {
            job: self.wait.job.clone(),
            outcome,
            at,
            errors: self.patience.errors,
        }
    }
}

/// How a job ended, if it has.
async fn outcome(job: &Job) -> Option<Outcome> {
    match job.phase() {
        Phase::Completed => Some(Outcome::Completed),
        Phase::Failed => {
            let first = job
                .status()
                .and_then(|status| status.task_statuses.first())
                .cloned()
                .unwrap_or_default();
            Some(Outcome::Failed {
                exit_code: first.exit_code,
                task: first.task,
                message: first.message.filter(|message| !message.is_empty()),
            })
        }
        Phase::Terminated => Some(Outcome::Terminated {
            by: terminated_by(job).await,
        }),
        Phase::Abnormal => Some(Outcome::Abnormal {
            secondary_phase: job.secondary_phase().cloned(),
        }),
        _ => None,
    }
}

/// The status of a job does not say who stopped it; its events do.
async fn terminated_by(job: &Job) -> TerminatedBy {
    let mut newest = job.events().newest_first().stream().take(100);
    // An answer that fails costs this detail, and not the outcome.
    while let Ok(Some(event)) = newest.try_next().await {
        match event.kind() {
            EventKind::AutoStopped { hours } => return TerminatedBy::AutoStop { hours },
            EventKind::StoppedByUser => return TerminatedBy::User,
            _ => {}
        }
    }
    TerminatedBy::Unknown
}
