//! Points in time, and their formats in requests and responses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{
    civil::DateTime,
    tz::{Offset, TimeZone},
};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// Point in time with the service's precision: whole milliseconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Timestamp(i64);

/// Offset of reported event times from UTC, in hours. The service uses it in all regions.
const REPORTED_OFFSET: i8 = 8;

impl Timestamp {
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        clock.now().into()
    }

    pub(crate) const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub(crate) const fn millis(self) -> i64 {
        self.0
    }

    pub(crate) const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns the time without milliseconds, the precision of nearly all times in responses.
    pub(crate) const fn whole_second(self) -> Self {
        Self(self.seconds() * 1000)
    }

    pub(crate) fn seconds_since(self, earlier: Self) -> f64 {
        self.since(earlier).as_secs_f64()
    }

    /// Returns the duration since `earlier`, or zero if `earlier` is the later time.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// Formats the time as `2022-11-26T16:01:36+08:00`, truncated to whole seconds.
    pub(crate) fn rfc3339(self) -> String {
        self.timestamp().display_with_offset(Offset::constant(REPORTED_OFFSET)).to_string()
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0 + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2))
    }

    /// Formats the time as `2026-01-15T08:30:45.123000Z`, the format of IAM.
    pub(crate) fn utc_micros(self) -> String {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// Formats the time as `Thu, 15 Jan 2026 08:30:45 GMT`, the format of HTTP.
    pub(crate) fn http(self) -> String {
        let time = self.timestamp();
        time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// Formats the time as `20260115T083045Z`, the format of the header `X-Sdk-Date`.
    pub(crate) fn compact(self) -> String {
        self.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    pub(crate) fn parse_compact(text: &str) -> Option<Self> {
        if text.len() != "20260115T083045Z".len() {
            return None;
        }
        let civil = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
        let zoned = civil.to_zoned_datetime(TimeZone::UTC).ok()?;
        Some(Self(zoned.timestamp().as_millisecond()))
    }

    /// Parses a time of a search: digits are milliseconds, any other text is RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::parse_millis(text).or_else(|| {
            let timestamp: jiff::Timestamp = text.parse().ok()?;
            Some(Self(timestamp.as_millisecond()))
        })
    }

    /// Parses a string of digits as milliseconds since the epoch, up to the year 9999.
    pub(crate) fn parse_millis(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let millis: i64 = digits.then(|| text.parse().ok())??;
        Self::in_range(millis)
    }

    /// Converts milliseconds since the epoch. Returns `None` outside of the years -9999 to 9999.
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
    fn from(timestamp: Timestamp) -> Self {
        let distance = Duration::from_millis(timestamp.0.unsigned_abs());
        match timestamp.0 {
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
        // Both times are from the documented example of events (SOURCES F2).
        let asked = Timestamp::parse("1669449696964").unwrap();
        assert_eq!(asked.rfc3339(), "2022-11-26T16:01:36+08:00");
        assert_eq!(Timestamp::parse("2022-11-26T16:01:36+08:00").unwrap(), asked.whole_second());
        assert_eq!(asked.compact(), "20221126T080136Z");
        assert_eq!(asked.http(), "Sat, 26 Nov 2022 08:01:36 GMT");
        assert_eq!(Timestamp::parse_compact("20221126T080136Z").unwrap(), asked.whole_second());
    }

    #[test]
    fn invalid_times_are_refused() {
        for text in ["", "yesterday", "99999999999999999999", "-5", "2022-11-26"] {
            assert_eq!(Timestamp::parse(text), None, "{text:?}");
        }
        for text in ["20221126T080136", "20221326T080136Z", "2022-11-26T08:01Z", ""] {
            assert_eq!(Timestamp::parse_compact(text), None, "{text:?}");
        }
    }
}
