//! Tolerance of transient errors, which end a wait or a stream only if they persist.

use std::time::{Duration, SystemTime};

use crate::error::{Error, ErrorKind};

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
    /// The longest `Retry-After` since the end of the last round.
    retry_after: Duration,
}

impl ErrorTolerance {
    /// Records that a request succeeded.
    pub(crate) fn reset(&mut self) {
        self.failing_since = None;
    }

    /// Returns the pause that the service asked for since the last call of this method.
    pub(crate) fn take_retry_after(&mut self) -> Duration {
        std::mem::take(&mut self.retry_after)
    }

    /// Tolerates a transient error. Returns any other error, and a transient error that persists
    /// for too long.
    pub(crate) fn tolerate(&mut self, error: Error, now: SystemTime) -> Result<(), Error> {
        let is_transient = error.is_retryable()
            || error.kind() == ErrorKind::Decode
            // The load balancer may temporarily not find the service.
            || error.is_404_without_code();
        // A clock that was set back must not extend the tolerated time.
        let failing_since = self.failing_since.unwrap_or(now).min(now);
        self.failing_since = (!error.is_throttled()).then_some(failing_since);
        let failing_time = self.failing_since.and_then(|since| now.duration_since(since).ok());
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

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + second)
    }

    fn status(status: u16) -> Error {
        Error::new(ErrorKind::Service, "busy").with_status(status)
    }

    #[test]
    fn errors_are_tolerated_by_kind_and_by_time() {
        let decode = || Error::new(ErrorKind::Decode, "not JSON");
        let minutes = |count: u64| 60 * count;
        // The times and errors of requests, `None` for success, and the number of tolerated errors.
        for (requests, tolerated) in [
            (vec![(0, Some(status(503)))], Some(1)),
            (vec![(0, Some(status(404)))], Some(1)),
            (vec![(0, Some(decode()))], Some(1)),
            (vec![(0, Some(status(403)))], None),
            (vec![(0, Some(status(404).with_code(Some("x".into()))))], None),
            (vec![(0, Some(status(503))), (minutes(15), Some(status(503)))], Some(2)),
            (vec![(0, Some(status(503))), (minutes(15) + 1, Some(status(503)))], None),
            // A success and throttling begin the tolerated time anew.
            (
                vec![(0, Some(status(503))), (minutes(9), None), (minutes(16), Some(decode()))],
                Some(2),
            ),
            (
                vec![
                    (0, Some(status(503))),
                    (minutes(16), Some(status(429))),
                    (minutes(17), Some(status(503))),
                ],
                Some(3),
            ),
            // A clock that is set back does not extend it.
            (
                vec![
                    (minutes(60), Some(status(503))),
                    (0, Some(status(503))),
                    (minutes(16), Some(status(503))),
                ],
                None,
            ),
        ] {
            let mut tolerance = ErrorTolerance::default();
            let results: Result<Vec<()>, Error> = requests
                .iter()
                .map(|(time, error)| match error {
                    None => {
                        tolerance.reset();
                        Ok(())
                    }
                    Some(error) => tolerance.tolerate(error.clone(), at(*time)),
                })
                .collect();
            let errors = results.is_ok().then_some(tolerance.errors);
            assert_eq!(errors, tolerated, "{requests:?}");
        }
    }

    #[test]
    fn a_retry_after_of_ten_years_is_five_minutes() {
        let ten_years = 10 * 365 * 24 * 3600;
        for (seconds, pause) in [(vec![ten_years], 300), (vec![70], 70), (vec![70, 20], 70)] {
            let mut tolerance = ErrorTolerance::default();
            for seconds in seconds {
                let error = status(429).with_retry_after(Some(Duration::from_secs(seconds)));
                tolerance.tolerate(error, at(0)).unwrap();
            }
            assert_eq!(tolerance.take_retry_after(), Duration::from_secs(pause));
            assert_eq!(tolerance.take_retry_after(), Duration::ZERO);
        }
    }
}
