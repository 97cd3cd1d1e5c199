//! Tolerance of transient errors, which end a wait or a stream only if they persist.

use std::time::{Duration, SystemTime};

use crate::{
    clock::Clock,
    error::{Error, ErrorKind},
};

/// Time after which a watch ends with the error, if all requests in this time failed.
const MAX_FAILING_TIME: Duration = Duration::from_secs(15 * 60);

/// Longest pause for a `Retry-After`, which allows several requests before [`MAX_FAILING_TIME`].
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// Counter of tolerated errors. It returns an error that persists for too long. Throttling does not
/// persist: the service responds, so the watch only becomes slower.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorTolerance {
    failing_since: Option<SystemTime>,
    /// Total number of tolerated errors.
    pub(crate) errors: u32,
    /// The longest `Retry-After` since the last pause.
    retry_after: Duration,
}

impl ErrorTolerance {
    /// Records that a request succeeded.
    pub(crate) fn reset(&mut self) {
        self.failing_since = None;
    }

    /// Returns the pause before the next request: the usual pause, or that of `Retry-After` if it
    /// is longer.
    pub(crate) fn pause(&mut self, usual: Duration) -> Duration {
        usual.max(std::mem::take(&mut self.retry_after))
    }

    /// Tolerates a transient error. Returns any other error, and a transient error that persists
    /// for too long.
    pub(crate) fn tolerate(&mut self, error: Error, clock: &dyn Clock) -> Result<(), Error> {
        let is_transient = error.is_retryable()
            || error.kind() == ErrorKind::Decode
            // The load balancer may temporarily not find the service.
            || error.is_404_without_code();
        let now = clock.now();
        // A clock that was set back must not extend the tolerated time.
        let failing_since = self.failing_since.unwrap_or(now).min(now);
        self.failing_since = (!error.is_throttled()).then_some(failing_since);
        let failing_time = self
            .failing_since
            .and_then(|since| now.duration_since(since).ok());
        if !is_transient || failing_time.is_some_and(|time| time > MAX_FAILING_TIME) {
            return Err(error);
        }
        tracing::debug!(%error, "transient error, polling continues");
        self.errors += 1;
        let retry_after = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
        self.retry_after = self.retry_after.max(retry_after);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn a_retry_after_of_ten_years_is_five_minutes() {
        let ten_years = Duration::from_secs(10 * 365 * 24 * 3600);
        for (retry_after, pause) in [(ten_years, 300), (Duration::from_secs(70), 70)] {
            let error = Error::new(ErrorKind::Service, "busy").with_status(429);
            let error = error.with_retry_after(Some(retry_after));
            let mut tolerance = ErrorTolerance::default();
            tolerance.tolerate(error, &SystemClock).unwrap();
            let usual = Duration::from_secs(60);
            assert_eq!(tolerance.pause(usual), Duration::from_secs(pause));
            assert_eq!(tolerance.pause(usual), usual);
        }
    }
}
