//! Items of a followed log, and the ways of reading a log.

/// An item of a followed log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogItem {
    /// A line, without its end. In previews, a line that is longer than 1 MiB is split into parts
    /// of up to 1 MiB.
    Line(String),
    /// Lost lines: the log grew faster than it was polled, or the service deleted a part of it.
    Gap {
        /// The number of lost bytes, if the service states the length of the log.
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
