//! Items of a followed log, and the ways of reading a log.

/// Item of a followed log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogItem {
    /// Line of the log, without its line end. In previews, a line that is longer than 1 MiB is
    /// split into parts of up to 1 MiB.
    Line(String),
    /// Missing lines: the log grew faster than it was polled, or the service deleted a part of it.
    Gap {
        /// The number of missing bytes, if the service states the length of the log.
        bytes: Option<u64>,
    },
}

/// The way in which a followed log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogAccess {
    /// Reads the newest part, of up to 5 MB. Available on both clouds.
    Preview,
    /// Reads lines by their numbers (`ShowTrainingJobLogsFromAom`): small responses, and no gaps
    /// however fast the log grows. Not available on Open Telekom Cloud (`openapi/SOURCES.md`,
    /// D-52).
    LineNumbers,
}
