//! Clock interface, and the clock of the operating system.

use std::{
    fmt,
    pin::Pin,
    time::{Duration, SystemTime},
};

/// Future returned by [`Clock::sleep`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Source of time for all waits, expirations and dates of the emulator.
///
/// One wait does not use it: the few milliseconds between two checks for the end of a process
/// group, because processes run in real time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
    /// Completes after `duration` on this clock, or immediately if `duration` is zero.
    fn sleep(&self, duration: Duration) -> Sleep;
    /// Sleeps like [`sleep`](Self::sleep), but for a time limit. A clock that counts its sleepers
    /// may exclude these.
    fn limit(&self, duration: Duration) -> Sleep {
        self.sleep(duration)
    }
    /// Moves the clock forward. Returns `false` if this clock cannot be moved.
    fn leap(&self, _duration: Duration) -> bool {
        false
    }
    /// Returns the time at which the next sleeper is due, if this clock can be moved.
    /// [`Emulator::advance`](crate::emulator::Emulator::advance) stops at this time, so that each
    /// action happens when it is due.
    fn next_wake(&self) -> Option<SystemTime> {
        None
    }
}

/// Clock of the operating system.
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
