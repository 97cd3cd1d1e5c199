//! Clock of a client, the source of time for signatures, retries, waits and time limits.
//!
//! A client reads the time and sleeps with one [`Clock`], by default [`SystemClock`]. With another
//! clock, tests need not wait. Only the time limit for opening a connection does not use the clock.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! use std::time::{Duration, Instant, SystemTime};
//! use modelarts_ext::{api::BoxFuture, clock::Clock};
//!
//! /// A clock that runs ten times as fast, so that pauses are short.
//! #[derive(Debug)]
//! struct FastClock(SystemTime, Instant);
//!
//! impl Clock for FastClock {
//!     fn now(&self) -> SystemTime {
//!         self.0 + self.1.elapsed() * 10
//!     }
//!
//!     fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
//!         Box::pin(tokio::time::sleep(duration / 10))
//!     }
//!
//!     fn requires_tokio(&self) -> bool {
//!         true
//!     }
//! }
//!
//! # fn main() -> Result { run(async |emulator, _| {
//! let client = ClientBuilder::from_vars(emulator.vars())
//!     .clock(FastClock(SystemTime::now(), Instant::now()))
//!     .build()?;
//! # let job = hello(&emulator, &client, "clock")?.submit().await?;
//! let end = job.wait().timeout(Duration::from_secs(24 * 3600)).await?;
//! # assert!(end.is_completed());
//! # Ok(()) }) }
//! ```

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_api::BoxFuture;

/// Maximum assumed difference between the local clock and the times of jobs, for comparisons.
pub(crate) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Clock of a client, used for signatures, expiry, retries, waits and time limits.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> SystemTime;

    /// Returns a future that completes after `duration`, measured by this clock.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Returns `true` if [`sleep`](Self::sleep) needs a tokio runtime. Outside of a runtime, calls
    /// then return an error instead of panicking. Default: `false`.
    fn requires_tokio(&self) -> bool {
        false
    }

    /// Returns the maximum pause between two requests, by which the pauses of retries, polls and
    /// rate limits are shortened. [`ClientBuilder::max_pause`](crate::ClientBuilder::max_pause)
    /// overrides it. Default: no maximum.
    fn max_pause(&self) -> Duration {
        Duration::MAX
    }
}

/// Returns a future that completes after a pause between two requests: after `duration`, or the
/// [maximum](Clock::max_pause) if that is shorter.
pub(crate) fn pause(clock: &dyn Clock, duration: Duration) -> BoxFuture<'static, ()> {
    clock.sleep(duration.min(clock.max_pause()))
}

/// Clock with a maximum pause, for tests.
#[derive(Debug)]
pub(crate) struct ShortPauses {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) max_pause: Duration,
}

impl Clock for ShortPauses {
    fn now(&self) -> SystemTime {
        self.clock.now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.clock.sleep(duration)
    }

    fn requires_tokio(&self) -> bool {
        self.clock.requires_tokio()
    }

    fn max_pause(&self) -> Duration {
        self.max_pause
    }
}

/// System clock of the machine. [`sleep`](Clock::sleep) uses tokio, and requires a tokio runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // The timer is created on the first poll, so a call that fails earlier needs no runtime.
        Box::pin(async move { tokio::time::sleep(duration).await })
    }

    fn requires_tokio(&self) -> bool {
        true
    }
}

/// Returns the time elapsed since `start`, or zero if the clock was set back.
pub(crate) fn since(clock: &dyn Clock, start: SystemTime) -> Duration {
    clock.now().duration_since(start).unwrap_or_default()
}
