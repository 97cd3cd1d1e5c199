//! Tolerance of errors: a few failed requests do not end a long watch.

use std::time::{Duration, SystemTime};

use crate::{
    clock::Clock,
    error::{Error, ErrorKind},
};

/// A watch ends with the error when all requests have failed for this long.
const MAX_FAILING_TIME: Duration = Duration::from_secs(15 * 60);

/// The longest pause, whatever the service asks for.
const MAX_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts errors that may pass by themselves, and gives up when they do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorTolerance {
    failing_since: Option<SystemTime>,
    /// How many errors were passed over in all.
    pub(crate) errors: u32,
    /// The longest `Retry-After` since the last pause.
    retry_after: Duration,
}

impl ErrorTolerance {
    /// A request succeeded.
    pub(crate) fn reset(&mut self) {
        self.failing_since = None;
    }

    /// The pause before the next request: the usual one, or a longer one that the service asked
    /// for.
    pub(crate) fn pause(&mut self, usual: Duration) -> Duration {
        usual.max(std::mem::take(&mut self.retry_after))
    }

    /// Passes over an error, or gives it back.
    pub(crate) fn tolerate(&mut self, error: Error, clock: &dyn Clock) -> Result<(), Error> {
        let is_transient = error.is_retryable()
            || error.kind() == ErrorKind::Decode
            // The load balancer may not find the service for a moment.
            || error.is_404_without_code();
        let now = clock.now();
        // A clock that was set back must not make this last for longer.
        let failing_since = self
            .failing_since
            .map_or(now, |failing_since| failing_since.min(now));
        self.failing_since = Some(failing_since);
        if !is_transient || now.duration_since(failing_since).unwrap_or_default() > MAX_FAILING_TIME
        {
            return Err(error);
        }
        tracing::debug!(%error, "passed over");
        self.errors += 1;
        let retry_after = error.retry_after().unwrap_or_default().min(MAX_PAUSE);
        self.retry_after = self.retry_after.max(retry_after);
        Ok(())
    }
}
