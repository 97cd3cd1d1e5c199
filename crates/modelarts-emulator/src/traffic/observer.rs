//! Observation of requests and their responses.

use std::{fmt, sync::Arc};

/// One request for an operation of the service, and its answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The operationId; none for what the emulator does not model.
    pub operation: Option<&'static str>,
    /// `GET` and so on.
    pub method: &'a str,
    /// The path as it was sent.
    pub path: &'a str,
    /// The query as it was sent, without the question mark; empty if there was none.
    pub query: &'a str,
    /// The body of the request. Empty if it was refused by its head, its size or its time.
    pub request: &'a [u8],
    /// The status of the answer.
    pub status: u16,
    /// The body of the answer, before a fault cuts it.
    pub answer: &'a [u8],
    /// True if a [`FaultRule`](crate::traffic::faults::FaultRule) changed the response.
    pub by_fault: bool,
}

/// The function that is called with each exchange, before the response is sent.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(&Exchange<'_>) + Send + Sync>);

impl Observer {
    pub(crate) fn new(observe: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn notify(&self, exchange: &Exchange<'_>) {
        (self.0)(exchange);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
