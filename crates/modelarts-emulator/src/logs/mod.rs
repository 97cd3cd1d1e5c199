//! Pages of lines from the logs of tasks.
//!
//! [`lines`] selects the requested lines from the chunks of a log. [`index`] finds the position at
//! which reading starts.

pub(crate) mod index;
pub(crate) mod lines;

/// Number of bytes of a log that are read in one operation.
pub(crate) const LOG_CHUNK: u64 = 256 << 10;
