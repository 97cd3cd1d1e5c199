//! Streams of server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::{
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::Stream;

use crate::access::visitor::Fields;

/// Pause after which a comment shows that the connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) fn message(name: &str, data: &str) -> Event {
    // A carriage return ends a line of the stream, and is a blank in HTML.
    Event::default().event(name).data(data.replace('\r', " "))
}

/// Returns an event without data. Its data is not empty, because browsers ignore such events.
pub(crate) fn signal(name: &str) -> Event {
    message(name, "{}")
}

/// Returns the position of a page that connects again: a browser sends the header, and a script
/// that opens a new stream the field `last`.
pub(crate) fn last_position<'a>(headers: &'a HeaderMap, fields: &'a Fields) -> Option<&'a str> {
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    header.or(fields.get("last"))
}

/// Returns the response that sends events.
pub(crate) fn respond(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    Sse::new(events).keep_alive(alive).into_response()
}
