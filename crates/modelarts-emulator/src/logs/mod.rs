//! Logs of tasks: lines, their index, and streams of them.

pub(crate) mod index;
pub(crate) mod lines;
pub(crate) mod stream;
