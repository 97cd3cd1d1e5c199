//! Polling for waits and followed jobs.
//!
//! A `Poller` decides when a round of requests begins: its states and steps need no network. Waits
//! read one job or many in a round; `follower` reads the details, the events and the logs of a
//! followed job, until `rounds` finds that the job has ended and nothing is missing.

pub(crate) mod follower;
pub(crate) mod poller;
pub(crate) mod rounds;

pub(crate) const IN_FLIGHT: usize = 16;
