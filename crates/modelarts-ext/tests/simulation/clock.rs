//! Clocks of a simulation: that of the service, and that of the client, which differs from it.

use std::sync::mpsc;

use tokio::time::Instant;

use crate::prelude::*;

/// Start of the simulated time, 2026-01-15T08:30:00Z.
const START: Duration = Duration::from_secs(1_768_465_800);

/// Clock of the service. It uses the paused clock of Tokio, which advances to the next timer when
/// all tasks are idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceClock {
    start: Instant,
}

impl ServiceClock {
    pub(crate) fn new() -> Self {
        let start = Instant::now();
        Self { start }
    }

    /// Returns the time since the start of the simulation.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the time from the start of the simulation to `time`.
    pub(crate) fn since_start(&self, time: SystemTime) -> Option<Duration> {
        time.duration_since(SystemTime::UNIX_EPOCH + START).ok()
    }

    pub(crate) fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + START + self.elapsed()
    }
}

impl modelarts_emulator::clock::Clock for ServiceClock {
    fn now(&self) -> SystemTime {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> modelarts_emulator::clock::Sleep {
        Box::pin(sleep(duration))
    }
}

/// Skew of the client: the time from the start of the simulation from which it applies, and the
/// seconds by which the client is ahead of the service.
pub(crate) type Skew = (Duration, i64);

/// Clock of the client. It is ahead of the service or behind it, and jumps when the skew changes.
/// Its sleeps last as long as those of the service.
#[derive(Clone, Debug)]
pub(crate) struct ClientClock {
    service: ServiceClock,
    skews: Arc<[Skew]>,
}

impl ClientClock {
    pub(crate) fn new(service: ServiceClock, skews: &[Skew]) -> Self {
        let skews = skews.into();
        Self { service, skews }
    }
}

impl modelarts_ext::clock::Clock for ClientClock {
    fn now(&self) -> SystemTime {
        let (now, elapsed) = (self.service.time(), self.service.elapsed());
        let skews = self.skews.iter().take_while(|(from, _)| *from <= elapsed);
        let ahead = skews.last().map_or(0, |(_, ahead)| *ahead);
        let (ahead, behind) = (ahead.max(0), ahead.min(0));
        now + Duration::from_secs(ahead.unsigned_abs()) - Duration::from_secs(behind.unsigned_abs())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(sleep(duration))
    }
}

/// Keeps the paused clock from advancing while another thread works, until the result is dropped.
/// Tokio does not advance the clock while a blocking task runs.
pub(crate) fn hold() -> mpsc::Sender<()> {
    let (end, ended) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || ended.recv());
    end
}
