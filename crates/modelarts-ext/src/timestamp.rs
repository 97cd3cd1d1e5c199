//! `Timestamp`, the type of the times that this crate returns and takes.

use std::{
    cmp::Ordering,
    fmt,
    ops::{Add, Sub},
    str::FromStr,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::Error;

/// Point in time, displayed and serialized as RFC 3339 in UTC, such as `2026-01-15T08:30:45Z`.
///
/// Methods that take a time accept a `Timestamp` or a [`SystemTime`], and these can be compared.
/// The features `jiff` and `chrono` add conversions from and to the types of these crates.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use modelarts_ext::Timestamp;
///
/// let start: Timestamp = "2026-01-15T16:30:45+08:00".parse()?;
/// assert_eq!(start.to_string(), "2026-01-15T08:30:45Z");
/// let end = start + Duration::from_millis(1500);
/// assert_eq!(format!("{end:?}"), "2026-01-15T08:30:46.5Z");
/// assert_eq!(end.duration_since(start), Duration::from_millis(1500));
/// assert!(start < SystemTime::now());
/// assert_eq!(SystemTime::from(start), start);
/// # Ok::<(), modelarts_ext::Error>(())
/// ```
///
/// The range is the years -9999 to 9999, with nanosecond precision. A result outside this range
/// becomes [`MIN`](Self::MIN) or [`MAX`](Self::MAX), so no operation panics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Earliest time, in the year -9999.
    pub const MIN: Self = Self(jiff::Timestamp::MIN);
    /// Latest time, on December 30 of the year 9999.
    pub const MAX: Self = Self(jiff::Timestamp::MAX);
    /// Start of the year 1970, UTC.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// Creates a time from milliseconds since the Unix epoch, the unit of the service.
    #[must_use]
    pub fn from_epoch_millis(millis: i64) -> Self {
        jiff::Timestamp::from_millisecond(millis).map_or(Self::limit(millis < 0), Self)
    }

    /// Returns the milliseconds since the Unix epoch, rounded towards zero.
    #[must_use]
    pub fn as_epoch_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the time from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub fn duration_since(self, earlier: impl Into<Self>) -> Duration {
        let duration = self.0.duration_since(earlier.into().0);
        Duration::try_from(duration).unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    pub(crate) fn floor_to_second(self) -> Self {
        let fraction = self.0.as_nanosecond().rem_euclid(1_000_000_000);
        self - Duration::from_nanos(u64::try_from(fraction).unwrap_or_default())
    }

    fn limit(is_early: bool) -> Self {
        if is_early { Self::MIN } else { Self::MAX }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text).ok_or_else(|| {
            Error::invalid(format!(
                "the time {text:?} is wrong; it must be in RFC 3339, such as 2026-01-15T08:30:45Z"
            ))
        })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.0.checked_add(duration).map_or(Self::MAX, Self)
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        self.0.checked_sub(duration).map_or(Self::MIN, Self)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let is_early = time < SystemTime::UNIX_EPOCH;
        jiff::Timestamp::try_from(time).map_or(Self::limit(is_early), Self)
    }
}

/// Converts a time. A time that the platform cannot represent becomes the Unix epoch.
impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        Self::try_from(time.0).unwrap_or(Self::UNIX_EPOCH)
    }
}

impl PartialEq<SystemTime> for Timestamp {
    fn eq(&self, other: &SystemTime) -> bool {
        SystemTime::from(*self) == *other
    }
}

impl PartialEq<Timestamp> for SystemTime {
    fn eq(&self, other: &Timestamp) -> bool {
        *self == Self::from(*other)
    }
}

impl PartialOrd<SystemTime> for Timestamp {
    fn partial_cmp(&self, other: &SystemTime) -> Option<Ordering> {
        SystemTime::from(*self).partial_cmp(other)
    }
}

impl PartialOrd<Timestamp> for SystemTime {
    fn partial_cmp(&self, other: &Timestamp) -> Option<Ordering> {
        self.partial_cmp(&Self::from(*other))
    }
}

#[cfg(feature = "jiff")]
impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        Self(time)
    }
}

#[cfg(feature = "jiff")]
impl From<jiff::ZonedDateTime> for Timestamp {
    fn from(time: jiff::ZonedDateTime) -> Self {
        Self(time.timestamp())
    }
}

#[cfg(feature = "jiff")]
impl From<Timestamp> for jiff::Timestamp {
    fn from(time: Timestamp) -> Self {
        time.0
    }
}

