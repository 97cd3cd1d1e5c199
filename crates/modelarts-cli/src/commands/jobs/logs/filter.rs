//! `LineFilter`: selects the log lines that are printed.

use modelarts_ext::{LogItem, Timestamp};
use regex::Regex;

#[derive(Clone, Debug)]
pub(super) struct LineFilter {
    since: Option<Timestamp>,
    pattern: Option<Regex>,
    /// `true` if lines of the platform are printed.
    system: bool,
    /// Time of the last line that began with a time.
    last: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    Drop,
    /// The line is printed if the next line with a time meets the condition on the time.
    Undecided,
}

impl LineFilter {
    pub(super) fn new(since: Option<Timestamp>, pattern: Option<Regex>, system: bool) -> Self {
        Self { since, pattern, system, last: None }
    }

    /// Decides whether the next item of a log is printed. Gaps are always printed.
    pub(super) fn decide(&mut self, item: &LogItem) -> Verdict {
        let LogItem::Line(line) = item else {
            return Verdict::Keep;
        };
        let time = match self.since {
            None => Verdict::Keep,
            Some(since) => {
                self.last = item.time().map(|found| found.time).or(self.last);
                match self.last {
                    Some(time) if time < since => Verdict::Drop,
                    Some(_) => Verdict::Keep,
                    None => Verdict::Undecided,
                }
            }
        };
        let matches = self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(line));
        match matches && (self.system || !item.is_of_platform()) {
            true => time,
            false => Verdict::Drop,
        }
    }

    /// Returns `true` if a line with a time was read.
    pub(super) fn knows_time(&self) -> bool {
        self.last.is_some()
    }

    /// Returns `true` if there is a condition on the time, but no line had a time.
    pub(super) fn lacks_times(&self) -> bool {
        self.since.is_some() && self.last.is_none()
    }

    /// Returns `true` if the last time meets the condition, or if there is no condition or no time.
    pub(super) fn is_late(&self) -> bool {
        match (self.since, self.last) {
            (Some(since), Some(time)) => time >= since,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict::*, *};

    fn decide(filter: &mut LineFilter, line: &str) -> Verdict {
        filter.decide(&LogItem::Line(line.to_owned()))
    }

    #[test]
    fn lines_without_a_time_follow_the_line_before_them() {
        let since = "2026-01-15T08:30:00Z".parse().unwrap();
        let mut filter = LineFilter::new(Some(since), None, true);
        for (line, verdict) in [
            ("head", Undecided),
            ("2026-01-15T08:29:59Z old", Drop),
            ("more", Drop),
            ("2026-01-15T16:30:00+08:00 new", Keep),
            ("more", Keep),
            ("2026-01-15 08:29:00 old again", Drop),
        ] {
            assert_eq!(decide(&mut filter, line), verdict, "{line}");
        }
        assert_eq!(filter.decide(&LogItem::Gap { bytes: None }), Keep);
    }

    #[test]
    fn lines_of_the_platform_are_recognized() {
        let mut filter = LineFilter::new(None, None, false);
        for (line, verdict) in [
            ("[ModelArts Service Log] requirements.txt: installed", Drop),
            ("[Modelarts Service Log]exiting...", Drop),
            (
                "time=\"2021-05-18T14:28:14+08:00\" level=info msg=\"x\" \
                 Platform=ModelArts-Service",
                Drop,
            ),
            ("epoch 1", Keep),
            ("", Keep),
            ("ääääääääääääääääääääää", Keep),
        ] {
            assert_eq!(decide(&mut filter, line), verdict, "{line}");
        }
    }

    #[test]
    fn a_pattern_matches_anywhere() {
        let mut filter = LineFilter::new(None, Some(Regex::new("loss=").unwrap()), true);
        assert_eq!(decide(&mut filter, "epoch 1 loss=2"), Keep);
        assert_eq!(decide(&mut filter, "epoch 1"), Drop);
    }
}
