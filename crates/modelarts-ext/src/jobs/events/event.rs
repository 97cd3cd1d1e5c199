//! `Event`: event of a job.

use std::{fmt, time::Duration};

use modelarts_api::types::{EventLevel, EventSource, TrainingJobEvent};
use serde::{Deserialize, Serialize, Serializer};

use crate::{jobs::events::kind::EventKind, timestamp::Timestamp};

/// Resolution of event times. The times are truncated, so they may be up to one second too early.
pub(crate) const TIME_RESOLUTION: Duration = Duration::from_secs(1);

/// Event of a job.
///
/// As JSON, an object with `time` (in UTC; an invalid time as returned), `level`, `source`,
/// `message`, and the fields of its [`kind`](Self::kind).
///
/// ```json
/// {"time": "2026-01-15T08:30:07Z", "level": "Info", "source": "Task",
///  "message": "[worker-0] Training finished. Exit code 0.",
///  "kind": "task_finished", "task": "worker-0", "exit_code": 0}
/// ```
///
/// An event can be read from this form, or from a response of the service, for example in tests of
/// a program. The kind is always parsed from the message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "TrainingJobEvent")]
pub struct Event {
    time_text: String,
    /// Parsed time, cached because streams of events compare times often.
    time: Option<Timestamp>,
    level: EventLevel,
    source: EventSource,
    message: String,
}

impl From<TrainingJobEvent> for Event {
    fn from(row: TrainingJobEvent) -> Self {
        Self::new(row)
    }
}

impl Event {
    pub(crate) fn new(row: TrainingJobEvent) -> Self {
        let time_text = row.time.unwrap_or_default();
        Self {
            time: Timestamp::parse(&time_text),
            time_text,
            level: row.level.unwrap_or(EventLevel::Info),
            source: row.source.unwrap_or_else(|| "".into()),
            message: row.message.unwrap_or_default(),
        }
    }

    /// Returns the time of the event, to the second, or `None` if the service states no valid time.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        self.time
    }

    /// Returns the time of the event as the service returns it (RFC 3339), or an empty string.
    #[must_use]
    pub fn time_text(&self) -> &str {
        &self.time_text
    }

    /// Returns the severity of the event, or `Info` if the service states none.
    #[must_use]
    pub fn level(&self) -> &EventLevel {
        &self.level
    }

    /// Returns the source of the event: the job, one of its tasks, or the cluster.
    #[must_use]
    pub fn source(&self) -> &EventSource {
        &self.source
    }

    /// Returns the message of the event as the service returns it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the kind of the event, parsed from its message.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        EventKind::parse(&self.message)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:<7} {:<4} {}", self.time_text, self.level, self.source, self.message)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Time<'a> {
            Parsed(Timestamp),
            Text(&'a str),
        }
        #[derive(Serialize)]
        struct Json<'a> {
            time: Time<'a>,
            level: &'a EventLevel,
            source: &'a EventSource,
            message: &'a str,
            #[serde(flatten)]
            kind: EventKind,
        }
        Json {
            time: self.time.map_or(Time::Text(&self.time_text), Time::Parsed),
            level: &self.level,
            source: &self.source,
            message: &self.message,
            kind: self.kind(),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reads_as_one_line() {
        let row = serde_json::json!({
            "time": "2026-01-15T16:30:07+08:00",
            "level": "Info", "source": "Job", "message": "Training job created.",
        });
        let event: Event = serde_json::from_value(row).unwrap();
        let line = "2026-01-15T16:30:07+08:00 Info    Job  Training job created.";
        assert_eq!(event.to_string(), line);
        let again: Event = serde_json::from_value(serde_json::json!(event)).unwrap();
        assert_eq!(again.to_string(), line.replace("16:30:07+08:00", "08:30:07Z"));
    }
}
