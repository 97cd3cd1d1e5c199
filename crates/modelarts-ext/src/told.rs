//! What a job or a page knows about the call that brought it.

use std::{fmt, time::Duration};

use bytes::Bytes;

/// Facts about a call that was answered.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    /// The body as it came; not that of a whole page with each of its rows.
    pub(crate) body: Bytes,
}

impl Told {
    pub(crate) fn without_body(&self) -> Self {
        Self {
            body: Bytes::new(),
            ..self.clone()
        }
    }
}

impl fmt::Debug for Told {
    // The body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told")
            .field("request_id", &self.request_id)
            .field("attempts", &self.attempts)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

/// The public face of it, for what has a field `told`.
macro_rules! accessors {
    () => {
        /// The id of the request that brought it, which support asks for.
        #[must_use]
        pub fn request_id(&self) -> Option<&str> {
            self.told.request_id.as_deref()
        }

        /// How often that request was sent.
        #[must_use]
        pub fn attempts(&self) -> u32 {
            self.told.attempts
        }

        /// How long that call took, all attempts together.
        #[must_use]
        pub fn elapsed(&self) -> std::time::Duration {
            self.told.elapsed
        }
    };
}
pub(crate) use accessors;
