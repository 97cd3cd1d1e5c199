//! The one clock of a simulation.

use std::time::{Duration, SystemTime};

use modelarts_api::BoxFuture;
use tokio::time::Instant;

/// 2026-01-15T08:30:00Z.
const START: Duration = Duration::from_secs(1_768_465_800);

/// Tokio's clock, which must be paused: it leaps to the next timer when nothing else is left to
/// do. Client and emulator both go by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedClock {
    start: Instant,
}

impl SimulatedClock {
    /// A clock that begins now.
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// The time since the beginning of the simulation.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The time from the beginning of the simulation to `time`.
    pub(crate) fn since_start(&self, time: SystemTime) -> Option<Duration> {
        time.duration_since(SystemTime::UNIX_EPOCH + START).ok()
    }

    fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + START + self.elapsed()
    }
}

impl modelarts_ext::clock::Clock for SimulatedClock {
    fn now(&self) -> SystemTime {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

impl modelarts_emulator::clock::Clock for SimulatedClock {
    fn now(&self) -> SystemTime {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> modelarts_emulator::clock::Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}
