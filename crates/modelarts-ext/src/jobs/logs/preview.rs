//! Reader of logs by previews, which contain only the newest part of a log.

use modelarts_api::types::LogPreview;

use crate::jobs::logs::item::LogItem;

/// Size of the content that is stored to find the position in the next preview, in bytes.
const OVERLAP: usize = 64 << 10;

/// Maximum length of an incomplete line that is stored, in bytes. Output without line breaks, such
/// as a progress bar, would otherwise exhaust the memory.
pub(super) const MAX_LINE: usize = 1 << 20;

/// Reader of one log, with its position.
#[derive(Debug, Default)]
pub(super) struct PreviewReader {
    /// Number of bytes that were read, including gaps.
    read: u64,
    /// End of the content that was read, up to [`OVERLAP`].
    end: String,
    /// Content of the last line so far, while the line is incomplete.
    line: String,
    /// Bytes of an incomplete character at the end of the content that was read by the link.
    cut_character: Vec<u8>,
}

/// Relation of a preview to the content that was read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Located {
    /// The response may lack the content.
    Unknown,
    /// The new content begins at the index `at` of the preview, after `missing` bytes that the
    /// preview lacks.
    Continued { at: usize, missing: u64 },
    /// The preview shows another log, whose first `missing` bytes it lacks.
    Other { missing: Option<u64> },
}

impl Located {
    /// Returns the number of missing bytes, if it is known and not zero.
    pub(super) fn missing(self) -> Option<u64> {
        let missing = match self {
            Self::Unknown => None,
            Self::Continued { missing, .. } => Some(missing),
            Self::Other { missing } => missing,
        };
        missing.filter(|missing| *missing > 0)
    }
}

impl PreviewReader {
    /// Processes a preview. Returns the items that it adds.
    #[cfg(test)]
    fn advance(&mut self, preview: &LogPreview) -> Vec<LogItem> {
        self.take(preview, self.locate(preview))
    }

    /// Processes a preview that was located. Returns the items that it adds.
    pub(super) fn take(&mut self, preview: &LogPreview, located: Located) -> Vec<LogItem> {
        let mut items = Vec::new();
        let content = content(preview);
        let text = match located {
            Located::Unknown => return items,
            Located::Continued { at, missing } => {
                if missing > 0 {
                    items.extend(self.finish());
                    let bytes = Some(missing);
                    items.push(LogItem::Gap { bytes });
                }
                content.get(at..).unwrap_or_default()
            }
            Located::Other { missing } => {
                items.extend(self.begin_other());
                if missing != Some(0) {
                    items.push(LogItem::Gap { bytes: missing });
                }
                content
            }
        };
        self.read = trusted_size(content, preview).unwrap_or(self.read.max(content.len() as u64));
        self.push(text, &mut items);
        items
    }

    /// Returns the number of bytes that were read.
    pub(super) fn position(&self) -> u64 {
        self.read
    }

    /// Returns the end of the content that was read.
    pub(super) fn end(&self) -> &str {
        &self.end
    }

    /// Returns `true` if the last line is incomplete.
    pub(super) fn has_incomplete_line(&self) -> bool {
        !self.line.is_empty()
    }

    /// Continues at the beginning of another log. Returns the last line of the log before it.
    pub(super) fn begin_other(&mut self) -> Option<LogItem> {
        self.read = 0;
        self.end.clear();
        self.finish()
    }

    /// Processes bytes of the log at the current position.
    pub(super) fn push_bytes(&mut self, bytes: &[u8], items: &mut Vec<LogItem>) {
        self.read += bytes.len() as u64;
        let mut text = std::mem::take(&mut self.cut_character);
        text.extend_from_slice(bytes);
        self.cut_character = text.split_off(complete_len(&text));
        self.push(&String::from_utf8_lossy(&text), items);
    }

    /// Moves the position back before an incomplete character, which the next preview contains.
    pub(super) fn rewind(&mut self) {
        self.read -= self.cut_character.len() as u64;
        self.cut_character.clear();
    }

