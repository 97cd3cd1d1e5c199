//! Logs of tasks: lines, their index, and streams of them.

pub(crate) mod index;
pub(crate) mod lines;

/// How much of a log is read at once.
pub(crate) const LOG_CHUNK: u64 = 256 << 10;
