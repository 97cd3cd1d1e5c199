//! Clock that only a test advances.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use futures::future::BoxFuture;
use modelarts_ext::clock::Clock;
use tokio::sync::watch;

/// Clock whose time changes only when a test advances it. Sleeps that are pauses can end
/// immediately.
#[derive(Clone)]
pub(crate) struct ManualClock {
    now: watch::Sender<SystemTime>,
    /// Returns `true` for sleeps that are pauses, and `false` for time limits.
    pause: fn(Duration) -> bool,
}

impl ManualClock {
    pub(crate) fn new(pause: fn(Duration) -> bool) -> Self {
        Self { now: watch::Sender::new(start()), pause }
    }

    /// Returns a clock on which every sleep lasts until the clock is advanced.
    pub(crate) fn still() -> Self {
        Self::new(|_| false)
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.now.send_modify(|now| *now += duration);
    }
}

/// Returns the time at which all tests begin, 2026-01-15T08:30:45Z.
pub(crate) fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845)
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ManualClock")
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        *self.now.borrow()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        if (self.pause)(duration) {
            return Box::pin(async move {
                tokio::task::yield_now().await;
                clock.advance(duration);
            });
        }
        let end = self.now() + duration;
        Box::pin(async move {
            let mut now = clock.now.subscribe();
            let _ = now.wait_for(|now| *now >= end).await;
        })
    }
}

pub(crate) const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

pub(crate) const fn hours(hours: u64) -> Duration {
    minutes(hours * 60)
}

/// Formats a time as the services do.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let elapsed = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let days = elapsed.as_secs() / 86_400;
    // The times of all tests are in January.
    let day = days - (start().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 86_400);
    let rest = elapsed.as_secs() % 86_400;
    format!(
        "2026-01-{:02}T{:02}:{:02}:{:02}.855000Z",
        15 + day,
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}
