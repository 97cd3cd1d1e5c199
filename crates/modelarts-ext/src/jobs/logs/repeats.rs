//! Detection of repeated lines of a log.

use std::ops::Range;

/// Number of equal lines that are shown. Further ones are only counted.
const SHOWN: u64 = 3;
/// Length in bytes above which a line is not compared. Parts of a very long line may be equal.
const MAX_LEN: usize = 4096;

/// Counter of the repeated lines of one log, so that a log which repeats a line millions of times
/// can be shown as a few lines. Lines count as equal if they differ only in the time at their
/// beginning.
///
/// ```
/// use modelarts_ext::jobs::logs::RepeatedLines;
///
/// let mut repeated = RepeatedLines::default();
/// let lines = (0..1234).map(|second| format!("08:30:{:02} upload failed", second % 60));
/// for line in lines.chain(["end".to_owned()]) {
///     let shown = repeated.next(&line);
///     if let Some(times) = shown.times {
///         println!("{}", RepeatedLines::note(times));
///     }
///     if shown.is_shown {
///         println!("{line}");
///     }
/// #   if line == "end" { assert_eq!(shown.times, Some(1234)); }
/// }
/// assert_eq!(repeated.end(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RepeatedLines {
    last: String,
    /// Number of successive lines that equal `last`.
    times: u64,
    /// The last number that was returned.
    noted: u64,
    only_totals: bool,
}

/// Instructions for the next line of a log, from [`RepeatedLines::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownLine {
    /// Number of times that the line shown last occurred, if it is to be shown now: at the end of
    /// the repetition, and at 10, 100, 1,000 and so on while it continues, for a reader who waits.
    pub times: Option<u64>,
    /// `true` if the line itself is to be shown, after the number.
    pub is_shown: bool,
}

impl RepeatedLines {
    /// Omits the numbers while a repetition continues, for a log that is shown at once.
    #[must_use]
    pub fn only_totals(mut self) -> Self {
        self.only_totals = true;
        self
    }

    /// Counts the next line.
    pub fn next(&mut self, line: &str) -> ShownLine {
        let is_short = line.len() <= MAX_LEN;
        if self.times > 0 && is_short && is_same(&self.last, line) {
            self.times += 1;
            let is_due = self.times > SHOWN && is_power_of_ten(self.times) && !self.only_totals;
            if is_due {
                self.noted = self.times;
            }
            let times = is_due.then_some(self.times);
            return ShownLine { times, is_shown: self.times <= SHOWN };
        }
        let times = self.end();
        if is_short {
            line.clone_into(&mut self.last);
            self.times = 1;
        }
        ShownLine { times, is_shown: true }
    }

    /// Returns the text for a number of repetitions, such as `… the line above, 1,234 times`.
    #[must_use]
    pub fn note(times: u64) -> String {
        format!("… the line above, {} times", grouped(times))
    }

    /// Ends the current repetition, at the end of the log or before a gap. Returns the number of
    /// its lines, if it is to be shown.
    pub fn end(&mut self) -> Option<u64> {
        let times = (self.times > SHOWN && self.times != self.noted).then_some(self.times);
        (self.times, self.noted) = (0, 0);
        times
    }
}

/// Returns a number with commas, such as `4,228,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

fn is_power_of_ten(number: u64) -> bool {
    10_u64.pow(number.ilog10()) == number
}

/// Returns `true` if two lines differ only in the time at their beginnings.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (first, second) = (time_range(one), time_range(other));
    !first.is_empty()
        && !second.is_empty()
        && one[..first.start] == other[..second.start]
        && one[first.end..] == other[second.end..]
}

/// Returns the range of the time at the beginning of a line, such as `08:30:07.123`, or a date and a
/// time, also after words in brackets and `time="`. Returns an empty range if there is none.
fn time_range(line: &str) -> Range<usize> {
    let position = |rest: &str| line.len() - rest.len();
    let mut rest = line.trim_start();
    while let Some(inner) = rest.strip_prefix('[') {
        let length = time_len(inner);
        if length > 0 {
            return position(inner)..position(inner) + length;
        }
        let Some((_, behind)) = inner.split_once(']') else {
            break;
        };
        rest = behind.trim_start();
    }
    let rest = rest.strip_prefix("time=").unwrap_or(rest);
    let rest = rest.strip_prefix('"').unwrap_or(rest);
    position(rest)..position(rest) + time_len(rest)
}

