//! Retry policy and retry budget of a client.
//!
//! After a connection error or a transient error, the client retries a request if a retry has no
//! further effect. The creation of a resource is retried only if it cannot have been executed;
//! otherwise, [`CreateJob::submit`](crate::jobs::create::CreateJob::submit) searches for the job.
//!
//! Pauses are random and increase, unless `Retry-After` states a pause. All calls of a client share
//! a budget, so that retries do not prolong an overload of the service.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, _| {
//! use std::time::Duration;
//! use modelarts_emulator::faults::{Fault, FaultRule};
//! use modelarts_ext::RetryPolicy;
//!
//! let client = ClientBuilder::from_vars(emulator.vars())
//!     .retry(RetryPolicy::default().max_attempts(3).max_elapsed(Duration::from_secs(30)))
//!     .build()?;
//!
//! // The client survives two broken connections.
//! emulator.faults().add(FaultRule::times(2, "ListTrainingJobs", Fault::Reset))?;
//! client.training_jobs().list().collect(10).await?;
//! assert_eq!(emulator.requests()["ListTrainingJobs"].received, 3);
//! # Ok(()) }) }
//! ```
//!
//! The [time limit](crate::client#time-limits) of a call includes all attempts.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use backon::{BackoffBuilder, ExponentialBuilder};
use modelarts_api::Effect;
use reqwest::StatusCode;

/// Retry policy of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Maximum number of attempts of a request. 1 means no retries. Default: 5.
    pub max_attempts: u32,
    /// Time since the start of the call after which no retry is started. Default: 90 seconds.
    pub max_elapsed: Duration,
    /// Maximum of the first pause. The maximum doubles with each retry. Default: 200 ms.
    pub base: Duration,
    /// Maximum of any pause. Default: 20 seconds.
    pub cap: Duration,
    /// Number of retries per second that the budget allows for all calls of the client together.
    /// Unused retries accumulate for up to ten seconds. Default: 10.
    pub budget_per_second: u32,
    /// Number of additional retries per call. 0.2 means one retry for every five calls. Unused
    /// retries accumulate for up to a hundred calls. Default: 0.2.
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
    /// Returns a policy without retries, except with new credentials or the corrected time.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::{ClientBuilder, RetryPolicy};
    ///
    /// // The program has a retry loop of its own.
    /// let client = ClientBuilder::from_env().retry(RetryPolicy::none()).build()?;
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    /// Sets the maximum number of attempts of a request, at least 1.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    /// Sets the time since the start of the call after which no retry is started.
    #[must_use]
    pub fn max_elapsed(mut self, elapsed: Duration) -> Self {
        self.max_elapsed = elapsed;
        self
    }

    /// Sets the maximum of the first pause (`base`), and of any pause (`cap`).
    #[must_use]
    pub fn pauses(mut self, base: Duration, cap: Duration) -> Self {
        self.base = base;
        self.cap = cap.max(base);
        self
    }

    /// Sets the retry budget of all calls: retries per second, and additional retries per call.
    #[must_use]
    pub fn budget(mut self, per_second: u32, share: f32) -> Self {
        self.budget_per_second = per_second;
        self.budget_share = share;
        self
    }

    /// Returns the delay before the next retry: `retry_after`, or if that is zero or missing, a
    /// random delay up to the maximum. Returns `None` if the policy allows no further retry.
    #[must_use]
    pub fn delay(
        &self,
        retries: usize,
        retry_after: Option<Duration>,
        elapsed: Duration,
    ) -> Option<Duration> {
        let ceiling = self.ceilings().nth(retries)?;
        let wait = retry_after.filter(|wait| !wait.is_zero());
        let wait = wait.unwrap_or_else(|| ceiling.mul_f64(fastrand::f64()));
        Some(wait).filter(|wait| elapsed.saturating_add(*wait) < self.max_elapsed)
    }

    fn ceilings(&self) -> impl Iterator<Item = Duration> + use<> {
        ExponentialBuilder::new()
            .with_min_delay(self.base)
            .with_max_delay(self.cap)
            .with_factor(2.0)
            .with_max_times(self.max_attempts.saturating_sub(1) as usize)
            .build()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    Response(StatusCode),
    NotSent,
    /// The response was lost. The service may have executed the request.
    Lost,
}

pub(crate) fn may_retry(effect: Effect, result: AttemptResult) -> bool {
    let is_repeatable = effect != Effect::Create;
    match result {
        AttemptResult::NotSent => true,
        AttemptResult::Lost => is_repeatable,
        AttemptResult::Response(status) => match status.as_u16() {
            // The gateway rejected the request before it reached the service.
            429 => true,
            408 | 500 | 502 | 503 | 504 => is_repeatable,
            _ => false,
        },
    }
}

const CAPACITY_SECONDS: f64 = 10.0;
const CAPACITY_CALLS: f64 = 100.0;

/// Retry budget as a token bucket. Calls and time add tokens, and each retry takes a token.
#[derive(Debug)]
pub(super) struct RetryBudget {
    per_second: f64,
    per_call: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: f64,
    filled_at: SystemTime,
}

