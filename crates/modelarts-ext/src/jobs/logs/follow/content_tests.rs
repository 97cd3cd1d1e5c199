//! Tests of the content of a followed log, and of the previews that continue it.

use std::collections::BTreeSet;

use modelarts_api::types::LogPreview;
use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::json;

use crate::jobs::logs::{
    follow::content::Content, line_splitter::LogItem, line_splitter::MAX_LINE,
};

impl Content {
    /// Processes a preview. Returns the items that it adds.
    fn advance(&mut self, preview: &LogPreview) -> Vec<LogItem> {
        let mut items = Vec::new();
        self.take(preview, self.locate(preview), &mut items);
        items
    }
}

fn preview(content: &str, current: usize, full: usize) -> LogPreview {
    serde_json::from_value(json!({"content": content, "current_size": current, "full_size": full}))
        .unwrap()
}

fn line(text: &str) -> LogItem {
    LogItem::Line(text.into())
}

/// Gap between two logs.
const REPLACED: LogItem = LogItem::Gap { bytes: None };

/// Returns the newest `window` bytes of a log, like the service.
fn window(log: &str, window: usize) -> LogPreview {
    let content = &log[log.len().saturating_sub(window)..];
    preview(content, content.len(), log.len())
}

#[test]
fn a_growing_log_gives_each_line_once() {
    let mut reader = Content::default();
    assert_eq!(reader.advance(&window("", 100)), []);
    assert_eq!(reader.advance(&window("one\ntw", 100)), [line("one")]);
    assert_eq!(reader.advance(&window("one\ntw", 100)), []);
    assert_eq!(reader.advance(&window("one\ntwo\r\n\nfour", 100)), [line("two"), line("")]);
    assert_eq!(reader.finish(), Some(line("four")));
    assert_eq!(reader.finish(), None);
}

#[test]
fn equal_lines_are_not_taken_for_lines_that_were_returned() {
    let mut reader = Content::default();
    assert_eq!(reader.advance(&window("a\na\n", 4)), [line("a"), line("a")]);
    assert_eq!(reader.advance(&window("a\na\na\n", 4)), [line("a")]);
}

#[test]
fn a_log_that_outgrew_the_window_has_a_gap_of_known_size() {
    let mut reader = Content::default();
    assert_eq!(reader.advance(&window("aaa\n", 8)), [line("aaa")]);
    // 4 bytes were read, and the window begins at byte 8.
    assert_eq!(
        reader.advance(&window("aaa\nbbb\nccc\nddd\n", 8)),
        [LogItem::Gap { bytes: Some(4) }, line("ccc"), line("ddd")]
    );
    assert_eq!(reader.advance(&window("aaa\nbbb\nccc\nddd\n", 8)), []);
}

#[test]
fn a_log_that_was_replaced_is_read_from_its_start_after_a_gap() {
    let gap = LogItem::Gap { bytes: Some(15) };
    let five = || ["ä"; 5].map(line).to_vec();
    let mut reader = Content::default();
    for (log, size, new) in [
        ("first run\n", 100, vec![line("first run")]),
        ("again\n", 100, vec![REPLACED, line("again")]),
        // The log is replaced while a line is incomplete; that line is returned separately.
        ("again\nhalf a li", 100, vec![]),
        ("on\n", 100, vec![line("half a li"), REPLACED, line("on")]),
        // The new log is already longer than the old one.
        ("run three\nbb", 100, vec![REPLACED, line("run three")]),
        ("x\nand more of it\n", 100, vec![line("bb"), REPLACED, line("x"), line("and more of it")]),
        // The preview contains only a part of the new log.
        (
            "the fourth run:\nmore and more and more\n",
            24,
            vec![gap, line(""), line("more and more and more")],
        ),
        // The previous position may be inside a multi-byte character of the new log.
        ("ä\nä\nä\nä\nä\n", 100, [vec![REPLACED], five()].concat()),
        ("ä\nä\nä\nä\nä\nun", 100, vec![]),
        ("", 100, vec![line("un"), REPLACED]),
        ("x\n", 100, vec![line("x")]),
    ] {
        assert_eq!(reader.advance(&window(log, size)), new, "{log:?}");
    }
}

