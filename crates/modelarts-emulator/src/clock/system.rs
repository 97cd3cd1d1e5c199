//! The clock as a trait, and the clock of the system.

use std::{
    fmt,
    pin::Pin,
    time::{Duration, SystemTime},
};

/// The future of [`Clock::sleep`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A source of time for everything in the emulator that waits, expires or is dated.
///
/// One wait does not use it: the few milliseconds between two checks for the end of a process
/// group, because processes run in real time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> SystemTime;
    /// Completes after `duration` on this clock; at once if `duration` is zero.
    fn sleep(&self, duration: Duration) -> Sleep;
    /// Sleeps like [`sleep`](Self::sleep), for a time limit. A clock that counts its sleepers may
    /// leave limits out.
    fn limit(&self, duration: Duration) -> Sleep {
        self.sleep(duration)
    }
    /// Moves the clock forward. Returns `false` if this clock cannot be moved.
    fn leap(&self, _duration: Duration) -> bool {
        false
    }
    /// Time at which the next sleeper is due, on a clock that can be moved.
    /// [`Emulator::advance`](crate::emulator::Emulator::advance) stops there, so that everything
    /// happens at its own time.
    fn next_wake(&self) -> Option<SystemTime> {
        None
    }
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        if duration.is_zero() {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(tokio::time::sleep(duration))
    }
}
