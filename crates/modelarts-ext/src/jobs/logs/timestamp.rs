//! Timestamps at the beginning of log lines.

use std::time::SystemTime;

use jiff::{Timestamp, civil::DateTime, tz::Offset};

use crate::jobs::logs::line_splitter::LogItem;

/// Timestamp at the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineTime {
    /// Time with a time zone.
    Zoned(Timestamp),
    /// Local time without a time zone.
    Local(DateTime),
}

/// Time at the beginning of a line of a log, from [`LogItem::time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogTime {
    /// Time of the line, as UTC if the line has no time zone. Times without a time zone can be
    /// compared with each other, but not with the times of events.
    pub time: crate::timestamp::Timestamp,
    /// `true` if the time has a time zone.
    pub has_zone: bool,
}

impl LogItem {
    /// Returns the time at the beginning of the line, in one of the formats of Python's `logging`
    /// and of the platform, such as `2026-01-15T16:30:07.123+08:00` or
    /// `[2026/01/15 16:30:07,123]`. Returns `None` for other lines and for a gap.
    ///
    /// ```
    /// use modelarts_ext::LogItem;
    ///
    /// let line = LogItem::Line("2026-01-15T16:30:07+08:00 epoch 1".to_owned());
    /// let time = line.time().map(|found| found.time.to_string());
    /// assert_eq!(time.as_deref(), Some("2026-01-15T08:30:07Z"));
    /// ```
    #[must_use]
    pub fn time(&self) -> Option<LogTime> {
        let Self::Line(line) = self else {
            return None;
        };
        let (time, has_zone) = match line_time(line)? {
            LineTime::Zoned(time) => (time, true),
            LineTime::Local(time) => (Offset::UTC.to_timestamp(time).ok()?, false),
        };
        Some(LogTime { time: SystemTime::try_from(time).ok()?.into(), has_zone })
    }
}

/// Times of the lines of one log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineTimes {
    /// Time of each item, in the order of the items. Times never decrease.
    pub(crate) times: Vec<Option<SystemTime>>,
    /// `true` if the times have a time zone, so that they can be compared with times of events.
    pub(crate) have_zone: bool,
}

/// Parses the times of lines. A line without a time takes the time of the line before it; lines
/// before the first time take that time. If some times have a time zone, all others are ignored.
pub(crate) fn line_times(items: &[LogItem]) -> LineTimes {
    let stamps = items.iter().map(|item| match item {
        LogItem::Line(line) => line_time(line),
        LogItem::Gap { .. } => None,
    });
    let stamps: Vec<Option<LineTime>> = stamps.collect();
    let zoned = stamps.iter().any(|stamp| matches!(stamp, Some(LineTime::Zoned(_))));
    let time = |stamp: &Option<LineTime>| match (*stamp)? {
        LineTime::Zoned(time) => time.try_into().ok(),
        LineTime::Local(_) if zoned => None,
        // Local times are only compared with each other, so any common time zone suffices.
        LineTime::Local(time) => Offset::UTC.to_timestamp(time).ok()?.try_into().ok(),
    };
    let mut last = stamps.iter().find_map(time);
    let times = stamps.iter().map(|stamp| {
        last = last.max(time(stamp));
        last
    });
    LineTimes { times: times.collect(), have_zone: zoned }
}

/// Returns the time at the beginning of a line, if the time has a time zone.
pub(crate) fn zoned_time(line: &str) -> Option<SystemTime> {
    match line_time(line)? {
        LineTime::Zoned(time) => time.try_into().ok(),
        LineTime::Local(_) => None,
    }
}

/// Parses the time at the beginning of a line: a date and a time of day in a common format, such as
/// `2026-01-15T16:30:07.123+08:00`, `2026-01-15 16:30:07,123`, `[ModelArts Service
/// Log][INFO][2021/05/18 14:28:14,207]` or `time="2026-01-15T…"`, which the platform writes.
fn line_time(line: &str) -> Option<LineTime> {
    let mut rest = line.trim_start();
    while let Some(inner) = rest.strip_prefix('[') {
        let (word, behind) = inner.split_once(']')?;
        if let Some(stamp) = parse(word) {
            return Some(stamp);
        }
        rest = behind.trim_start();
    }
    let rest = rest.strip_prefix("time=").unwrap_or(rest);
    parse(rest.strip_prefix('"').unwrap_or(rest))
}

