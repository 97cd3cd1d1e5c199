//! Polling of waits and followed jobs: pauses between requests, tolerated errors, and rounds of
//! polls up to the end.

pub(crate) mod follower;
pub(crate) mod interval;
pub(crate) mod rounds;
pub(crate) mod tolerance;
