//! Observation of requests and their responses.

use std::sync::Arc;

/// A request for an operation of the service, and its response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The operationId; `None` for operations that the emulator does not implement.
    pub operation: Option<&'static str>,
    /// The method, for example `GET`.
    pub method: &'a str,
    /// The path as it was sent.
    pub path: &'a str,
    /// The query as it was sent, without the question mark; empty if there was none.
    pub query: &'a str,
    /// The body of the request. Empty if the request was refused for its head, its size or its
    /// time.
    pub request: &'a [u8],
    /// The status of the response.
    pub status: u16,
    /// The body of the response, before a fault cuts it.
    pub answer: &'a [u8],
    /// True if a [`FaultRule`](crate::traffic::faults::FaultRule) changed the response.
    pub by_fault: bool,
}

/// The function to call with each exchange, before the response is sent.
pub(crate) type Observer = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;
