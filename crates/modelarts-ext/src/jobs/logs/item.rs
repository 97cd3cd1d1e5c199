//! Items of a followed log, and the ways to read one.

/// A piece of a followed log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogItem {
    /// A line, without its end. By preview, one that is longer than 1 MiB comes in pieces
    /// of up to 1 MiB each.
    Line(String),
    /// The log grew faster than it was looked at, or the service has thrown a part of it
    /// away, and this part is not to be had.
    Gap {
        /// How many bytes are missing, if the service says how long the log is.
        bytes: Option<u64>,
    },
}

/// How a log is read that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogAccess {
    /// By looking at its newest part, of up to 5 MB. Both clouds have that.
    Preview,
    /// By the numbers of its lines (`ShowTrainingJobLogsFromAom`): small answers, and no gap
    /// however fast the log grows. Open Telekom Cloud does not have it (`openapi/SOURCES.md`,
    /// D-52).
    LineNumbers,
}
