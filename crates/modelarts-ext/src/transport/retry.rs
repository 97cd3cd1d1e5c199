//! Whether to send a request again, and when.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};
use modelarts_api::Effect;
use reqwest::{StatusCode, header::HeaderMap};

use crate::transport::retry_budget::RetryBudget;

/// How often and for how long a call is tried.
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
    pub(crate) fn make_budget(&self, now: SystemTime) -> RetryBudget {
        RetryBudget::new(self.budget_per_second, self.budget_share, now)
    }

    /// The longest pauses, one after each attempt but the last.
    pub(crate) fn ceilings(&self) -> impl Iterator<Item = Duration> + use<> {
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

/// How long to wait before trying again. What the service says wins, but a date that has
/// passed, or a 0, is no reason to hurry.
pub(crate) fn pause(said: Option<Duration>, ceiling: Duration) -> Duration {
    said.filter(|wait| !wait.is_zero())
        .unwrap_or_else(|| jitter(ceiling))
}

/// What became of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// An answer with this status.
    Answer(StatusCode),
    /// No connection was made, so nothing was executed.
    NotSent,
    /// Something broke after the request may have arrived.
    Lost,
}

/// Whether a request with this effect may be sent again.
pub(crate) fn may_retry(effect: Effect, attempt: Attempt) -> bool {
    let harmless = effect != Effect::Create;
    match attempt {
        Attempt::NotSent => true,
        Attempt::Lost => harmless,
        Attempt::Answer(status) => match status.as_u16() {
            // The gateway refused it before the service saw it.
            429 => true,
            408 | 500 | 502 | 503 | 504 => harmless,
            _ => false,
        },
    }
}

/// What the service says about when to come back: seconds, or a date.
pub(crate) fn retry_after(
    headers: &HeaderMap,
    now: impl FnOnce() -> SystemTime,
) -> Option<Duration> {
    let value = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?;
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than there are numbers is still a long time, and not none.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(
        SystemTime::from(date)
            .duration_since(now())
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creates_are_sent_again_only_when_they_were_not_executed() {
        use Attempt::{Answer, Lost, NotSent};
        let status = |code| Answer(StatusCode::from_u16(code).unwrap());
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
        for (attempt, others, create) in table {
            assert_eq!(may_retry(Effect::Read, attempt), others, "{attempt:?}");
            assert_eq!(
                may_retry(Effect::Idempotent, attempt),
                others,
                "{attempt:?}"
            );
            assert_eq!(may_retry(Effect::Create, attempt), create, "{attempt:?}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let header = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", value.parse().unwrap());
            retry_after(&headers, || now)
        };
        assert_eq!(header("7"), Some(Duration::from_secs(7)));
        assert_eq!(
            header("99999999999999999999999"),
            Some(Duration::from_secs(u64::MAX))
        );
        assert_eq!(
            header("Sun, 06 Nov 1994 08:50:37 GMT"),
            Some(Duration::from_secs(60))
        );
        assert_eq!(
            header("Sun, 06 Nov 1994 08:00:00 GMT"),
            Some(Duration::ZERO)
        );
        for text in ["soon", "", "-7", "7 s"] {
            assert_eq!(header(text), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), || now), None);
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
