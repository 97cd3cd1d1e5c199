//! Ranges of creation times.

use std::time::{Duration, SystemTime};

use jiff::{Span, SpanRelativeTo, civil, tz::TimeZone};

use crate::display::parse_time;

/// Maximum length of a time range that the service searches.
const MAX_RANGE: Duration = Duration::from_secs(31 * 24 * 3_600);
/// Tolerated difference between the clocks of this machine and of the service.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

const RULE: &str = "must be a time span such as 7d or 12h, a day such as 2026-01-15, or a range \
                    such as 2026-01-01..2026-01-31";
const LENGTH_RULE: &str = "must be a range of at most 31 days, which is the most that the service \
                           searches; use one such as 2026-01-01..2026-01-31 for earlier jobs";

/// Returns the first and the last time of a range, both inclusive. The default time zone of days
/// and times is that of this machine.
pub(super) fn range(text: &str, now: SystemTime) -> Result<(SystemTime, SystemTime), &'static str> {
    let latest = now + MAX_CLOCK_SKEW;
    let (start, end) = if let Some((from, to)) = text.split_once("..") {
        let (start, _) = moment(from)?;
        let end = match to {
            "" => latest,
            to => moment(to)?.1,
        };
        (start, end)
    } else if let Ok(span) = text.parse::<Span>() {
        let span = span.to_duration(SpanRelativeTo::days_are_24_hours());
        let span = span.map_err(|_| RULE)?;
        let span = Duration::try_from(span).map_err(|_| RULE)?;
        if span > MAX_RANGE {
            return Err(LENGTH_RULE);
        }
        let start = now.checked_sub(span).ok_or(RULE)?;
        (start, latest.min(start + MAX_RANGE))
    } else {
        moment(text)?
    };
    let length = end.duration_since(start);
    let length = length.map_err(|_| "must be a range whose end is not before its start")?;
    if length > MAX_RANGE {
        return Err(LENGTH_RULE);
    }
    Ok((start, end))
}

/// Returns the first and the last millisecond of a day. For a time, returns the time twice.
fn moment(text: &str) -> Result<(SystemTime, SystemTime), &'static str> {
    if let Ok(day) = text.parse::<civil::Date>()
        && !text.contains(['T', ' ', 't'])
    {
        let start = |day: civil::Date| {
            let start = day.to_zoned_datetime(TimeZone::system());
            start.and_then(SystemTime::try_from).map_err(|_| RULE)
        };
        let next = start(day.tomorrow().map_err(|_| RULE)?)?;
        let last = next.checked_sub(Duration::from_millis(1));
        return Ok((start(day)?, last.ok_or(RULE)?));
    }
    let time = parse_time(text).map_err(|_| RULE)?;
    Ok((time, time))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn time(text: &str) -> SystemTime {
        text.parse::<Timestamp>().unwrap().try_into().unwrap()
    }

    fn found(text: &str) -> Result<(SystemTime, SystemTime), &'static str> {
        range(text, time("2026-02-10T12:00:00Z"))
    }

    #[test]
    fn a_span_is_the_time_before_now() {
        let expected = |start, end| Ok((time(start), time(end)));
        let after = "2026-02-10T12:01:00Z";
        assert_eq!(found("12h"), expected("2026-02-10T00:00:00Z", after));
        assert_eq!(found("7d"), expected("2026-02-03T12:00:00Z", after));
        // The service searches 31 days, so a range of 31 days ends now.
        let longest = expected("2026-01-10T12:00:00Z", "2026-02-10T12:00:00Z");
        assert_eq!(found("31d"), longest);
        assert_eq!(found("32d"), Err(LENGTH_RULE));
        assert_eq!(found("-1d"), Err(RULE));
    }

    #[test]
    fn a_range_has_both_ends() {
        let times = "2026-01-01T00:00:00Z..2026-01-31T23:59:59Z";
        let expected = (time("2026-01-01T00:00:00Z"), time("2026-01-31T23:59:59Z"));
        assert_eq!(found(times), Ok(expected));
        let (start, end) = found("2026-01-15").unwrap();
        let length = end.duration_since(start).unwrap() + Duration::from_millis(1);
        assert!((23..=25).contains(&(length.as_secs() / 3_600)), "{length:?}");
        let (first, _) = found("2026-01-14..2026-01-15").unwrap();
        assert!(first < start);
        assert_eq!(found("2026-02-01..").unwrap().1, time("2026-02-10T12:01:00Z"));
    }

    #[test]
    fn a_range_that_cannot_be_searched_is_an_error_with_the_rule() {
        for text in ["", "soon", "7", "..", "2026-13-01", "..2026-01-01", "1mo"] {
            assert_eq!(found(text), Err(RULE), "{text}");
        }
        for text in ["2026-01-01..2026-02-05", "2025-06-01.."] {
            assert_eq!(found(text), Err(LENGTH_RULE), "{text}");
        }
        let reversed = "must be a range whose end is not before its start";
        assert_eq!(found("2026-01-05..2026-01-04"), Err(reversed));
    }
}
