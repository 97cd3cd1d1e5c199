//! Waiting for a job to end.

use std::{
    fmt,
    future::IntoFuture,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{
    BoxFuture,
    types::{Phase, SecondaryPhase},
};

use crate::{
    clock::since,
    error::Error,
    job::Job,
    outcome::{Outcome, outcome},
    page::Results,
    patience::Patience,
};

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
    pub(crate) job: Job,
    pub(crate) outcome: Outcome,
    pub(crate) errors: u32,
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
///
/// The first phase that is final ends it. A job that the service restarts by itself,
/// after a fault or a failure, goes back to `Pending` without one, so the wait goes on.
/// Whoever starts a job again that has ended waits for it again, too.
///
/// Answers that fail in passing are passed over and counted, for up to a quarter of an
/// hour without a good one.
#[derive(Clone)]
#[must_use = "a wait does nothing unless it is awaited or observed"]
pub struct Wait {
    job: Job,
    shortest: Duration,
    longest: Duration,
    timeout: Option<Duration>,
    until: Option<Predicate>,
}

type Predicate = Arc<dyn Fn(&Job) -> bool + Send + Sync>;

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("job", &self.job)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Wait {
    pub(crate) fn new(job: Job) -> Self {
        Self {
            job,
            shortest: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            timeout: None,
            until: None,
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

    /// Ends the wait, with [`Outcome::Reached`], as soon as this holds for the job. When
    /// the job ends before that, the wait ends as always.
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
    pub fn until(mut self, holds: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        self.until = Some(Arc::new(holds));
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
                let pause = self.patience.pause(pause);
                clock
                    .sleep(left.map_or(pause, |left| pause.min(left)))
                    .await;
            }
            match self.wait.job.refresh().await {
                Ok(()) => self.patience.restore(),
                Err(error) if error.is_gone() && self.seen.is_some() => {
                    return Ok(self.observation(clock.now(), Some(Outcome::Vanished)));
                }
                Err(error) => {
                    self.patience.bear(error, &*clock)?;
                    self.slow_down();
                    continue;
                }
            }
            let holds = self
                .wait
                .until
                .as_ref()
                .is_some_and(|holds| holds(&self.wait.job));
            let outcome = match holds {
                true => Some(Outcome::Reached),
                false => outcome(&self.wait.job).await,
            };
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
