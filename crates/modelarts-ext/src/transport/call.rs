//! Facts about a call (attempts, request id, time), passed from the transport to the caller.
//!
//! Generated code stands between the two and does not pass them on, so they use a task-local that
//! [`Client::call`](crate::client::Client::call) sets.

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

/// The shared record of a call in progress.
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
    /// The decoded body; `None` if the response has none.
    pub(crate) body: Option<Bytes>,
    pub(crate) skipped: Skipped,
    /// The time limit of the call, if it passed during decoding.
    pub(crate) decode_timeout: Option<Duration>,
    /// The secrets that each attempt sent.
    pub(super) secrets: Vec<Secrets>,
    /// The canonical request of the last signature.
    pub(crate) canonical_request: Option<String>,
    /// The `Retry-After` of the last response.
    pub(super) retry_after: Option<Duration>,
    /// `true` if the service may have executed an attempt that has no response, including one in
    /// progress.
    pub(super) uncertain: bool,
}

impl Record {
    /// The record of the call of this task, or an unused one.
    pub(super) fn current() -> Arc<Self> {
        CURRENT.try_with(Arc::clone).unwrap_or_default()
    }

    /// Runs a call with this record. It takes a closure, because a future as an argument would be
    /// moved and its kilobytes kept twice.
    pub(crate) async fn scope<F: Future>(self: &Arc<Self>, call: impl FnOnce() -> F) -> F::Output {
        let mut call = pin!(call());
        poll_fn(|context| CURRENT.sync_scope(Arc::clone(self), || call.as_mut().poll(context)))
            .await
    }

    /// Takes the facts collected so far, and leaves the record empty.
    pub(crate) fn take(&self) -> CallInfo {
        std::mem::take(&mut *self.lock())
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut CallInfo)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, CallInfo> {
        // Facts are replaced as a whole; a panic elsewhere leaves them consistent.
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

    /// The mask for the secrets of the call, for texts from outside.
    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.secrets.iter().flat_map(Secrets::texts))
    }

    /// The body as received; empty if the response has none.
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
    // The body may hold secrets and is not printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallInfo")
            .field("request_id", &self.request_id)
            .field("attempts", &self.attempts)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

/// Defines the accessors that types made of a response share: `$call` is the path of their
/// [`CallInfo`].
macro_rules! call_accessors {
    ($($call:tt)+) => {
        /// The id of the request that returned this value, for the support of the service.
        #[must_use]
        pub fn request_id(&self) -> Option<&str> {
            self.$($call)+.request_id.as_deref()
        }

        /// The number of attempts of that request.
        #[must_use]
        pub fn attempts(&self) -> u32 {
            self.$($call)+.attempts
        }

        /// The duration of that call, including all attempts.
        #[must_use]
        pub fn elapsed(&self) -> std::time::Duration {
            self.$($call)+.elapsed
        }
    };
}
pub(crate) use call_accessors;

/// Observes decoding: records its result, and ends it at the time limit of the call.
pub(super) struct DecodeObserver {
    pub(super) record: Arc<Record>,
    pub(super) clock: Arc<dyn Clock>,
    /// The time at which decoding began. A clock that was set forward before must not make a
    /// complete response late.
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
