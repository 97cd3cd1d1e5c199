//! Clock of the emulator, the source of its delays, time limits and dates.
//!
//! [`SystemClock`], the default, follows the system time. A [`ManualClock`] changes only when a
//! test advances it, so tests need not wait for simulated delays.
//! [`Emulator::advance`](crate::emulator::Emulator::advance) stops at the time of each due timer,
//! so that each timer is processed at its own time. [`ManualClock::advance`] moves the time in one
//! step. Processes of jobs run in real time.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime};
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::clock::{Clock, ManualClock};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
//! let clock = Arc::new(ManualClock::at(start));
//! let emulator = Emulator::builder().clock(clock.clone()).start().await?;
//! let day = Duration::from_secs(24 * 60 * 60);
//! assert!(emulator.advance(day).await);
//! assert_eq!(clock.now(), start + day);
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub(crate) mod idle;
pub(crate) mod manual;
pub(crate) mod timestamp;
pub(crate) mod timing;

use std::{
    fmt,
    pin::Pin,
    time::{Duration, SystemTime},
};

pub use crate::clock::manual::ManualClock;

/// Future returned by [`Clock::sleep`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Source of time for the delays, time limits, dates and expirations of the API.
///
/// Connections, processes, Slurm, the shutdown, and the dates of OBS objects and of OBS signatures
/// follow the system time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
    /// Returns a future that completes after `duration`, or immediately if `duration` is zero.
    fn sleep(&self, duration: Duration) -> Sleep;
    /// Sleeps for a time limit. A clock that counts its sleepers may exclude time limits.
    fn limit(&self, duration: Duration) -> Sleep {
        self.sleep(duration)
    }
    /// Moves the clock forward. Returns `false` if this clock cannot be moved.
    fn leap(&self, _duration: Duration) -> bool {
        false
    }
    /// Returns the time at which the next sleeper is due. Returns `None` if there is none, or if
    /// this clock cannot be moved. [`Emulator::advance`](crate::emulator::Emulator::advance) stops
    /// at this time.
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
