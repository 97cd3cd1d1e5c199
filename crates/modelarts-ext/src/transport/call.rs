//! What the transport knows about a call, for whoever made it.
//!
//! Generated code stands between the two and passes none of it on, so it travels
//! beside it, in a task-local that [`Client::call`](crate::client::Client::call) sets up.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use modelarts_api::{decode::Observer, lenient::Dropped};

use crate::{
    clock::{Clock, since},
    error::Call,
    error::mask::{Mask, Secrets},
};

tokio::task_local! {
    static CURRENT: Arc<Record>;
}

#[derive(Default)]
pub(crate) struct Record(Mutex<CallInfo>);

/// What is known so far.
#[derive(Clone, Default)]
pub(crate) struct CallInfo {
    pub(crate) operation: Option<&'static str>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    /// The body that was decoded; `None` when the operation answers without one.
    pub(crate) body: Option<Bytes>,
    pub(crate) dropped: Dropped,
    /// The time limit of the call, when it passed while the answer was decoded.
    pub(crate) late: Option<Duration>,
    /// The secrets of each attempt.
    pub(crate) secrets: Vec<Secrets>,
    /// What was signed last.
    pub(crate) canonical_request: Option<String>,
    /// How long the last answer asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// An attempt may have been executed without its answer being known, which one is
    /// that is under way.
    pub(crate) uncertain: bool,
}

impl Record {
    /// The record of the call that runs in this task, or one that nobody reads.
    pub(crate) fn current() -> Arc<Self> {
        CURRENT.try_with(Arc::clone).unwrap_or_default()
    }

    /// Runs a call with this record. The call is made here: as an argument its kilobytes
    /// would be moved here, and kept twice.
    pub(crate) async fn scope<F: Future>(self: &Arc<Self>, call: impl FnOnce() -> F) -> F::Output {
        let mut call = pin!(call());
        poll_fn(|context| CURRENT.sync_scope(Arc::clone(self), || call.as_mut().poll(context)))
            .await
    }

    /// Takes the facts that are known by now; the record is empty then.
    pub(crate) fn take(&self) -> CallInfo {
        std::mem::take(&mut *self.lock())
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut CallInfo)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, CallInfo> {
        // CallInfo are written whole; a panic elsewhere leaves them readable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallInfo {
    /// What a row of a page knows: not the body of the whole page.
    pub(crate) fn without_body(&self) -> Self {
        Self {
            body: None,
            ..self.clone()
        }
    }

    /// Finds the secrets of the call in texts that came from outside.
    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.secrets.iter().flat_map(Secrets::texts))
    }

    /// The body as it came; empty when the operation answers without one.
    pub(crate) fn raw(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    pub(crate) fn call(&self) -> Call {
        Call {
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

/// Writes the result of decoding into the record of the call, and ends decoding with the time
/// limit of the call.
pub(crate) struct Watch {
    pub(crate) record: Arc<Record>,
    pub(crate) clock: Arc<dyn Clock>,
    /// When decoding began, and how long it may take. A clock that is set forward before must
    /// not make a good answer late.
    pub(crate) started: SystemTime,
    pub(crate) left: Duration,
    /// The time limit of the call.
    pub(crate) timeout: Duration,
}

impl Observer for Watch {
    fn decoded(&self, body: &Bytes, dropped: &Dropped) {
        self.record.update(|facts| {
            facts.body = Some(body.clone());
            facts.dropped = dropped.clone();
            if let Some(error) = &facts.dropped.first_error
                && let Some(masked) = facts.mask().text(error)
            {
                facts.dropped.first_error = Some(masked);
            }
        });
    }

    fn masked(&self, text: &str) -> Option<String> {
        self.record.lock().mask().document(text)
    }

    fn is_late(&self) -> bool {
        let late = since(&*self.clock, self.started) >= self.left;
        if late {
            self.record.update(|facts| facts.late = Some(self.timeout));
        }
        late
    }
}
