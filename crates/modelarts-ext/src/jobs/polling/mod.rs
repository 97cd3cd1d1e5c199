//! Polling for waits and followed jobs: `poller` decides when a round begins, `follower` reads a
//! job, and `rounds` decides when nothing is missing.

pub(crate) mod follower;
pub(crate) mod poller;
pub(crate) mod rounds;

/// Maximum number of requests in flight of a wait or of a followed job.
pub(crate) const REQUESTS_IN_FLIGHT: usize = 16;
