//! Retries: which requests are sent again, how often and when.
//!
//! Connections break and gateways answer 503, so a call that can be repeated is. A request that
//! only reads, or changes nothing when it is done twice, is sent again after lost connections and
//! passing faults of the service; one that makes a new thing, only if it cannot have been executed.
//! (Of a job whose create was lost, [`CreateJob::submit`](crate::jobs::create::CreateJob::submit)
//! looks for it first.) Pauses grow and are random, the service may set them (`Retry-After`), and
//! all calls of a client share a budget, so that a service in trouble is not kept in it.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, _) = start().await?;
//! use std::time::Duration;
//! use modelarts_emulator::faults::{Fault, FaultRule};
//! use modelarts_ext::RetryPolicy;
//!
//! let client = Client::builder()
//!     .endpoint(emulator.url())
//!     .project_id(emulator.project_id())
//!     .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
//!     .retry(RetryPolicy::default().max_attempts(3).max_elapsed(Duration::from_secs(30)))
//!     .build()?;
//!
//! // Two connections that break are survived.
//! emulator.faults().add(FaultRule::times(2, "ListTrainingJobs", Fault::Reset))?;
//! client.training_jobs().list().collect(10).await?;
//! assert_eq!(emulator.requests()["ListTrainingJobs"].received, 3);
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! The time limit of a call is that of the [client](crate::client#time-limits) and counts all
//! attempts.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};
use modelarts_api::Effect;
use reqwest::StatusCode;

use crate::transport::retry_budget::RetryBudget;

/// The policy of a client for sending requests again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// How often a request is sent at the most; 1 means never again. Default 5.
    pub max_attempts: u32,
    /// After this long nothing more is sent. Default 90 seconds.
    pub max_elapsed: Duration,
    /// The longest first pause; each next one may be twice as long. Default 200 ms.
    pub base: Duration,
    /// The longest pause of all. Default 20 seconds.
    pub cap: Duration,
    /// How many retries a second all calls of the client together may make, however
    /// few calls there are. What is not used in ten seconds is lost. Default 10.
    pub budget_per_second: u32,
    /// How many more retries they may make, as a share of their calls: 0.2 is one
    /// for every five. So a service in trouble gets little more than the usual load.
    /// The share of a hundred calls is kept at the most. Default 0.2.
    pub budget_share: f32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            max_elapsed: Duration::from_secs(90),
            base: Duration::from_millis(200),
            cap: Duration::from_secs(20),
            budget_per_second: 10,
            budget_share: 0.2,
        }
    }
}

impl RetryPolicy {
    /// Sends everything exactly once.
    #[must_use]
    pub fn none() -> Self {
        Self {
            max_attempts: 1,
            ..Self::default()
        }
    }

    /// Sends a request `attempts` times at the most.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    /// Sends nothing more after `elapsed`.
    #[must_use]
    pub fn max_elapsed(mut self, elapsed: Duration) -> Self {
        self.max_elapsed = elapsed;
        self
    }

    /// Pauses of up to `base` at first, and up to `cap` in the end.
    #[must_use]
    pub fn pauses(mut self, base: Duration, cap: Duration) -> Self {
        self.base = base;
        self.cap = cap.max(base);
        self
    }

    /// Lets all calls together make this many retries: so many a second, and a share
    /// of their calls.
    #[must_use]
    pub fn budget(mut self, per_second: u32, share: f32) -> Self {
        self.budget_per_second = per_second;
        self.budget_share = share;
        self
    }

    /// The budget that the calls of one client share.
    pub(super) fn make_budget(&self, now: SystemTime) -> RetryBudget {
        RetryBudget::new(self.budget_per_second, self.budget_share, now)
    }

    /// The delay before the next attempt, after so many retries: that of the service, else a
    /// random one. `None`: no attempt is left. A date in the past, or a 0, counts as none.
    pub(crate) fn delay(&self, retries: usize, retry_after: Option<Duration>) -> Option<Duration> {
        let ceiling = self.ceilings().nth(retries)?;
        let wait = retry_after.filter(|wait| !wait.is_zero());
        Some(wait.unwrap_or_else(|| jitter(ceiling)))
    }

    /// The same after an attempt with this result. `None` also if a request with this effect may
    /// not be sent again then.
    pub(super) fn delay_after(
        &self,
        result: AttemptResult,
        effect: Effect,
        retries: usize,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        may_retry(effect, result)
            .then(|| self.delay(retries, retry_after))
            .flatten()
    }

    /// The longest pauses, one after each attempt but the last.
    fn ceilings(&self) -> impl Iterator<Item = Duration> + use<> {
        ExponentialBuilder::new()
            .with_min_delay(self.base)
            .with_max_delay(self.cap)
            .with_factor(2.0)
            .with_max_times(self.max_attempts.saturating_sub(1) as usize)
            .build()
    }
}

/// Full jitter: anything up to the ceiling, so that clients that failed together
/// do not come back together.
fn jitter(ceiling: Duration) -> Duration {
    ceiling.mul_f64(fastrand::f64())
}

/// The result of one attempt, as far as retries depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptResult {
    /// A response with this status.
    Response(StatusCode),
    /// No connection was made, so nothing was executed.
    NotSent,
    /// Something broke after the request may have arrived.
    Lost,
}

/// True if a request with this effect may be sent again.
fn may_retry(effect: Effect, result: AttemptResult) -> bool {
    let is_repeatable = effect != Effect::Create;
    match result {
        AttemptResult::NotSent => true,
        AttemptResult::Lost => is_repeatable,
        AttemptResult::Response(status) => match status.as_u16() {
            // The gateway refused it before the service saw it.
            429 => true,
            408 | 500 | 502 | 503 | 504 => is_repeatable,
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creates_are_sent_again_only_when_they_were_not_executed() {
        use AttemptResult::{Lost, NotSent, Response};
        let status = |code| Response(StatusCode::from_u16(code).unwrap());
        let table = [
            (NotSent, true, true),
            (Lost, true, false),
            (status(429), true, true),
            (status(408), true, false),
            (status(500), true, false),
            (status(502), true, false),
            (status(503), true, false),
            (status(504), true, false),
            (status(501), false, false),
            (status(400), false, false),
            (status(401), false, false),
            (status(409), false, false),
            (status(200), false, false),
            (status(302), false, false),
        ];
        for (result, others, create) in table {
            assert_eq!(may_retry(Effect::Read, result), others, "{result:?}");
            assert_eq!(may_retry(Effect::Idempotent, result), others, "{result:?}");
            assert_eq!(may_retry(Effect::Create, result), create, "{result:?}");
        }
    }

    #[test]
    fn ceilings_double_up_to_the_cap() {
        let policy = RetryPolicy::default()
            .max_attempts(6)
            .pauses(Duration::from_millis(100), Duration::from_millis(500));
        let millis: Vec<_> = policy.ceilings().map(|pause| pause.as_millis()).collect();
        assert_eq!(millis, [100, 200, 400, 500, 500]);
        assert_eq!(RetryPolicy::none().ceilings().count(), 0);
        let endless = RetryPolicy::default().pauses(Duration::MAX, Duration::MAX);
        assert_eq!(endless.ceilings().last(), Some(Duration::MAX));
    }
}
