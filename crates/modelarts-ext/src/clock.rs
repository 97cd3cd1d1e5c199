//! Clock of a client, the source of time for signatures, retries, waits and time limits.
//!
//! A client reads the time and sleeps with one [`Clock`], by default [`SystemClock`]. With another
//! clock, tests need not wait. Only the limit for opening a connection does not follow it.
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
    time::{Duration, SystemTime},
};

use modelarts_api::BoxFuture;

/// Assumed maximum difference of clocks, for comparing times of jobs with the local clock.
pub(crate) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Maximum clock skew that the gateway accepts.
pub(crate) const GATEWAY_CLOCK_SKEW: Duration = Duration::from_secs(15 * 60);

/// The clock of a client, used for signatures, expiry, retries, waits and time limits.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> SystemTime;

    /// Returns a future that completes after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Returns `true` if [`sleep`](Self::sleep) needs a tokio runtime. Calls then fail with an
    /// error where there is none, instead of a panic of tokio. Default: `false`.
    fn requires_tokio(&self) -> bool {
        false
    }
}

/// The clock of the machine. It measures time with tokio, and sleeps only in a tokio runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // A call that fails at once, such as one without a runtime, needs no timer.
        Box::pin(async move { tokio::time::sleep(duration).await })
    }

    fn requires_tokio(&self) -> bool {
        true
    }
}

/// Returns the time since `start`; zero if the clock was set back.
pub(crate) fn since(clock: &dyn Clock, start: SystemTime) -> Duration {
    clock.now().duration_since(start).unwrap_or_default()
}
