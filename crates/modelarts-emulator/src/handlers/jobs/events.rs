//! Events of a job: the query and the response of ListTrainingJobEvents, and reported events.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        query::decode,
        response::{ApiResponse, Reply},
    },
    catalog::quirks::EventsOffset,
    clock::timestamp::Timestamp,
    handlers::{call::ApiCall, jobs::logs},
    job::{
        event::{Event, EventKind, Level, Source},
        view,
    },
};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 100;
const MAX_PATTERN: usize = 256;
const LEVELS: [&str; 3] = ["Info", "Warning", "Error"];
const SOURCES: [&str; 3] = ["K8S", "Job", "Task"];

fn is_one_of(known: &[&str], value: &str) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(value))
}

/// Validated query of ListTrainingJobEvents. All invalid queries result in the same error response.
#[derive(Debug, Default)]
pub(super) struct EventQuery {
    /// The `offset` parameter as received. It counts events in SOURCES O, P and F2, and pages in
    /// SOURCES S; [`EventsOffset`] selects the unit.
    offset: usize,
    /// Number of events before the page.
    skip: usize,
    limit: usize,
    descending: bool,
    window: Option<(Timestamp, Timestamp)>,
    level: Option<String>,
    source: Option<String>,
    pattern: Option<String>,
}

impl EventQuery {
    /// Parses the query of a URL. Empty values count as absent, and unknown parameters are ignored.
    pub(crate) fn read(query: &str, offset: EventsOffset) -> Result<Self, ApiError> {
        let mut read = Self::parse(query).ok_or_else(ApiError::events_query)?;
        read.skip = match offset {
            EventsOffset::Event => read.offset,
            EventsOffset::Page => read.offset.saturating_mul(read.limit),
        };
        Ok(read)
    }

    fn parse(query: &str) -> Option<Self> {
        let mut read = Self { limit: DEFAULT_LIMIT, ..Self::default() };
        let (mut start, mut end) = (None, None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            if value.is_empty() {
                continue;
            }
            match name {
                "offset" => read.offset = usize::try_from(value.parse::<i32>().ok()?).ok()?,
                "limit" => {
                    let limit = value.parse().ok();
                    read.limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit))?;
                }
                "order" if ["asc", "desc"].contains(&value.as_str()) => {
                    read.descending = value == "desc";
                }
                "start_time" => start = Some(Timestamp::parse_millis(&value)?.whole_second()),
                "end_time" => end = Some(Timestamp::parse_millis(&value)?.whole_second()),
                // Levels and sources are compared without regard to case (SOURCES D-54).
                "level" if is_one_of(&LEVELS, &value) => read.level = Some(value),
                "source" if is_one_of(&SOURCES, &value) => read.source = Some(value),
                "pattern" if value.chars().count() <= MAX_PATTERN => read.pattern = Some(value),
                "order" | "level" | "source" | "pattern" => return None,
                _ => {}
            }
        }
        read.window = match (start, end) {
            (None, None) => None,
            (Some(start), Some(end)) if start <= end => Some((start, end)),
            _ => return None,
        };
        Some(read)
    }

    /// Returns the page of matching events. `events` are in the order of their recording. Times are
    /// compared in whole seconds, the precision of responses.
    pub(crate) fn response(&self, events: &[Event], text: impl Fn(&Event) -> String) -> Value {
        let matching = events.iter().filter(|event| self.matches(event, &text));
        let mut matching: Vec<&Event> = matching.collect();
        if self.descending {
            matching.reverse();
        }
        let page = matching.iter().skip(self.skip).take(self.limit);
        let page: Vec<Value> = page.map(|event| view::event(event, text(event))).collect();
        let mut answer = json!({
            "total": matching.len(),
            "limit": self.limit,
            "offset": self.offset,
            "order": if self.descending { "desc" } else { "asc" },
            "events": page,
        });
        if let Some((start, end)) = self.window {
            answer["start_time"] = start.rfc3339().into();
            answer["end_time"] = end.rfc3339().into();
        }
        answer
    }

    fn matches(&self, event: &Event, text: impl Fn(&Event) -> String) -> bool {
        let time = event.time.whole_second();
        let (level, source) = (event.kind.level().as_str(), event.kind.source());
        let is_asked = |asked: &Option<String>, value: &str| {
            asked.as_ref().is_none_or(|asked| asked.eq_ignore_ascii_case(value))
        };
        self.window.is_none_or(|(start, end)| start <= time && time <= end)
            && is_asked(&self.level, level)
            && is_asked(&self.source, source)
            && self.pattern.as_ref().is_none_or(|part| text(event).contains(part))
    }
}

/// The only documented kind of report (SOURCES S, P).
const TRAINING_EVENT: &str = "training-event";
/// Maximum number of characters of a type, set by the emulator without a source (SOURCES S, P).
const MAX_TYPE_LENGTH: usize = 256;

/// Adds an event that the code of a task reports. The form of its text is that of the emulator.
pub(crate) fn report(call: &ApiCall<'_>) -> Reply {
    let kind = call.id("report_type");
    if kind != TRAINING_EVENT {
        return Err(ApiError::invalid_parameter(format!("report_type must be {TRAINING_EVENT}")));
    }
    let body = call.json()?;
    let event = JsonField::root(&body).get("type")?;
    let event = event.map(|field| field.text_up_to(MAX_TYPE_LENGTH)).transpose()?;
    let event = event.filter(|event| !event.is_empty()).unwrap_or(kind);
    let task = logs::worker(call)?.task();
    let now = call.now();
    let reported = EventKind::Given {
        message: format!("[{task}] {event}"),
        level: Level::Info,
        source: Source::Task,
    };
    call.update(|job| job.note(reported, now))?;
    Ok(ApiResponse::empty(StatusCode::OK))
}
