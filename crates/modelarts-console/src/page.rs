//! `Page` and `Layout`: common parts of all pages of the site, and streams of server-sent events.

use std::{convert::Infallible, time::Duration};

use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode, header::ACCEPT},
    response::{
        Html, IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::Stream;

use crate::{
    access::visitor::{Fields, Visitor},
    assets,
    problem::Problem,
    site::State,
};

/// Pause after which a comment is sent, to keep the connection alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Job list and job pages.
    Jobs,
    Create,
    Emulator,
    None,
}

/// Values for the template `layout.html`.
pub(crate) struct Layout {
    pub(crate) title: String,
    pub(crate) section: Section,
    /// Name of the service: its cloud and region, `Emulator`, or its endpoint.
    pub(crate) service: String,
    pub(crate) project: String,
    /// CSRF token that requests for changes must contain; empty without a session.
    pub(crate) csrf: String,
    pub(crate) is_read_only: bool,
    /// `true` if the service is an emulator on this machine.
    pub(crate) has_emulator: bool,
    /// Base path of scripts and styles.
    pub(crate) assets: String,
    /// Sentence about a difference between the clocks of the service and of this machine.
    pub(crate) clock_note: Option<String>,
    /// Seconds by which the clock of the service is ahead of that of this machine.
    pub(crate) ahead: i64,
    /// `true` if the clock of the service is that of an emulator that stands still.
    pub(crate) stands: bool,
}

impl Layout {
    pub(crate) fn new(state: &State, visitor: &Visitor, section: Section, title: &str) -> Self {
        Self {
            title: title.to_owned(),
            section,
            service: state.settings.service.clone(),
            project: state.client.project_id().to_owned(),
            csrf: visitor.csrf.clone(),
            is_read_only: state.settings.is_read_only,
            has_emulator: state.emulator.is_some(),
            assets: assets::base(),
            ahead: state.cached.clock.ahead(),
            stands: state.cached.clock.stands(),
            clock_note: state.cached.clock.note().filter(|_| !visitor.csrf.is_empty()),
        }
    }
}

/// Response that renders a template.
pub(crate) struct Page<T>(pub(crate) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(html) => Html(html).into_response(),
            Err(error) => {
                tracing::error!(%error, "a page cannot be rendered");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// Renders a template that is a part of a page.
pub(crate) fn fragment(template: &impl Template) -> Result<String, Problem> {
    template
        .render()
        .map_err(|error| Problem::internal(format!("the page cannot be rendered: {error}")))
}

/// Returns a text as HTML, in which parts between backticks are code.
pub(crate) fn with_code(text: &str) -> String {
    let escaped = askama::filters::escape(text, askama::filters::Html);
    let escaped = escaped.map(|text| text.to_string()).unwrap_or_default();
    let parts: Vec<&str> = escaped.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped;
    }
    let parts = parts.into_iter().enumerate().map(|(index, part)| match index % 2 {
        0 => part.to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    parts.collect()
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    layout: Layout,
    problem: Problem,
}

/// Returns the `Content-Disposition` value with which a browser saves a response as a file.
pub(crate) fn attachment(name: &str) -> String {
    // The name of a job may contain characters that this header does not permit.
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let plain: String = name.chars().filter(is_plain).collect();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    match plain == name {
        true => format!("attachment; filename=\"{plain}\""),
        // RFC 6266: browsers prefer the encoded name.
        false => format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"),
    }
}

/// Returns `true` if the client is a script, which accepts JSON.
pub(crate) fn is_script(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}

pub(crate) fn render_problem(
    state: &State,
    visitor: &Visitor,
    headers: &HeaderMap,
    problem: Problem,
) -> Response {
    let status = problem.status;
    if is_script(headers) {
        let body = serde_json::json!({ "error": problem });
        return (status, axum::Json(body)).into_response();
    }
    let layout = Layout::new(state, visitor, Section::None, problem.title);
    (status, Page(ProblemPage { layout, problem })).into_response()
}

pub(crate) fn message(name: &str, data: &str) -> Event {
    // A carriage return would end a line of the stream. In HTML, a space is equivalent.
    Event::default().event(name).data(data.replace('\r', " "))
}

/// Returns an event without content. Browsers ignore events with empty data, so it is not empty.
pub(crate) fn signal(name: &str) -> Event {
    message(name, "{}")
}

/// Returns the position of a page that reconnects: from the header `Last-Event-ID` of a browser, or
/// from the field `last` of a script that opens a new stream.
pub(crate) fn last_position<'a>(headers: &'a HeaderMap, fields: &'a Fields) -> Option<&'a str> {
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    header.or(fields.get("last"))
}

pub(crate) fn send_events(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    Sse::new(events).keep_alive(alive).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_between_backticks_are_code() {
        assert_eq!(
            with_code("set `a<b>` & `c`"),
            "set <code>a&#60;b&#62;</code> &#38; <code>c</code>"
        );
        assert_eq!(with_code("a ` alone"), "a ` alone");
    }
}
