//! Polling: the interval, the tolerance of errors, and the end of what is followed.

pub(crate) mod end;
pub(crate) mod interval;
pub(crate) mod tolerance;
