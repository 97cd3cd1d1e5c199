//! Live state of jobs: one poller for each job, for all pages that show it.

pub(crate) mod lists;

use std::time::Duration;

/// The pollers of the site.
pub(crate) struct Watches {
    #[expect(dead_code, reason = "pollers are not built yet")]
    interval: Duration,
}

impl Watches {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval }
    }
}
