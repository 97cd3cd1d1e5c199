//! Items of a followed log, and the methods by which a log is read.

use serde::Serialize;

/// Item of a followed log. As JSON, it is `{"line": "epoch 1"}` or `{"gap": {"bytes": 4096}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogItem {
    /// Line of the log, without its line break. A line of more than 1 MiB is split into parts of up
    /// to 1 MiB, unless [`Logs::follow`](crate::jobs::logs::Logs::follow) reads lines by their
    /// numbers and the service returns the whole line.
    Line(String),
    /// Missing lines, or the missing end of a line: the log grew faster than it was polled, or the
    /// service cut a long line, and the log cannot be read by its link; or the service deleted a
    /// part of the log.
    Gap {
        /// Number of missing bytes, if the service states the length of the log.
        bytes: Option<u64>,
    },
}

/// Method by which a followed log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogAccess {
    /// Reads the newest part of the log, up to 5 MB, and the parts that it lacks by the link to the
    /// log. Available on both clouds.
    Preview,
    /// Reads lines by their numbers (`ShowTrainingJobLogsFromAom`). Responses are small, and a log
    /// that grows quickly has no gaps. Not available on Open Telekom Cloud (`openapi/SOURCES.md`,
    /// D-52).
    LineNumbers,
}
