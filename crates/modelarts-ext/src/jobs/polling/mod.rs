//! Polling for waits and followed jobs: pauses between requests, tolerated errors, rounds of polls,
//! and the loop that follows a job until it has ended and nothing is missing.

pub(crate) mod follower;
pub(crate) mod interval;
pub(crate) mod rounds;
pub(crate) mod tolerance;

use std::time::Duration;

/// Maximum pause between polls: one day. Longer pauses could overflow when multiplied.
const MAX_PAUSE: Duration = Duration::from_secs(24 * 3600);
