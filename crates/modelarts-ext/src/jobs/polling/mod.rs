//! Polling for waits and followed jobs.
//!
//! A `Poller` decides when a round begins. Waits read jobs in a round; `follower` reads the
//! details, events and logs of a job, until `rounds` finds that nothing is missing.

pub(crate) mod follower;
pub(crate) mod poller;
pub(crate) mod rounds;

pub(crate) const IN_FLIGHT: usize = 16;