    /// Appends content, and adds the lines that it completes to `items`.
    fn push(&mut self, mut rest: &str, items: &mut Vec<LogItem>) {
        self.end.push_str(rest);
        let cut = self.end.len().saturating_sub(OVERLAP);
        self.end.drain(..self.end.ceil_char_boundary(cut));
        while let Some((head, tail)) = rest.split_once('\n') {
            self.append(head, items);
            let mut line = std::mem::take(&mut self.line);
            if line.ends_with('\r') {
                line.pop();
            }
            items.push(LogItem::Line(line));
            rest = tail;
        }
        self.append(rest, items);
    }

    /// Appends to the incomplete line, and returns the parts that exceed the maximum length.
    fn append(&mut self, mut text: &str, items: &mut Vec<LogItem>) {
        while self.line.len() + text.len() > MAX_LINE {
            let (fits, rest) = text.split_at(text.floor_char_boundary(MAX_LINE - self.line.len()));
            self.line.push_str(fits);
            items.push(LogItem::Line(std::mem::take(&mut self.line)));
            text = rest;
        }
        self.line.push_str(text);
    }

    /// Removes and returns the last line, if it is incomplete.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        let line = std::mem::take(&mut self.line);
        (!line.is_empty()).then_some(LogItem::Line(line))
    }

    /// Compares a preview with the content that was read before.
    pub(super) fn locate(&self, preview: &LogPreview) -> Located {
        let content = content(preview);
        let trusted = trusted_size(content, preview);
        if trusted.is_none() && content.is_empty() {
            // Empty content without sizes may mean that the response lacks the content.
            return Located::Unknown;
        }
        let read = self.read;
        let continued = |at| Located::Continued { at, missing: 0 };
        if let Some(full) = trusted {
            let start = full - content.len() as u64;
            let already = usize::try_from(read.saturating_sub(start)).unwrap_or(usize::MAX);
            if full >= read
                && let Some((old, _)) = content.split_at_checked(already)
                && (self.end.ends_with(old) || old.ends_with(&self.end))
            {
                let missing = start.saturating_sub(read);
                return Located::Continued {
                    at: already,
                    missing,
                };
            }
        } else if content.starts_with(self.end.as_str()) {
            return continued(self.end.len());
        }
        if let Some(text) = self.without_overlap(content) {
            let shorter = trusted.is_some_and(|full| full < read);
            // A single remaining line may be the complete content of another log.
            if !(shorter && text.is_empty() && content.lines().count() < 2) {
                return continued(content.len() - text.len());
            }
        }
        // The preview does not contain the content read before. If the response states sizes, this
        // is certainly another log: the task was restarted, and may have written more than before.
        Located::Other {
            missing: trusted.map(|full| full - content.len() as u64),
        }
    }

    /// Returns the part of `content` after the end of the content that was read, if that has moved
    /// because a log of limited size dropped its oldest lines.
    ///
    /// At least the first line that is not blank must match; a shorter match can be a coincidence.
    fn without_overlap<'a>(&self, content: &'a str) -> Option<&'a str> {
        let end = self.end.as_str();
        // If only the end of the content was stored, it is too long to match by coincidence.
        if end.len() + 4 > OVERLAP
            && let Some(at) = content.rfind(end)
        {
            return Some(&content[at + end.len()..]);
        }
        let blank = content.len() - content.trim_start_matches(['\r', '\n']).len();
        let (blank, rest) = content.split_at(blank);
        let first = &rest[..=rest.find('\n')?];
        let mut places = end
            .match_indices(first)
            .filter_map(|(at, _)| end[..at].strip_suffix(blank));
        places.find_map(|before| content.strip_prefix(&end[before.len()..]))
    }
}

pub(super) fn content(preview: &LogPreview) -> &str {
    // Before 2022, the field was named `context`.
    let content = preview.content.as_deref().or(preview.context.as_deref());
    content.unwrap_or_default()
}

/// Returns the length of the whole log, in bytes, if the sizes in the response are plausible. A
/// documented example states sizes that do not match its content (SOURCES D-79).
pub(super) fn trusted_size(content: &str, preview: &LogPreview) -> Option<u64> {
    let size = |size: Option<i64>| u64::try_from(size?).ok();
    let (current, full) = (size(preview.current_size)?, size(preview.full_size)?);
    (current == content.len() as u64 && full >= current).then_some(full)
}

