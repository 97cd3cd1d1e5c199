//! Polling, as waiting and following do it: the pauses between requests, the errors that they pass
//! over, and the end.

pub(crate) mod end;
pub(crate) mod interval;
pub(crate) mod tolerance;
