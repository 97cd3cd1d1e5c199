//! Pages of lines from the logs of tasks.

pub(crate) mod index;
pub(crate) mod lines;

/// Number of bytes of a log that are read in one operation.
pub(crate) const LOG_CHUNK: u64 = 256 << 10;
