//! Observation of requests and their responses.

use std::sync::Arc;

/// Request for an operation of the service, with its response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// operationId; `None` for operations that the emulator does not implement.
    pub operation: Option<&'static str>,
    /// Method of the request, for example `GET`.
    pub method: &'a str,
    /// Path of the request, as sent.
    pub path: &'a str,
    /// Query of the request, as sent, without the question mark; empty if the request has none.
    pub query: &'a str,
    /// Body of the request; empty if the request was refused for its head, its size or a timeout.
    pub request: &'a [u8],
    /// Status of the response.
    pub status: u16,
    /// Body of the response, before a fault cuts it.
    pub answer: &'a [u8],
    /// `true` if a [`FaultRule`](crate::traffic::faults::FaultRule) changed the response.
    pub by_fault: bool,
}

/// Function that the emulator calls with each exchange, before it sends the response.
pub(crate) type Observer = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;
