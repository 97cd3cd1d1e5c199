//! The clock as a trait, and the clock of the system.

use std::{
    fmt,
    pin::Pin,
    time::{Duration, SystemTime},
};

/// The future of [`Clock::sleep`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time and waits. Everything in the emulator that waits, expires or is dated asks it.
///
/// One thing does not: the few milliseconds between two looks at whether a process group has gone,
/// because the processes live in real time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> SystemTime;
    /// Ready after `duration` has passed on this clock; at once if `duration` is zero.
    fn sleep(&self, duration: Duration) -> Sleep;
    /// The same for a limit that something else should keep. A clock that tells how many sleep on
    /// it need not count it.
    fn limit(&self, duration: Duration) -> Sleep {
        self.sleep(duration)
    }
    /// Moves the clock forward, if it is one that can be moved. Whether it was.
    fn leap(&self, _duration: Duration) -> bool {
        false
    }
    /// When the next of those who sleep on this clock is to be woken, if it is a clock that can be
    /// moved and knows. [`Emulator::advance`](crate::emulator::Emulator::advance) stops there on
    /// its way, so that everything happens at its own time.
    fn next_wake(&self) -> Option<SystemTime> {
        None
    }
}

/// The clock on the wall.
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