/// Parses a timestamp at the beginning of a string.
fn parse(text: &str) -> Option<LineTime> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', ' ', '-'])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.split_at(digits(fraction)),
        None => ("", rest),
    };
    // Digits beyond nanoseconds are ignored.
    let fraction = &fraction[..fraction.len().min(9)];
    let point = if fraction.is_empty() { "" } else { "." };
    let local = format!("{}T{clock}{point}{fraction}", date.replace('/', "-"));
    let is_offset = |length: &usize| {
        let offset = rest.get(1..*length);
        offset.is_some_and(|offset| offset.bytes().all(|b| b.is_ascii_digit() || b == b':'))
    };
    let zone = match rest.as_bytes() {
        [b'Z', ..] => Some(1),
        // UTC offset, such as `+08:00` or `+0800`.
        [b'+' | b'-', ..] => [6, 5].into_iter().find(is_offset),
        _ => None,
    };
    Some(match zone {
        None => LineTime::Local(local.parse().ok()?),
        Some(zone) => LineTime::Zoned(format!("{local}{}", &rest[..zone]).parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_times_are_understood() {
        let zoned = |text: &str| Some(LineTime::Zoned(text.parse().unwrap()));
        let local = |text: &str| Some(LineTime::Local(text.parse().unwrap()));
        for (line, stamp) in [
            ("2026-01-15T08:30:07Z up", zoned("2026-01-15T08:30:07Z")),
            ("2026-01-15T16:30:07.123456789012+08:00 up", zoned("2026-01-15T08:30:07.123456789Z")),
            ("2026-01-15 16:30:07+0800", zoned("2026-01-15T08:30:07Z")),
            (
                "time=\"2021-05-18T14:28:14+08:00\" level=info msg=\"x\"",
                zoned("2021-05-18T06:28:14Z"),
            ),
            ("  2026-01-15 16:30:07,123 - INFO - epoch 1", local("2026-01-15T16:30:07.123")),
            ("2026-01-15 16:30:07 -x", local("2026-01-15T16:30:07")),
            ("2021-05-18-14:28:13", local("2021-05-18T14:28:13")),
            (
                "[ModelArts Service Log][INFO][2021/05/18 14:28:14,207]:",
                local("2021-05-18T14:28:14.207"),
            ),
            ("[2026-01-15T08:30:07Z INFO train] x", zoned("2026-01-15T08:30:07Z")),
            ("[Modelarts Service Log]exiting...", None),
            ("epoch 3 at 2026-01-15T08:30:07Z", None),
            ("2026-13-15T08:30:07Z", None),
            ("2026-01-15", None),
            ("2026-01-15T08:30", None),
            ("ääääääääääääääää", None),
            ("[[[", None),
            ("", None),
        ] {
            assert_eq!(super::line_time(line), stamp, "{line}");
        }
    }

    #[test]
    fn the_time_of_a_line_states_if_it_has_a_zone() {
        let time = |line: &str| {
            let time = LogItem::Line(line.to_owned()).time()?;
            Some((time.time.to_string(), time.has_zone))
        };
        let half_past = "2026-01-15T08:30:07Z".to_owned();
        assert_eq!(time("2026-01-15T16:30:07+08:00 a"), Some((half_past.clone(), true)));
        assert_eq!(time("2026-01-15 08:30:07 a"), Some((half_past, false)));
        assert_eq!(time("epoch 1"), None);
        assert_eq!(LogItem::Gap { bytes: None }.time(), None);
    }

    #[test]
    fn lines_without_a_time_go_with_their_neighbours() {
        let lines = |lines: &[&str]| {
            let items = lines.iter().map(|line| LogItem::Line((*line).to_owned()));
            line_times(&items.collect::<Vec<_>>())
        };
        let at = |text: &str| SystemTime::try_from(text.parse::<Timestamp>().unwrap()).ok();
        let (one, two) = (at("2026-01-15T08:30:01Z"), at("2026-01-15T08:30:02Z"));
        assert_eq!(
            lines(&[
                "head",
                "2026-01-15 08:30:01 a",
                "more",
                "2026-01-15 08:30:02 b",
                // Lines of one log keep their order, regardless of their times.
                "2026-01-15 08:30:01 c",
            ]),
            LineTimes { times: vec![one, one, one, two, two], have_zone: false }
        );
        assert_eq!(
            lines(&["2030-01-15 08:30:01 a", "2026-01-15T16:30:02+08:00 b"]),
            LineTimes { times: vec![two, two], have_zone: true }
        );
        assert_eq!(lines(&["a", "b"]), LineTimes { times: vec![None, None], have_zone: false });
    }
}
