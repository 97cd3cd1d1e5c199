//! Tests of the engine of a followed log against a scripted service with faults.

use std::collections::BTreeSet;

use modelarts_api::types::LogPreview;
use serde_json::json;

use crate::jobs::logs::{
    follow::engine::{Answer, Engine, Request},
    line_splitter::LogItem,
};

/// Number of runs of each row.
const SEEDS: u64 = 400;

/// Answers of the link to a log.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    /// The log.
    Works,
    /// The log, from connections that break.
    Breaks,
    /// The log as it was at an earlier time.
    Old,
    /// Another log.
    Other,
    /// No answer.
    Fails,
}

/// Behaviour of a service and of a log.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    /// Largest size of a preview in bytes.
    window: usize,
    has_sizes: bool,
    link: Link,
    /// Share of the answers that are faults before the end of the job, in percent.
    faults: u8,
    /// `true` if the log drops its oldest lines.
    rotates: bool,
    /// `true` if another log takes the place of the log.
    is_replaced: bool,
    /// `true` if the service does not have the log any more after the end of the job.
    is_lost: bool,
    /// `true` if the stream must have each line and no gap.
    is_whole: bool,
}

const ROW: Row = Row {
    name: "faults",
    window: 1 << 20,
    has_sizes: true,
    link: Link::Works,
    faults: 50,
    rotates: false,
    is_replaced: false,
    is_lost: false,
    is_whole: true,
};

const ROWS: [Row; 12] = [
    ROW,
    Row { name: "no sizes", has_sizes: false, ..ROW },
    Row { name: "small previews", window: 60, ..ROW },
    Row {
        name: "small previews, link breaks",
        window: 60,
        link: Link::Breaks,
        is_whole: false,
        ..ROW
    },
    Row { name: "small previews, old link", window: 60, link: Link::Old, is_whole: false, ..ROW },
    Row {
        name: "small previews, other link",
        window: 60,
        link: Link::Other,
        is_whole: false,
        ..ROW
    },
    Row { name: "small previews, no link", window: 60, link: Link::Fails, is_whole: false, ..ROW },
    Row { name: "rotation", rotates: true, is_whole: false, ..ROW },
    Row { name: "replaced", is_replaced: true, is_whole: false, ..ROW },
    Row { name: "replaced, no sizes", has_sizes: false, is_replaced: true, is_whole: false, ..ROW },
    Row { name: "replaced, small previews", window: 60, is_replaced: true, is_whole: false, ..ROW },
    Row { name: "lost at the end", window: 60, is_lost: true, is_whole: false, ..ROW },
];

/// Service with one log, which changes with each request until the job ends.
struct Service {
    row: Row,
    random: fastrand::Rng,
    log: String,
    /// The log at an earlier time.
    old: String,
    /// Number of requests until the end of the job.
    left: u32,
    lines: u32,
}

impl Service {
    fn new(row: Row, seed: u64) -> Self {
        Self {
            row,
            random: fastrand::Rng::with_seed(seed),
            log: String::new(),
            old: String::new(),
            left: 30,
            lines: 0,
        }
    }