impl RetryBudget {
    pub(super) fn new(per_second: u32, per_call: f32, now: SystemTime) -> Self {
        let per_second = f64::from(per_second);
        let per_call = f64::from(per_call);
        Self {
            per_second,
            // NaN and negative shares are replaced by zero.
            per_call: if per_call > 0.0 { per_call } else { 0.0 },
            state: Mutex::new(State { tokens: per_second * CAPACITY_SECONDS, filled_at: now }),
        }
    }

    pub(super) fn deposit(&self) {
        self.add(&mut self.lock(), self.per_call);
    }

    pub(super) fn withdraw(&self, now: SystemTime) -> bool {
        let mut state = self.lock();
        // If the clock was set back, no tokens are added now, but later tokens are not delayed.
        let passed = now.duration_since(state.filled_at).unwrap_or(Duration::ZERO);
        state.filled_at = now;
        self.add(&mut state, self.per_second * passed.as_secs_f64());
        let enough = state.tokens >= 1.0;
        if enough {
            state.tokens -= 1.0;
        }
        enough
    }

    fn add(&self, state: &mut State, tokens: f64) {
        let capacity = self.per_second * CAPACITY_SECONDS + self.per_call * CAPACITY_CALLS;
        state.tokens = (state.tokens + tokens).min(capacity);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is valid after a panic of another thread, because no change is partial.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn a_delay_is_that_of_the_service_or_random_and_ends_with_the_policy() {
        const SECOND: Duration = Duration::from_secs(1);
        let policy =
            RetryPolicy::default().max_attempts(3).max_elapsed(10 * SECOND).pauses(SECOND, SECOND);
        for (retries, retry_after, elapsed, expected) in [
            (0, Some(4), 0, Some(4 * SECOND)),
            (1, Some(4), 5, Some(4 * SECOND)),
            (1, Some(4), 6, None),
            (1, Some(4), 7, None),
            (2, Some(4), 0, None),
            (1, None, 10, None),
            (1, Some(0), 10, None),
        ] {
            let delay = policy.delay(retries, retry_after.map(|n| n * SECOND), elapsed * SECOND);
            assert_eq!(delay, expected, "{retries} {retry_after:?} {elapsed}");
        }
        for retry_after in [None, Some(Duration::ZERO)] {
            let delays = (0..100).filter_map(|_| policy.delay(0, retry_after, SECOND));
            let delays: Vec<_> = delays.collect();
            assert_eq!(delays.len(), 100);
            assert!(delays.iter().all(|delay| *delay < SECOND));
            assert!(delays.iter().any(|delay| *delay > SECOND / 10));
        }
        let policy = policy.budget(7, 0.5);
        assert_eq!((policy.budget_per_second, policy.budget_share), (7, 0.5));
    }
}

#[cfg(test)]
mod retry_budget_tests {
    use super::*;

    const START: SystemTime = SystemTime::UNIX_EPOCH;

    fn at(seconds: f64) -> SystemTime {
        START + Duration::from_secs_f64(seconds)
    }

    /// Withdraws all available tokens at this time, and returns their number.
    fn withdraw_all(budget: &RetryBudget, now: SystemTime) -> usize {
        (0..10_000).take_while(|_| budget.withdraw(now)).count()
    }

    #[test]
    fn time_brings_so_many_a_second_and_ten_seconds_are_kept() {
        let budget = RetryBudget::new(10, 0.0, START);
        assert_eq!(withdraw_all(&budget, at(0.0)), 100);
        assert_eq!(withdraw_all(&budget, at(0.5)), 5);
        assert_eq!(withdraw_all(&budget, at(0.5)), 0);
        assert_eq!(withdraw_all(&budget, at(3600.0)), 100);
    }

    #[test]
    fn calls_bring_their_share_and_a_hundred_are_kept() {
        let budget = RetryBudget::new(0, 0.25, START);
        assert_eq!(withdraw_all(&budget, START), 0);
        for _ in 0..3 {
            budget.deposit();
        }
        assert_eq!(withdraw_all(&budget, START), 0);
        budget.deposit();
        assert_eq!(withdraw_all(&budget, START), 1);
        for _ in 0..1000 {
            budget.deposit();
        }
        assert_eq!(withdraw_all(&budget, START), 25);
    }

    #[test]
    fn a_clock_that_is_set_back_neither_pays_nor_stops_paying() {
        let budget = RetryBudget::new(1, 0.0, at(1000.0));
        assert_eq!(withdraw_all(&budget, at(1000.0)), 10);
        assert_eq!(withdraw_all(&budget, at(0.0)), 0);
        assert_eq!(withdraw_all(&budget, at(2.0)), 2);
    }

    #[test]
    fn invalid_shares_count_as_zero() {
        for share in [f32::NAN, -1.0, f32::NEG_INFINITY] {
            let budget = RetryBudget::new(0, share, START);
            budget.deposit();
            assert_eq!(withdraw_all(&budget, START), 0, "{share}");
        }
        let budget = RetryBudget::new(0, f32::INFINITY, START);
        budget.deposit();
        assert!(budget.withdraw(START));
    }
}
