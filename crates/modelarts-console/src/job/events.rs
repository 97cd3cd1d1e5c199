//! Tab with the events of a job.

use std::collections::BTreeMap;

use askama::Template;
use axum::{Router, extract::Path, routing::get};
use modelarts_ext::{Event, Timestamp, types::EventLevel};

use crate::{
    access::visitor::Fields,
    job::{
        followed::{FollowedJob, Position},
        frame::{JobFrame, Tab},
    },
    page::{Layout, Page, Section, fragment},
    problem::Problem,
    site::{State, UserRequest},
};

/// Maximum number of rows per page. A job usually has some tens of events.
const MAX_ROWS: usize = 2_000;

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}/events", get(show))
}

/// Conditions on events, from the fields of a query. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventFilter {
    level: Option<String>,
    source: Option<String>,
    kind: Option<String>,
    /// Text that the message must contain, in lower case.
    text: Option<String>,
}

impl EventFilter {
    pub(crate) fn parse(fields: &Fields) -> Self {
        let field = |name| fields.get(name).map(str::to_owned);
        Self {
            level: field("level"),
            source: field("source"),
            kind: field("kind"),
            text: field("q").map(|text| text.trim().to_lowercase()),
        }
    }

    fn matches(&self, row: &EventRow) -> bool {
        // The service writes sources in different cases, such as `K8S` and `K8s`.
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(value))
        };
        let text = self.text.as_deref().unwrap_or_default();
        is(&self.level, &row.level)
            && is(&self.source, &row.source)
            && is(&self.kind, &row.kind)
            && (text.is_empty() || row.message.to_lowercase().contains(text))
    }
}

struct EventRow {
    /// Number of the event in the order of arrival.
    number: usize,
    /// Time by which events are sorted, in milliseconds since 1970; 0 if it is not known.
    millis: i64,
    /// Time in the format of RFC 3339, or as the service returns it.
    time: String,
    level: String,
    /// Style class of the level, and its symbol.
    style: &'static str,
    symbol: &'static str,
    source: String,
    /// Name of the event kind, such as `task_finished`.
    kind: String,
    message: String,
}

impl EventRow {
    fn new(number: usize, event: &Event) -> Self {
        let (style, symbol) = match event.level() {
            EventLevel::Error => ("error", "✗"),
            EventLevel::Warning => ("warning", "⚠"),
            _ => ("info", "ℹ"),
        };
        let time = event.time();
        Self {
            number,
            millis: time.map_or(0, Timestamp::as_epoch_millis),
            time: time.map_or_else(|| event.time_text().to_owned(), |time| time.to_string()),
            level: event.level().to_string(),
            style,
            symbol,
            source: event.source().to_string(),
            kind: kind_name(event),
            message: event.message().to_owned(),
        }
    }

    fn kind_label(&self) -> String {
        label(&self.kind)
    }
}

fn kind_name(event: &Event) -> String {
    let kind = serde_json::to_value(event.kind()).unwrap_or_default();
    kind["kind"].as_str().unwrap_or("other").to_owned()
}

/// Returns the name of a kind as a label, such as `Task finished`.
fn label(kind: &str) -> String {
    let mut words = kind.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

#[derive(Template)]
#[template(path = "job/event_rows.html")]
struct EventRows<'a> {
    rows: &'a [EventRow],
}

/// Renders the rows of new events that match. `first` is the number of the first new event.
pub(crate) fn render_rows(
    filter: &EventFilter,
    first: usize,
    events: &[Event],
) -> Result<String, Problem> {
    let rows = rows(filter, first, events);
    match rows.is_empty() {
        true => Ok(String::new()),
        false => fragment(&EventRows { rows: &rows }),
    }
}

/// Returns the rows that match, sorted by time.
fn rows(filter: &EventFilter, first: usize, events: &[Event]) -> Vec<EventRow> {
    let rows = events.iter().enumerate();
    let rows = rows.map(|(at, event)| EventRow::new(first + at, event));
    let mut rows: Vec<EventRow> = rows.filter(|row| filter.matches(row)).collect();
    rows.sort_by_key(|row| (row.millis, row.number));
    rows
}

struct Choice {
    value: String,
    label: String,
    count: usize,
    is_selected: bool,
}

/// Returns the choices of a filter: all values that occur, and the selected value.
fn choices(
    all: &[EventRow],
    selected: Option<&str>,
    value: impl Fn(&EventRow) -> &str,
    label: impl Fn(&str) -> String,
) -> Vec<Choice> {
    let mut counts = BTreeMap::new();
    let values = all.iter().map(|row| (value(row), 1));
    for (value, count) in values.chain(selected.map(|selected| (selected, 0))) {
        counts.entry(value.to_lowercase()).or_insert((value, 0)).1 += count;
    }
    let choice = |(value, count): (&str, usize)| Choice {
        value: value.to_owned(),
        label: label(value),
        count,
        is_selected: selected.is_some_and(|selected| selected.eq_ignore_ascii_case(value)),
    };
    counts.into_values().map(choice).collect()
}

#[derive(Template)]
#[template(path = "job/events.html")]
struct EventsPage {
    layout: Layout,
    frame: JobFrame,
    levels: Vec<Choice>,
    sources: Vec<Choice>,
    kinds: Vec<Choice>,
    /// Text of the search, as entered.
    text: String,
    /// Rendered rows, oldest first.
    rows: String,
    shown: usize,
    /// Number of matching events that are not shown.
    omitted: usize,
    total: usize,
    /// `true` if the page is updated with new events.
    is_live: bool,
    position: String,
    problem: Option<String>,
}

async fn show(Path(id): Path<String>, request: UserRequest) -> Result<Page<EventsPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let followed = FollowedJob::follow(&state, &id).await?;
    let filter = EventFilter::parse(&fields);
    let events = &followed.state.events;
    let all = rows(&EventFilter::default(), 0, events);
    let mut shown = rows(&filter, 0, events);
    let omitted = shown.len().saturating_sub(MAX_ROWS);
    shown.drain(..omitted);
    let (layout, frame) = JobFrame::of(&state, &visitor, &followed.job, Tab::Events).await?;
    Ok(Page(EventsPage {
        layout,
        frame,
        levels: choices(&all, filter.level.as_deref(), |row| &row.level, str::to_owned),
        sources: choices(&all, filter.source.as_deref(), |row| &row.source, str::to_owned),
        kinds: choices(&all, filter.kind.as_deref(), |row| &row.kind, label),
        text: fields.get("q").unwrap_or_default().to_owned(),
        rows: fragment(&EventRows { rows: &shown })?,
        shown: shown.len(),
        omitted,
        total: all.len(),
        is_live: fields.get("refresh") != Some("manual"),
        position: Position::of(&followed.state, None).to_string(),
        problem: followed.state.interruption.as_ref().map(Problem::sentence),
    }))
}