/// Returns the length of the bytes without an incomplete character at their end.
fn complete_len(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    let begins = bytes[last..].iter().rposition(|byte| *byte >= 0xc0);
    let begins = begins.map(|at| last + at).filter(|at| {
        std::str::from_utf8(&bytes[*at..]).is_err_and(|error| error.error_len().is_none())
    });
    begins.unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{prelude::*, test_runner::RngSeed};
    use serde_json::json;

    use super::*;

    fn preview(content: &str, current: usize, full: usize) -> LogPreview {
        serde_json::from_value(
            json!({"content": content, "current_size": current, "full_size": full}),
        )
        .unwrap()
    }

    fn line(text: &str) -> LogItem {
        LogItem::Line(text.into())
    }

    /// Returns the newest `window` bytes of a log, like the service.
    fn window(log: &str, window: usize) -> LogPreview {
        let content = &log[log.len().saturating_sub(window)..];
        preview(content, content.len(), log.len())
    }

    #[test]
    fn a_growing_log_gives_each_line_once() {
        let mut reader = PreviewReader::default();
        assert_eq!(reader.advance(&window("", 100)), []);
        assert_eq!(reader.advance(&window("one\ntw", 100)), [line("one")]);
        assert_eq!(reader.advance(&window("one\ntw", 100)), []);
        assert_eq!(
            reader.advance(&window("one\ntwo\r\n\nfour", 100)),
            [line("two"), line("")]
        );
        assert_eq!(reader.finish(), Some(line("four")));
        assert_eq!(reader.finish(), None);
    }

    #[test]
    fn equal_lines_are_not_taken_for_lines_that_were_returned() {
        let mut reader = PreviewReader::default();
        assert_eq!(reader.advance(&window("a\na\n", 4)), [line("a"), line("a")]);
        assert_eq!(reader.advance(&window("a\na\na\n", 4)), [line("a")]);
    }

    #[test]
    fn a_log_that_outgrew_the_window_has_a_gap_of_known_size() {
        let mut reader = PreviewReader::default();
        assert_eq!(reader.advance(&window("aaa\n", 8)), [line("aaa")]);
        // 4 bytes were read, and the window begins at byte 8.
        assert_eq!(
            reader.advance(&window("aaa\nbbb\nccc\nddd\n", 8)),
            [LogItem::Gap { bytes: Some(4) }, line("ccc"), line("ddd")]
        );
        assert_eq!(reader.advance(&window("aaa\nbbb\nccc\nddd\n", 8)), []);
    }

    #[test]
    fn a_log_that_began_again_is_read_from_its_start() {
        let mut reader = PreviewReader::default();
        reader.advance(&window("first run\n", 100));
        assert_eq!(reader.advance(&window("again\n", 100)), [line("again")]);
        // The log is restarted while a line is incomplete; that line is returned separately.
        assert_eq!(reader.advance(&window("again\nhalf a li", 100)), []);
        assert_eq!(
            reader.advance(&window("on\n", 100)),
            [line("half a li"), line("on")]
        );
        // The log is restarted, and is longer than before at the next poll.
        let third = "a third run, with more\n";
        assert_eq!(
            reader.advance(&window(third, 100)),
            [line("a third run, with more")]
        );
        // The log is restarted, and the preview contains only a part of it.
        let fourth = "the fourth run:\nmore and more and more\n";
        assert_eq!(
            reader.advance(&window(fourth, 24)),
            [
                LogItem::Gap { bytes: Some(15) },
                line(""),
                line("more and more and more")
            ]
        );
    }

    #[test]
    fn a_log_that_began_again_and_is_longer_already_does_not_go_on_with_a_line_of_the_old_one() {
        let mut reader = PreviewReader::default();
        assert_eq!(reader.advance(&window("aaa\nbb", 100)), [line("aaa")]);
        assert_eq!(
            reader.advance(&window("x\nand more\n", 100)),
            [line("bb"), line("x"), line("and more")]
        );
        // The previous position may be inside a multi-byte character of the new log.
        assert_eq!(reader.advance(&window("ä\nä\nä\nä\nä\n", 100)).len(), 5);
        // The same applies to a log whose last line is incomplete.
        assert_eq!(reader.advance(&window("ä\nä\nä\nä\nä\nun", 100)), []);
        assert_eq!(reader.advance(&window("", 100)), [line("un")]);
        assert_eq!(reader.advance(&window("x\n", 100)), [line("x")]);
    }

    #[test]
    fn a_line_that_does_not_end_comes_in_pieces() {
        let mut reader = PreviewReader::default();
        let mut log = "ä".repeat(MAX_LINE / 2);
        assert_eq!(reader.advance(&window(&log, usize::MAX)), []);
        let piece = line(&log);
        log.push_str("\rx");
        // The incomplete line is returned; the rest begins a new line.
        assert_eq!(
            reader.advance(&window(&log, usize::MAX)),
            std::slice::from_ref(&piece)
        );
        log.push_str(&"ä".repeat(MAX_LINE));
        log.push_str("\nnext\n");
        let items = reader.advance(&window(&log, usize::MAX));
        let lengths = items.iter().map(|item| match item {
            LogItem::Line(line) => line.len(),
            LogItem::Gap { .. } => 0,
        });
        // Parts of a line never split a character.
        assert_eq!(lengths.collect::<Vec<_>>(), [MAX_LINE, MAX_LINE, 2, 4]);
        assert!(reader.line.is_empty());
        let bytes: String = std::iter::once(&piece)
            .chain(&items)
            .map(|item| match item {
                LogItem::Line(line) => line.as_str(),
                LogItem::Gap { .. } => "gap",
            })
            .collect();
        assert_eq!(bytes, log.replace('\n', ""));
    }

    #[test]
    fn sizes_that_cannot_be_true_are_not_used() {
        let mut reader = PreviewReader::default();
        let wrong = |text| preview(text, 126_548, 5_242_880);
        assert_eq!(reader.advance(&wrong("x\ny\n")), [line("x"), line("y")]);
        assert_eq!(reader.advance(&wrong("x\ny\nz\n")), [line("z")]);
        assert_eq!(
            reader.advance(&wrong("other\n")),
            [LogItem::Gap { bytes: None }, line("other")]
        );
    }

    #[test]
    fn a_log_that_loses_its_head_gives_no_line_twice() {
        let looks = [
            ("1\n2\n3\n", vec!["1", "2", "3"]),
            ("2\n3\n4\n", vec!["4"]),
            // The preview is as long as before, and the last line is incomplete.
            ("4\n5\nsi", vec!["5"]),
            ("5\nsix\n7\n", vec!["six", "7"]),
            // The preview contains nothing new.
            ("5\nsix\n7\n", vec![]),
            // The preview is shorter than before.
            ("7\n8\n", vec!["8"]),
            ("7\n8\n9\n10\n", vec!["9", "10"]),
            // The preview is shorter, and contains nothing new.
            ("9\n10\n", vec![]),
            // The preview is longer again.
            ("9\n10\n11\n", vec!["11"]),
        ];
        for sizes in [true, false] {
            let mut reader = PreviewReader::default();
            for (text, new) in &looks {
                let mut look = window(text, 100);
                if !sizes {
                    (look.current_size, look.full_size) = (None, None);
                    assert_eq!(reader.advance(&preview("", 7, 9)), []);
                }
                let new: Vec<LogItem> = new.iter().map(|text| line(text)).collect();
                assert_eq!(reader.advance(&look), new, "{text:?}");
            }
        }
    }

    #[test]
    fn a_long_log_that_loses_its_head_is_found_again_by_its_end() {
        let lines: String = (0..40_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        let mut reader = PreviewReader::default();
        let half = lines.len() / 2;
        assert!(reader.advance(&window(&lines[..half], half)).len() > 10_000);
        // The preview begins before the stored content, or inside it.
        for (start, end) in [(half - 90_000, half + 500), (half - 10_000, half + 900)] {
            let before = lines[..end].lines().count();
            let items = reader.advance(&window(&lines[start..end], half));
            assert!(items.len() < 60, "{}", items.len());
            assert!(lines[..end].contains(&format!("line {}\n", before - 2)));
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Write(String),
        Look,
        BeginAgain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => "[abä\n]{0,12}".prop_map(Step::Write),
            4 => Just(Step::Look),
            2 => Just(Step::BeginAgain),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        // A fixed seed makes failures reproducible.
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(20_261_121),
            ..ProptestConfig::default()
        })]

        /// A log that grows beyond the window yields each line once, or a gap of exactly the
        /// missing bytes.
        #[test]
        fn a_random_log_gives_each_byte_once_or_a_gap(
            lines in prop::collection::vec("[a-cä]{0,9}", 1..60),
            steps in prop::collection::vec(1_usize..60, 1..60),
            size in 10_usize..200,
        ) {
            let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let boundary = |at: usize| (at..=log.len()).find(|at| log.is_char_boundary(*at));
            let mut reader = PreviewReader::default();
            let mut items = Vec::new();
            let mut at = 0;
            for step in steps.into_iter().chain([log.len()]) {
                at = boundary((at + step).min(log.len())).unwrap();
                let start = boundary(at.saturating_sub(size)).unwrap();
                items.extend(reader.advance(&preview(&log[start..at], at - start, at)));
            }
            items.extend(reader.finish());
            // Positions in the log that the items may have reached. The line before a gap may be
            // truncated.
            let mut places = BTreeSet::from([(0, false)]);
            for item in &items {
                places = places
                    .into_iter()
                    .flat_map(|(at, cut)| match item {
                        LogItem::Gap { bytes } => {
                            vec![(at + usize::try_from(bytes.unwrap()).unwrap(), false)]
                        }
                        LogItem::Line(_) if cut => vec![],
                        LogItem::Line(line) => match log[at..].strip_prefix(line.as_str()) {
                            Some(rest) if rest.starts_with('\n') => {
                                let end = at + line.len();
                                vec![(end, true), (end + 1, false)]
                            }
                            Some(_) => vec![(at + line.len(), true)],
                            None => vec![],
                        },
                    })
                    .filter(|(at, _)| log.is_char_boundary(*at))
                    .collect();
                prop_assert!(!places.is_empty(), "{:?} {:?}", item, items);
            }
            prop_assert!(places.contains(&(log.len(), false)), "{:?}", items);
        }

        /// A log of limited size, which drops its oldest lines, yields each line once if at least
        /// one line remains between two polls.
        #[test]
        fn a_random_log_of_limited_size_gives_each_line_once(
            steps in prop::collection::vec((0_usize..6, any::<bool>()), 1..60),
            sizes in any::<bool>(),
        ) {
            let mut reader = PreviewReader::default();
            let (mut items, mut all) = (Vec::new(), String::new());
            for (lines, open) in steps {
                for _ in 0..lines {
                    if all.is_empty() || all.ends_with('\n') {
                        all.push_str(&format!("line {}", all.len()));
                    }
                    all.push('\n');
                }
                if open && (all.is_empty() || all.ends_with('\n')) {
                    all.push_str(&format!("line {}", all.len()));
                }
                // The log keeps its last 12 complete lines, twice the maximum that a step adds.
                let start = all.rmatch_indices('\n').nth(12).map_or(0, |(at, _)| at + 1);
                let mut look = window(&all[start..], usize::MAX);
                if !sizes {
                    (look.current_size, look.full_size) = (None, None);
                }
                items.extend(reader.advance(&look));
            }
            items.extend(reader.finish());
            let expected: Vec<_> = all.lines().map(line).collect();
            prop_assert_eq!(items, expected);
        }

        /// A log that is sometimes restarted yields each line that a preview contained once, and no
        /// line that joins two runs.
        #[test]
        fn a_random_log_that_begins_again_gives_each_line_once(steps in steps()) {
            let mut reader = PreviewReader::default();
            let mut items = Vec::new();
            // Content of each run, with its length in bytes at the last poll.
            let mut runs = vec![(String::new(), 0)];
            for step in steps.into_iter().chain([Step::Look]) {
                let run = runs.len() - 1;
                let (log, looked) = &mut runs[run];
                match step {
                    // Each line begins with the number of its run.
                    Step::Write(text) => for piece in text.split_inclusive('\n') {
                        if log.is_empty() || log.ends_with('\n') {
                            log.push_str(&format!("{run} "));
                        }
                        log.push_str(piece);
                    },
                    Step::Look => {
                        items.extend(reader.advance(&window(log, usize::MAX)));
                        *looked = log.len();
                    }
                    Step::BeginAgain => runs.push((String::new(), 0)),
                }
            }
            items.extend(reader.finish());
            let lines: Vec<_> = runs.iter().flat_map(|(log, seen)| log[..*seen].lines()).collect();
            prop_assert_eq!(items, lines.into_iter().map(line).collect::<Vec<_>>());
        }
    }
}
