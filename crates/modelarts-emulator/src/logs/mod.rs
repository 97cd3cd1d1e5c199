//! Pages of lines from the logs of tasks.
//!
//! [`lines`] finds lines while a log is read in chunks; [`index`] tells at which byte to begin.

pub(crate) mod index;
pub(crate) mod lines;

/// How much of a log is read at once.
pub(crate) const LOG_CHUNK: u64 = 256 << 10;
