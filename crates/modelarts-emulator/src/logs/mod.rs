//! Pages of lines from the logs of tasks.
//!
//! [`lines`] finds lines while a log is read in chunks; [`index`] finds the byte to start from.

pub(crate) mod index;
pub(crate) mod lines;

/// Number of bytes of a log that are read in one operation.
pub(crate) const LOG_CHUNK: u64 = 256 << 10;
