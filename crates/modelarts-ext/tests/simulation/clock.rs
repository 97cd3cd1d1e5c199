//! Clock of a simulation.

use std::time::{Duration, SystemTime};

use modelarts_ext::api::BoxFuture;
use tokio::time::Instant;

/// Start of the simulated time, 2026-01-15T08:30:00Z.
const START: Duration = Duration::from_secs(1_768_465_800);

/// Simulated clock, which client and emulator share. It uses the paused clock of Tokio, which
/// advances to the next timer when all tasks are idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedClock {
    start: Instant,
}

impl SimulatedClock {
    /// Creates a clock that starts at the current time of Tokio.
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Returns the time since the start of the simulation.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the time from the start of the simulation to `time`.
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
