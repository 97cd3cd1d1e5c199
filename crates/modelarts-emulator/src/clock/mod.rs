//! The clock that all delays, limits and dates of the emulator follow, so that tests never sleep.
//!
//! [`SystemClock`] is the default. With a [`ManualClock`] time stands still until the test moves it,
//! and everything that is due on the way happens at its own time.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime};
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::clock::{Clock, ManualClock};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
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
pub(crate) mod timing;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

/// What [`Clock::sleep`] returns.
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
    /// moved and knows. [`Emulator::advance`](crate::emulator::Emulator::advance) stops there on its way, so
    /// that everything happens at its own time.
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

/// A clock that stands still until it is [advanced](ManualClock::advance).
#[derive(Debug)]
pub struct ManualClock(Arc<Mutex<Manual>>);

#[derive(Debug)]
struct Manual {
    now: SystemTime,
    /// By the time they sleep until, then in the order in which they fell asleep.
    sleepers: BTreeMap<(SystemTime, u64), Sleeper>,
    numbers: u64,
}

#[derive(Debug)]
struct Sleeper {
    wake: oneshot::Sender<()>,
    is_limit: bool,
}

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn at(now: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(Manual {
            now,
            sleepers: BTreeMap::new(),
            numbers: 0,
        })))
    }

    /// How many are asleep on this clock, limits not counted. A test advances it when somebody is, so that no sleep
    /// begins after the time that it waits for.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        let manual = self.0.lock();
        let sleepers = manual.sleepers.values();
        sleepers.filter(|sleeper| !sleeper.is_limit).count()
    }

    /// Moves the clock forward in one leap and wakes everyone whose time has come. What they do
    /// then is dated with the time after the leap;
    /// [`Emulator::advance`](crate::emulator::Emulator::advance) goes step by step instead.
    pub fn advance(&self, duration: Duration) {
        let mut manual = self.0.lock();
        let now = manual.now + duration;
        manual.now = now;
        let waiting = manual.sleepers.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut manual.sleepers, waiting);
        drop(manual);
        for sleeper in due.into_values() {
            // A sleeper that has been dropped in this moment no longer cares.
            let _ = sleeper.wake.send(());
        }
    }

    fn asleep(&self, duration: Duration, is_limit: bool) -> Sleep {
        if duration.is_zero() {
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        let mut manual = self.0.lock();
        // A moment beyond the end of time never comes.
        let Some(at) = manual.now.checked_add(duration) else {
            return Box::pin(std::future::pending());
        };
        manual.numbers += 1;
        let key = (at, manual.numbers);
        manual.sleepers.insert(key, Sleeper { wake, is_limit });
        drop(manual);
        let bed = PendingSleep {
            clock: Arc::downgrade(&self.0),
            key,
        };
        Box::pin(async move {
            let _bed = bed;
            if woken.await.is_err() {
                // The clock is gone: no time will ever pass again.
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.0.lock().now
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        self.asleep(duration, false)
    }

    fn limit(&self, duration: Duration) -> Sleep {
        self.asleep(duration, true)
    }

    fn leap(&self, duration: Duration) -> bool {
        self.advance(duration);
        true
    }

    fn next_wake(&self) -> Option<SystemTime> {
        let manual = self.0.lock();
        manual.sleepers.first_key_value().map(|((at, _), _)| *at)
    }
}

/// Left when the sleep ends or is dropped: the clock forgets the sleeper.
struct PendingSleep {
    clock: Weak<Mutex<Manual>>,
    key: (SystemTime, u64),
}

impl Drop for PendingSleep {
    fn drop(&mut self) {
        if let Some(clock) = self.clock.upgrade() {
            clock.lock().sleepers.remove(&self.key);
        }
    }
}

/// A point in time with the service's precision: whole milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Timestamp(i64);

/// The service reports event times in this zone, whatever the region (checklist.md, seed 001).
const REPORTED_OFFSET: i8 = 8;

impl Timestamp {
    /// The present moment on `clock`.
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        clock.now().into()
    }

    pub(crate) const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub(crate) const fn millis(self) -> i64 {
        self.0
    }

    /// Seconds since the epoch, cut off.
    pub(crate) const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The same moment with its milliseconds cut off, as the service does nearly everywhere.
    pub(crate) const fn whole_second(self) -> Self {
        Self(self.seconds() * 1000)
    }

    /// Seconds from `earlier` to here, never negative.
    pub(crate) fn seconds_since(self, earlier: Self) -> f64 {
        self.since(earlier).as_secs_f64()
    }

    /// The time from `earlier` to here, never negative.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// `2022-11-26T16:01:36+08:00`, milliseconds cut off.
    pub(crate) fn rfc3339(self) -> String {
        self.timestamp()
            .display_with_offset(Offset::constant(REPORTED_OFFSET))
            .to_string()
    }

    /// This much later.
    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0 + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2))
    }

    /// `2026-01-15T08:30:45.123000Z`, as IAM writes times.
    pub(crate) fn utc_micros(self) -> String {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// `Thu, 15 Jan 2026 08:30:45 GMT`, as HTTP writes times.
    pub(crate) fn http(self) -> String {
        let time = self.timestamp().to_zoned(TimeZone::UTC);
        time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// `20260115T083045Z`, the form of the header `X-Sdk-Date`.
    pub(crate) fn compact(self) -> String {
        self.timestamp()
            .to_zoned(TimeZone::UTC)
            .strftime("%Y%m%dT%H%M%SZ")
            .to_string()
    }

    /// Reads the form of the header `X-Sdk-Date`, nothing else.
    pub(crate) fn parse_compact(text: &str) -> Option<Self> {
        if text.len() != "20260115T083045Z".len() {
            return None;
        }
        let civil = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
        let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
        Some(Self(zoned.timestamp().as_millisecond()))
    }

    /// Reads a moment as the service's searches take it: digits are milliseconds, else RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(moment) = Self::parse_millis(text) {
            return Some(moment);
        }
        let timestamp: jiff::Timestamp = text.parse().ok()?;
        Some(Self(timestamp.as_millisecond()))
    }

    /// Reads milliseconds written in digits, up to the year 9999.
    pub(crate) fn parse_millis(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let millis: i64 = digits.then(|| text.parse().ok())??;
        Self::in_range(millis)
    }

    /// Nothing beyond the years -9999 and 9999.
    pub(crate) fn in_range(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok()?;
        Some(Self(millis))
    }

    fn timestamp(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.whole_second().0)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let millis = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |m| -m),
        };
        Self(millis)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(moment: Timestamp) -> Self {
        let distance = Duration::from_millis(moment.0.unsigned_abs());
        match moment.0 {
            0.. => UNIX_EPOCH + distance,
            _ => UNIX_EPOCH - distance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_to_seconds_and_reported_in_the_services_zone() {
        // The pair of the documented events example.
        let asked = Timestamp::parse("1669449696964").unwrap();
        assert_eq!(asked.rfc3339(), "2022-11-26T16:01:36+08:00");
        assert_eq!(
            Timestamp::parse("2022-11-26T16:01:36+08:00").unwrap(),
            asked.whole_second()
        );
        assert_eq!(asked.compact(), "20221126T080136Z");
        assert_eq!(asked.http(), "Sat, 26 Nov 2022 08:01:36 GMT");
        assert_eq!(
            Timestamp::parse_compact("20221126T080136Z").unwrap(),
            asked.whole_second()
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "yesterday", "99999999999999999999", "-5", "2022-11-26"] {
            assert_eq!(Timestamp::parse(text), None, "{text:?}");
        }
        for text in [
            "20221126T080136",
            "20221326T080136Z",
            "2022-11-26T08:01Z",
            "",
        ] {
            assert_eq!(Timestamp::parse_compact(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_those_whose_time_has_come() {
        let clock = ManualClock::at(UNIX_EPOCH);
        let soon = clock.sleep(Duration::from_secs(1));
        let mut later = clock.sleep(Duration::from_secs(10));
        assert_eq!(clock.sleepers(), 2);
        clock.advance(Duration::from_secs(5));
        soon.await;
        assert_eq!(clock.sleepers(), 1);
        assert!(futures::poll!(&mut later).is_pending());
        clock.advance(Duration::from_secs(5));
        later.await;
        assert_eq!(clock.now(), UNIX_EPOCH + Duration::from_secs(10));
    }

    #[test]
    fn a_manual_clock_forgets_who_no_longer_sleeps() {
        let clock = ManualClock::at(UNIX_EPOCH);
        let short = clock.sleep(Duration::from_secs(1));
        let _long = clock.sleep(Duration::from_secs(2));
        assert_eq!(clock.next_wake(), Some(UNIX_EPOCH + Duration::from_secs(1)));
        drop(short);
        assert_eq!(clock.sleepers(), 1);
        assert_eq!(clock.next_wake(), Some(UNIX_EPOCH + Duration::from_secs(2)));
        assert!(futures::FutureExt::now_or_never(clock.sleep(Duration::MAX)).is_none());
        assert_eq!(clock.sleepers(), 1);
    }

    #[tokio::test]
    async fn a_limit_is_woken_like_a_sleeper_and_not_counted_as_one() {
        let clock = ManualClock::at(UNIX_EPOCH);
        let limit = clock.limit(Duration::from_secs(2));
        assert_eq!(clock.sleepers(), 0);
        clock.advance(Duration::from_secs(2));
        limit.await;
    }
}