    /// Changes the log before a request.
    fn advance(&mut self) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.random.u8(..4) == 0 {
            self.old.clone_from(&self.log);
        }
        if self.row.is_replaced && self.random.u8(..8) == 0 {
            self.log.clear();
        }
        for _ in 0..self.random.u8(..8) {
            self.lines += 1;
            let line = match self.random.u8(..5) {
                0 => "\n".to_owned(),
                1 => "ä€\n".to_owned(),
                2 => format!("{} ", self.lines),
                _ => format!("line {}\n", self.lines),
            };
            self.log.push_str(&line);
        }
        if self.row.rotates && self.random.u8(..4) == 0 {
            let kept = self.random.usize(1..30);
            let first = self.log.rmatch_indices('\n').nth(kept);
            self.log.drain(..first.map_or(0, |(at, _)| at + 1));
        }
    }

    fn has_fault(&mut self) -> bool {
        self.left > 0 && self.random.u8(..100) < self.row.faults
    }

    /// Passes the answer to a request for the preview to the engine, unless it is a transient
    /// error: status 500 or 502, a lost connection, or a body that is cut.
    fn preview(&mut self, engine: &mut Engine, items: &mut Vec<LogItem>) {
        if self.row.is_lost && self.left == 0 {
            return engine.step(Answer::Absent, items);
        }
        if self.has_fault() {
            match self.random.u8(..4) {
                // Status 204.
                0 => engine.step(Answer::Absent, items),
                // A body without fields.
                1 => engine.step(Answer::Preview(&LogPreview::default()), items),
                _ => {}
            }
            return;
        }
        let size = self.log.len();
        let start = self.log.ceil_char_boundary(size.saturating_sub(self.row.window));
        let content = &self.log[start..];
        let preview = match self.row.has_sizes {
            true => json!({"content": content, "current_size": content.len(), "full_size": size}),
            false => json!({ "content": content }),
        };
        engine.step(Answer::Preview(&serde_json::from_value(preview).unwrap()), items);
    }

    /// Passes a part of a range, or its end, to the engine.
    fn range(&mut self, from: u64, to: u64, engine: &mut Engine, items: &mut Vec<LogItem>) {
        let other = "another\n".repeat(200);
        let log = match self.row.link {
            Link::Works | Link::Breaks => &self.log,
            Link::Old => &self.old,
            Link::Other => &other,
            Link::Fails => "",
        };
        let (from, to) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
        let rest = log.as_bytes().get(from..to.min(log.len())).unwrap_or_default();
        let breaks = self.row.link == Link::Breaks && self.random.u8(..4) == 0;
        let part = &rest[..self.random.usize(..=rest.len().min(40))];
        match breaks || rest.is_empty() {
            true => engine.step(Answer::RangeEnd, items),
            false => engine.step(Answer::Bytes(part), items),
        }
    }

    /// Follows the log until the job has ended and its log was read once more.
    fn follow(&mut self) -> Vec<LogItem> {
        let (mut engine, mut items) = (Engine::new(None), Vec::new());
        loop {
            self.advance();
            let is_last = self.left == 0;
            match engine.request().unwrap() {
                Request::Preview => self.preview(&mut engine, &mut items),
                Request::Range { from, to } => self.range(from, to, &mut engine, &mut items),
            }
            if is_last && !engine.has_more() {
                items.extend(engine.finish());
                return items;
            }
        }
    }
}

/// Returns `true` if items are the log from this position to its end, with a gap for each part that
/// is missing; without a position, from any one.
fn is_log(items: &[LogItem], log: &str, from: Option<usize>) -> bool {
    // Positions that the items may have reached, each with `true` in the middle of a line, which
    // only a gap or the end may follow.
    let from = from.map_or(0..=log.len(), |from| from..=from);
    let mut places: BTreeSet<_> = from.map(|at| (at, false)).collect();
    for item in items {
        let mut next = BTreeSet::new();
        for (at, is_cut) in places {
            match item {
                LogItem::Gap { bytes: None } => next.extend((at..=log.len()).map(|at| (at, false))),
                LogItem::Gap { bytes: Some(bytes) } => {
                    next.insert((at + usize::try_from(*bytes).unwrap(), false));
                }
                LogItem::Line(line) => {
                    let rest = log.as_bytes().get(at..).filter(|_| !is_cut);
                    let rest = rest.and_then(|rest| rest.strip_prefix(line.as_bytes()));
                    if let Some(rest) = rest {
                        next.insert((at + line.len(), true));
                        next.extend(
                            rest.starts_with(b"\n").then_some((at + line.len() + 1, false)),
                        );
                    }
                }
            }
        }
        places = next;
    }
    places.iter().any(|(at, _)| *at == log.len())
}

/// Returns `true` if the last of these items are the whole log.
fn is_end(items: &[LogItem], log: &str) -> bool {
    (0..=items.len()).any(|at| is_log(&items[at..], log, Some(0)))
}

