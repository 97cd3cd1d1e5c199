//! Items of a followed log.

use serde::Serialize;

/// Item of a followed log. As JSON, it is `{"line": "epoch 1"}` or `{"gap": {"bytes": 4096}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogItem {
    /// Line of the log, without its line break. A line of more than 1 MiB is split into parts of up
    /// to 1 MiB.
    Line(String),
    /// Missing lines, or the missing end of a line:
    ///
    /// - The log grew faster than it was polled, and cannot be read by its link.
    /// - The log was replaced, as by a restart of its task. The lines before the gap belong to the
    ///   earlier log, whose last lines may be missing.
    /// - The service deleted the log, or no longer has the log.
    Gap {
        /// Number of missing bytes, if the service states the length of the log.
        bytes: Option<u64>,
    },
}