/// Returns the length of the time with which a text begins: `HH:MM:SS`, `YYYY-MM-DD` or
/// `YYYY/MM/DD`, with what belongs to it. Returns 0 for other texts.
fn time_len(text: &str) -> usize {
    let word = |text: &str| text.bytes().take_while(|byte| is_of_time(*byte)).count();
    let first = word(text);
    let has_form = |part: &str, form: &str| {
        let part = part.as_bytes();
        part.len() >= form.len()
            && part.iter().zip(form.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                form => *byte == form,
            })
    };
    if has_form(&text[..first], "00:00:00") {
        return first;
    }
    if !has_form(&text[..first], "0000-00-00") && !has_form(&text[..first], "0000/00/00") {
        return 0;
    }
    match text[first..].strip_prefix(' ') {
        Some(clock) if has_form(&clock[..word(clock)], "00:00:00") => first + 1 + word(clock),
        _ => first,
    }
}

fn is_of_time(byte: u8) -> bool {
    byte.is_ascii_digit() || b":.,-/TZ+".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the shown lines, with the numbers as lines.
    fn shown(lines: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut repeated = RepeatedLines::default();
        let mut all = Vec::new();
        for line in lines {
            let next = repeated.next(&line);
            all.extend(next.times.map(|times| format!("{times} times")));
            all.extend(next.is_shown.then_some(line));
        }
        all.extend(repeated.end().map(|times| format!("{times} times")));
        all
    }

    #[test]
    fn repeated_lines_are_counted() {
        let lines = |text: &'static str| text.split(' ').map(str::to_owned);
        assert_eq!(shown(lines("a b b b a a")), ["a", "b", "b", "b", "a", "a"]);
        assert_eq!(shown(lines("b b b b a")), ["b", "b", "b", "4 times", "a"]);
        assert_eq!(shown(lines("b b b b")), ["b", "b", "b", "4 times"]);
        let many = |count| std::iter::repeat_n("x".to_owned(), count);
        let expected = ["x", "x", "x", "10 times", "100 times", "123 times", "y"];
        assert_eq!(shown(many(123).chain(["y".to_owned()])), expected);
        // A number that was shown is not repeated.
        assert_eq!(shown(many(100)), ["x", "x", "x", "10 times", "100 times"]);
        assert_eq!(shown(many(0)), [""; 0]);
        let mut repeated = RepeatedLines::default().only_totals();
        let totals: Vec<_> = many(100).filter_map(|line| repeated.next(&line).times).collect();
        assert_eq!((totals, repeated.end()), (vec![], Some(100)));
        let long = "x".repeat(MAX_LEN + 1);
        assert_eq!(shown(std::iter::repeat_n(long, 5)).len(), 5);
        // An empty line is a line.
        assert_eq!(shown(["".to_owned(), "".to_owned()]), ["", ""]);
    }

    #[test]
    fn numbers_have_commas() {
        for (times, text) in [(10, "10"), (1_000, "1,000"), (4_228_000, "4,228,000")] {
            assert_eq!(RepeatedLines::note(times), format!("… the line above, {text} times"));
        }
    }

    #[test]
    fn only_times_may_differ() {
        for (one, other, same) in [
            ("a", "a", true),
            ("", "", true),
            ("2026-01-03 18:19:40,123 full", "2026-01-03 18:20:05,7 full", true),
            ("[2026/01/03 18:19:40] full", "[2026/02/28 09:00:00] full", true),
            ("time=\"2026-01-15T08:30:07Z\" x", "time=\"2026-01-15T08:30:08.5+08:00\" x", true),
            (
                "[Service Log][ERROR][2026/01/03 18:19:40,1] x",
                "[Service Log][ERROR][2026/01/03 18:19:41,20] x",
                true,
            ),
            (
                "[Service Log][INFO][2026/01/03 18:19:40] x",
                "[Service Log][ERROR][2026/01/03 18:19:40] x",
                false,
            ),
            ("[2026-01-15T08:30:07Z INFO t] x", "[2026-01-15T08:30:08Z INFO t] x", true),
            ("08:30:07 and 08:30:08 x", "08:30:07 and 08:30:09 x", false),
            ("processing day 2020-01-01", "processing day 2020-01-02", false),
            ("saved ckpt-2026-01-03.pt", "saved ckpt-2026-01-04.pt", false),
            ("epoch took 00:12:31", "epoch took 00:20:00", false),
            ("2020-01-01 rows", "2020-01-02 rows", true),
            ("epoch 1 of 10", "epoch 2 of 10", false),
            ("loss 0.123", "loss 0.124", false),
            ("18:19:40 epoch 1", "18:19:41 epoch 2", false),
            ("18:19:40 a", "18:19:41 b", false),
            ("18:19:40", "18:19:40 a", false),
            ("a", "", false),
            ("ratio 1:2:3", "ratio 1:2:4", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one:?} {other:?}");
            assert_eq!(is_same(other, one), same, "{other:?} {one:?}");
        }
    }
}