/// Converts a time. A leap second becomes the second after it.
#[cfg(feature = "chrono")]
impl<Z: chrono::TimeZone> From<chrono::DateTime<Z>> for Timestamp {
    fn from(time: chrono::DateTime<Z>) -> Self {
        let seconds = time.timestamp();
        let nanos = Duration::from_nanos(time.timestamp_subsec_nanos().into());
        jiff::Timestamp::from_second(seconds).map_or(Self::limit(seconds < 0), Self) + nanos
    }
}

#[cfg(feature = "chrono")]
impl From<Timestamp> for chrono::DateTime<chrono::Utc> {
    fn from(time: Timestamp) -> Self {
        // Nanoseconds since the previous whole second are never negative, also before the epoch.
        let second = time.floor_to_second();
        let nanos = time.duration_since(second).subsec_nanos();
        // chrono represents 262,000 years, so the time is always in its range.
        Self::from_timestamp(second.0.as_second(), nanos).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEARS: Duration = Duration::from_secs(20_000 * 366 * 24 * 3600);

    #[test]
    fn times_are_text_in_utc() {
        let time: Timestamp = "2026-01-15T16:30:45.250+08:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-01-15T08:30:45.25Z");
        assert_eq!(format!("{:?}", Some(time)), "Some(2026-01-15T08:30:45.25Z)");
        assert_eq!(format!("{time:>25}|").len(), 26);
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, "\"2026-01-15T08:30:45.25Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), time);
        for wrong in ["", "soon", "2026-01-15", "2026-01-15T08:30:45"] {
            assert_eq!(
                wrong.parse::<Timestamp>().unwrap_err().to_string(),
                format!(
                    "the time {wrong:?} is wrong; it must be in RFC 3339, such as \
                     2026-01-15T08:30:45Z"
                )
            );
        }
        let error = serde_json::from_str::<Timestamp>("\"soon\"").unwrap_err();
        assert!(error.to_string().contains("must be in RFC 3339"), "{error}");
    }

    #[test]
    fn times_convert_to_system_time_and_back() {
        for nanos in [0, 1, 1_768_465_845_123_456_789_u64] {
            let distance = Duration::from_nanos(nanos);
            let epoch = SystemTime::UNIX_EPOCH;
            for time in [epoch + distance, epoch - distance] {
                let converted = Timestamp::from(time);
                assert_eq!(SystemTime::from(converted), time);
                assert_eq!(converted, time);
                assert_eq!(time, converted);
                assert!(converted < time + distance + Duration::from_nanos(1));
                assert!(time > converted - Duration::from_nanos(1));
            }
        }
        assert_eq!(
            Timestamp::from_epoch_millis(1_768_465_845_250).to_string(),
            "2026-01-15T08:30:45.25Z"
        );
        for millis in [0, -1, 1_768_465_845_250, -62_135_596_800_001] {
            assert_eq!(Timestamp::from_epoch_millis(millis).as_epoch_millis(), millis);
        }
    }

    #[test]
    fn far_times_are_limited() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(Timestamp::from(epoch + YEARS), Timestamp::MAX);
        assert_eq!(Timestamp::from(epoch - YEARS), Timestamp::MIN);
        assert_eq!(Timestamp::from_epoch_millis(i64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_epoch_millis(i64::MIN), Timestamp::MIN);
        assert_eq!(Timestamp::UNIX_EPOCH + Duration::MAX, Timestamp::MAX);
        assert_eq!(Timestamp::UNIX_EPOCH - Duration::MAX, Timestamp::MIN);
        assert_eq!(Timestamp::MIN.floor_to_second(), Timestamp::MIN);
        // Comparisons are exact.
        assert!(Timestamp::MAX < epoch + YEARS);
        assert!(epoch - YEARS < Timestamp::MIN);
        for limit in [Timestamp::MIN, Timestamp::MAX] {
            assert_eq!(limit.to_string().parse::<Timestamp>().unwrap(), limit);
            assert_eq!(Timestamp::from(SystemTime::from(limit)), limit);
        }
    }

    #[test]
    fn durations_between_times_are_never_negative() {
        let time = Timestamp::UNIX_EPOCH;
        let later = time + Duration::from_millis(1500);
        assert_eq!(later.duration_since(time), Duration::from_millis(1500));
        assert_eq!(later.duration_since(SystemTime::UNIX_EPOCH), later.duration_since(time));
        assert_eq!(time.duration_since(later), Duration::ZERO);
        assert_eq!(later - Duration::from_millis(1500), time);
        assert_eq!(later.floor_to_second(), time + Duration::from_secs(1));
        let before = time - Duration::from_millis(1500);
        assert_eq!(before.floor_to_second(), time - Duration::from_secs(2));
    }
}