/// A followed log equals the stored one at its end, or has a gap where it does not. If the log was
/// replaced or dropped lines, or if its link leads to another one, the items after the last gap are
/// the end of the log; without a gap, the log is the end of the items.
#[test]
fn a_followed_log_is_the_stored_one_or_has_a_gap() {
    for row in ROWS {
        let mut gaps = 0;
        for seed in 0..SEEDS {
            let mut service = Service::new(row, seed);
            let items = service.follow();
            let log = &service.log;
            let last_gap = items.iter().rposition(|item| matches!(item, LogItem::Gap { .. }));
            // Bytes of a link that no preview confirms may be those of another log.
            let is_doubtful = matches!(row.link, Link::Breaks | Link::Old | Link::Other);
            let is_log = match last_gap {
                _ if row.is_whole => {
                    let lines = log.lines().map(|line| LogItem::Line(line.to_owned()));
                    items.iter().cloned().eq(lines)
                }
                // The oldest items may be those of lines that the log has dropped, or of another
                // log that ended with the first lines of the new one.
                _ if (row.rotates || row.is_replaced) && is_end(&items, log) => true,
                Some(gap) if row.rotates || row.is_replaced || is_doubtful => {
                    is_log(&items[gap..], log, None)
                }
                _ => is_log(&items, log, Some(0)),
            };
            assert!(is_log, "{}, seed {seed}: {items:?} of {log:?}", row.name);
            gaps += usize::from(last_gap.is_some());
        }
        let name = row.name;
        assert!(gaps > 0 || row.is_whole || row.rotates, "{name}: no run has a gap");
    }
}

/// The engine asks for the part that a preview lacks, with the content before it, and continues
/// with the preview.
#[test]
fn a_part_that_a_preview_lacks_is_requested_once() {
    let preview = |content: &str, full: usize| -> LogPreview {
        let sizes = json!({"content": content, "current_size": content.len(), "full_size": full});
        serde_json::from_value(sizes).unwrap()
    };
    let line = |text: &str| LogItem::Line(text.to_owned());
    let gap = LogItem::Gap { bytes: Some(4) };
    for (bytes, after, expected) in [
        (
            &b"one\ntwo\nthree\n"[..],
            "four\n",
            vec![line("one"), line("two"), line("three"), line("four")],
        ),
        // The link leads to another log.
        (
            b"uno\ntwo\nthree\n",
            "four\n",
            vec![line("one"), gap.clone(), line("three"), line("four")],
        ),
        // The link ends within the part.
        (b"one\n", "four\n", vec![line("one"), gap, line("three"), line("four")]),
    ] {
        let (mut engine, mut items) = (Engine::new(None), Vec::new());
        engine.step(Answer::Preview(&preview("one\n", 4)), &mut items);
        assert!(!engine.has_more());
        engine.step(Answer::Preview(&preview("three\n", 14)), &mut items);
        assert_eq!(engine.request(), Some(Request::Range { from: 0, to: 14 }));
        engine.step(Answer::Bytes(bytes), &mut items);
        if engine.request() != Some(Request::Preview) {
            engine.step(Answer::RangeEnd, &mut items);
        }
        assert_eq!((engine.request(), engine.has_more()), (Some(Request::Preview), true));
        let last = format!("three\n{after}");
        engine.step(Answer::Preview(&preview(&last, 19)), &mut items);
        assert!(!engine.has_more());
        assert_eq!(items, expected);
    }
}

#[test]
fn a_log_that_is_absent_or_deleted_ends_with_a_gap_if_it_had_content() {
    let log: LogPreview = serde_json::from_value(json!({"content": "one\ntw"})).unwrap();
    let lost = ["one", "tw"].map(|line| LogItem::Line(line.to_owned()));
    let gap = || LogItem::Gap { bytes: None };
    for (had_content, answer, expected) in [
        (false, Answer::Absent, vec![]),
        (false, Answer::Deleted, vec![gap()]),
        (true, Answer::Absent, [&lost[..], &[gap()]].concat()),
        (true, Answer::Deleted, [&lost[..], &[gap()]].concat()),
        (true, Answer::Preview(&LogPreview::default()), [&lost[..], &[gap()]].concat()),
    ] {
        let (mut engine, mut items) = (Engine::new(None), Vec::new());
        if had_content {
            engine.step(Answer::Preview(&log), &mut items);
        }
        engine.step(answer, &mut items);
        assert_eq!(engine.request().is_none(), matches!(answer, Answer::Deleted));
        items.extend(engine.finish());
        assert_eq!(items, expected, "{had_content} {answer:?}");
    }
}
