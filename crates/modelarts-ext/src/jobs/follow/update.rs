//! `JobUpdate`: an item of the stream of a followed job.

use serde::{Serialize, Serializer};

use crate::{
    error::Error,
    jobs::{events::event::Event, job::Job, logs::item::LogItem},
};

/// Item of the stream of a followed job.
///
/// As JSON, an update is one object with the name of the update and its fields: of the job `id`,
/// `name` and `phase`; all fields of the [`Event`]; `task` and the field of the [`LogItem`].
///
/// ```json
/// {"update": "phase", "id": "cf63aba9-63b1-4219-b717-708a2665100b", "name": "first",
///  "phase": "Running"}
/// {"update": "event", "time": "2026-01-15T08:30:07Z", "level": "Info", "source": "Job",
///  "message": "Training job created.", "kind": "created"}
/// {"update": "log", "task": "worker-0", "line": "epoch 1"}
/// {"update": "log", "task": "worker-0", "gap": {"bytes": 4096}}
/// {"update": "vanished"}
/// {"update": "interrupted", "error": "ShowTrainingJobDetails: HTTP 503 Service Unavailable"}
/// {"update": "resumed"}
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "update", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobUpdate {
    /// The phase changed. Holds the job as read at that time.
    Phase(#[serde(serialize_with = "summary")] Box<Job>),
    /// An event appeared.
    Event(Event),
    /// A task wrote to its log.
    Log {
        /// The task, such as `worker-0`.
        task: String,
        /// A line of the log, or a gap in it.
        #[serde(flatten)]
        item: LogItem,
    },
    /// The job was deleted.
    Vanished,
    /// The details of the job cannot be read at the moment. The stream continues, and ends with the
    /// error if it persists. Only a stream with
    /// [`report_interruptions`](crate::jobs::follow::Updates::report_interruptions) has this item.
    Interrupted {
        /// The error, which is tolerated. As JSON it is its text.
        #[serde(serialize_with = "text")]
        error: Error,
    },
    /// The details of the job can be read again. Follows [`Interrupted`](Self::Interrupted).
    Resumed,
}

fn text<S: Serializer>(error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

fn summary<S: Serializer>(job: &Job, serializer: S) -> Result<S::Ok, S::Error> {
    job.summary().serialize(serializer)
}
