//! Polling, as waiting and following do it: the pauses between requests, the errors that they pass
//! over, and the rounds of polls by which following finds the end.

pub(crate) mod interval;
pub(crate) mod rounds;
pub(crate) mod tolerance;
