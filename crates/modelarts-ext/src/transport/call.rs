//! Facts about a call (attempts, request id, time), passed from the transport to the caller.
//!
//! Generated code stands between the two and passes none of them on, so they travel beside it,
//! in a task-local that [`Client::call`](crate::client::Client::call) sets up.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use modelarts_api::decode::{Observer, Skipped};

use crate::{
    clock::{Clock, since},
    credentials::secrets::Secrets,
    error::{call_summary::CallSummary, mask::Mask},
};

tokio::task_local! {
    static CURRENT: Arc<Record>;
}

/// The facts about a call that is under way.
#[derive(Default)]
pub(crate) struct Record(Mutex<CallInfo>);

/// Facts about a call.
#[derive(Clone, Default)]
pub(crate) struct CallInfo {
    pub(super) operation: Option<&'static str>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    /// The body that was decoded; `None` when the operation answers without one.
    pub(crate) body: Option<Bytes>,
    pub(crate) skipped: Skipped,
    /// The time limit of the call, if it passed while the response was decoded.
    pub(crate) decode_timeout: Option<Duration>,
    /// The secrets of each attempt.
    pub(super) secrets: Vec<Secrets>,
    /// The canonical request of the last signature.
    pub(crate) canonical_request: Option<String>,
    /// The time to wait that the last response asks for.
    pub(super) retry_after: Option<Duration>,
    /// True if an attempt may have been executed though there is no response to it. An attempt
    /// that is under way counts.
    pub(super) uncertain: bool,
}

impl Record {
    /// The record of the call that runs in this task, or an unused one.
    pub(super) fn current() -> Arc<Self> {
        CURRENT.try_with(Arc::clone).unwrap_or_default()
    }

    /// Runs a call with this record. The call is made here: as an argument its kilobytes
    /// would be moved here, and kept twice.
    pub(crate) async fn scope<F: Future>(self: &Arc<Self>, call: impl FnOnce() -> F) -> F::Output {
        let mut call = pin!(call());
        poll_fn(|context| CURRENT.sync_scope(Arc::clone(self), || call.as_mut().poll(context)))
            .await
    }

    /// Takes the facts that are known so far, and leaves the record empty.
    pub(crate) fn take(&self) -> CallInfo {
        std::mem::take(&mut *self.lock())
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut CallInfo)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, CallInfo> {
        // The facts are written whole; a panic elsewhere leaves them readable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallInfo {
    /// The facts for a row of a page, without the body of the whole page.
    pub(crate) fn without_body(&self) -> Self {
        Self {
            body: None,
            ..self.clone()
        }
    }

    /// Masks the secrets of the call in texts from outside.
    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.secrets.iter().flat_map(Secrets::texts))
    }

    /// The body as it came; empty when the operation answers without one.
    pub(crate) fn raw(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    /// The part of the facts that an error carries.
    pub(crate) fn summary(&self) -> CallSummary {
        CallSummary {
            operation: self.operation,
            request_id: self.request_id.clone(),
            attempts: self.attempts,
            elapsed: self.elapsed,
            uncertain: self.uncertain,
            retry_after: self.retry_after,
        }
    }
}

impl fmt::Debug for CallInfo {
    // The body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallInfo")
            .field("request_id", &self.request_id)
            .field("attempts", &self.attempts)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

/// Accessors of a call that a type made of its response shares: `$call` is the path of a
/// [`CallInfo`] in it.
macro_rules! call_accessors {
    ($($call:tt)+) => {
        /// The id of the request that brought it, which support asks for.
        #[must_use]
        pub fn request_id(&self) -> Option<&str> {
            self.$($call)+.request_id.as_deref()
        }

        /// How often that request was sent.
        #[must_use]
        pub fn attempts(&self) -> u32 {
            self.$($call)+.attempts
        }

        /// How long that call took, all attempts together.
        #[must_use]
        pub fn elapsed(&self) -> std::time::Duration {
            self.$($call)+.elapsed
        }
    };
}
pub(crate) use call_accessors;

/// Writes the result of decoding into the record of the call, and ends decoding at the time
/// limit of the call.
pub(super) struct DecodeObserver {
    pub(super) record: Arc<Record>,
    pub(super) clock: Arc<dyn Clock>,
    /// The time at which decoding began, and how long it may take. A clock that was set forward
    /// before must not make a good response late.
    pub(super) started: SystemTime,
    pub(super) left: Duration,
    /// The time limit of the call.
    pub(super) timeout: Duration,
}

impl Observer for DecodeObserver {
    fn on_decoded(&self, body: &Bytes, skipped: &Skipped) {
        self.record.update(|call| {
            call.body = Some(body.clone());
            call.skipped = skipped.clone();
            if let Some(error) = &call.skipped.first_error
                && let Some(masked) = call.mask().text(error)
            {
                call.skipped.first_error = Some(masked);
            }
        });
    }

    fn mask(&self, text: &str) -> Option<String> {
        self.record.lock().mask().document(text)
    }

    fn is_late(&self) -> bool {
        let late = since(&*self.clock, self.started) >= self.left;
        if late {
            self.record
                .update(|call| call.decode_timeout = Some(self.timeout));
        }
        late
    }
}
