//! Clock of the emulator, the source of its delays, time limits and dates.
//!
//! [`SystemClock`], the default, follows the system time. A [`ManualClock`] changes only when a
//! test advances it, so tests need not wait for simulated delays.
//! [`Emulator::advance`](crate::emulator::Emulator::advance) stops at the time of each due timer,
//! so that each is processed at its own time. [`ManualClock::advance`] moves the time in one step.
//! Processes of jobs run in real time.
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
pub(crate) mod system;
pub(crate) mod timestamp;
pub(crate) mod timing;

pub use crate::clock::{
    manual::ManualClock,
    system::{Clock, Sleep, SystemClock},
};
