//! A few bad answers do not end a long watch.

use std::time::{Duration, SystemTime};

use crate::{clock::Clock, error::Error};

/// How long a watch goes on while nothing but errors comes back.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Whatever the service asks for, it is looked for again after this long.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts errors that may pass by themselves, and gives up when they do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorTolerance {
    since: Option<SystemTime>,
    /// How many errors were passed over in all.
    pub(crate) errors: u32,
    /// How long the service asked to be left alone.
    asked: Duration,
}

impl ErrorTolerance {
    /// Something worked.
    pub(crate) fn reset(&mut self) {
        self.since = None;
    }

    /// How long to wait before the next look: as long as usual, or as the service asked.
    pub(crate) fn pause(&mut self, usual: Duration) -> Duration {
        usual.max(std::mem::take(&mut self.asked))
    }

    /// Passes over an error, or gives it back.
    pub(crate) fn tolerate(&mut self, error: Error, clock: &dyn Clock) -> Result<(), Error> {
        let passing = error.is_retryable()
            || error.kind() == crate::error::ErrorKind::Decode
            // The load balancer may not find the service for a moment.
            || error.is_stray();
        let now = clock.now();
        // A clock that was set back must not make this last for longer.
        let since = self.since.map_or(now, |since| since.min(now));
        self.since = Some(since);
        if !passing || now.duration_since(since).unwrap_or_default() > LIMIT {
            return Err(error);
        }
        tracing::debug!(%error, "passed over");
        self.errors += 1;
        let asked = error.retry_after().unwrap_or_default().min(LONGEST);
        self.asked = self.asked.max(asked);
        Ok(())
    }
}