/// A log that is long enough for its end to be stored only in part, and that only its first line
/// distinguishes from an earlier one.
#[test]
fn a_log_that_was_replaced_by_one_with_the_same_end_is_read_from_its_start() {
    let log = |head: &str, lines: usize| format!("{head}\n{}", "x\n".repeat(lines));
    for (new, lines) in [("run 2", 60_000), ("run 2", 49_000), ("run 10", 60_000)] {
        let mut reader = Content::default();
        reader.advance(&window(&log("run 1", 50_000), usize::MAX));
        let items = reader.advance(&window(&log(new, lines), usize::MAX));
        assert_eq!(items[..2], [REPLACED, line(new)], "{new} {lines}");
        assert_eq!(items.len(), lines + 2, "{new} {lines}");
    }
}

/// The first line of a shortened preview can be the end of a line that equals a line before.
#[test]
fn a_log_that_was_replaced_is_not_taken_for_the_rest_of_the_old_one() {
    let mut reader = Content::default();
    reader.advance(&window("a\nb\nc\nd\ne\nf\ng\n7\n", 100));
    let items = reader.advance(&window("line 6\nline 7\nline 8\n", 9));
    let gap = LogItem::Gap { bytes: Some(12) };
    assert_eq!(items, [gap, line("7"), line("line 8")]);
}

/// Sizes that do not match, as those of a log with bytes that are not UTF-8, are not used.
#[test]
fn a_long_preview_without_valid_sizes_may_lack_its_beginning() {
    let (count, text) = (2_000_000, "x\n".repeat(2_000_000));
    let mut reader = Content::default();
    assert_eq!(reader.advance(&preview("x\n", 1, 1)), [line("x")]);
    let items = reader.advance(&preview(&text, 1, 1));
    assert_eq!(items[..2], [REPLACED, line("x")]);
    assert_eq!(items.len(), count + 1);
}

#[test]
fn the_lines_after_a_gap_are_compared_without_those_before_it() {
    let mut reader = Content::default();
    let gap = |bytes| LogItem::Gap { bytes: Some(bytes) };
    reader.advance(&window("1\n", 4));
    let log = "1\n2\n3\n4\n5\n";
    let items = reader.advance(&window(log, 4));
    assert_eq!(items, [gap(4), line("4"), line("5")]);
    assert_eq!(reader.advance(&window(log, 8)), []);
}

#[test]
fn a_line_that_does_not_end_comes_in_pieces() {
    let mut reader = Content::default();
    let mut log = "ä".repeat(MAX_LINE / 2);
    assert_eq!(reader.advance(&window(&log, usize::MAX)), []);
    let piece = line(&log);
    log.push_str("\rx");
    // The incomplete line is returned; the rest begins a new line.
    assert_eq!(reader.advance(&window(&log, usize::MAX)), std::slice::from_ref(&piece));
    log.push_str(&"ä".repeat(MAX_LINE));
    log.push_str("\nnext\n");
    let items = reader.advance(&window(&log, usize::MAX));
    let lengths = items.iter().map(|item| match item {
        LogItem::Line(line) => line.len(),
        LogItem::Gap { .. } => 0,
    });
    // Parts of a line never split a character.
    assert_eq!(lengths.collect::<Vec<_>>(), [MAX_LINE, MAX_LINE, 2, 4]);
    assert!(!reader.has_incomplete_line());
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
    let mut reader = Content::default();
    let wrong = |text| preview(text, 126_548, 5_242_880);
    assert_eq!(reader.advance(&wrong("x\ny\n")), [line("x"), line("y")]);
    assert_eq!(reader.advance(&wrong("x\ny\nz\n")), [line("z")]);
    assert_eq!(reader.advance(&wrong("other\n")), [LogItem::Gap { bytes: None }, line("other")]);
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
        let mut reader = Content::default();
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
    let lines: String = (0..40_000).map(|number| format!("line {number}\n")).collect();
    let mut reader = Content::default();
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
        let mut reader = Content::default();
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
        let mut reader = Content::default();
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
        let mut reader = Content::default();
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
        // Lines of different runs are separated by a gap.
        let run = |item: &LogItem| match item {
            LogItem::Line(line) => line.split(' ').next().map(str::to_owned),
            LogItem::Gap { .. } => None,
        };
        for part in items.split(|item| *item == REPLACED) {
            prop_assert!(part.iter().all(|item| run(item) == run(&part[0])), "{:?}", items);
        }
        items.retain(|item| *item != REPLACED);
        let lines: Vec<_> = runs.iter().flat_map(|(log, seen)| log[..*seen].lines()).collect();
        prop_assert_eq!(items, lines.into_iter().map(line).collect::<Vec<_>>());
    }
}
