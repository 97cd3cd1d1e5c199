//! Tests of `LineReader` with logs that grow, lose lines, and are restarted while they are read.

use std::sync::Mutex;

use futures::executor::block_on;
use modelarts_api::{
    BoxFuture,
    types::{LogLines, SortOrder},
};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    error::{Error, ErrorKind},
    jobs::logs::{
        item::LogItem,
        lines::{LineReader, LineSource},
    },
    pagination::tests::config,
};

/// Behavior of a simulated service in the cases that sources leave open (SOURCES S, and "Without a
/// number").
#[derive(Clone, Debug)]
struct ServiceBehavior {
    /// A response begins with the line from which it continues.
    repeats: bool,
    /// The order `desc` leads forward, as in the older operation.
    swapped: bool,
    /// A request without a line number returns the newest lines.
    newest: bool,
    /// The maximum number of lines of a response.
    max_lines: usize,
    /// The last line of a response ends with a line break.
    ends: bool,
    /// Responses in backward direction begin with the newest line. Such a service is supported only
    /// for complete lines.
    reversed: bool,
    /// The maximum size of a response. A longer line is cut, and is the only line of a response.
    max_bytes: usize,
    /// Line numbers are timestamps. Such a log continues and is never restarted.
    times: bool,
}

const EMULATOR: ServiceBehavior = ServiceBehavior {
    repeats: false,
    swapped: false,
    newest: false,
    max_lines: 500,
    ends: true,
    reversed: false,
    max_bytes: usize::MAX,
    times: false,
};

/// Log of a simulated service.
struct Log {
    behavior: ServiceBehavior,
    /// Line numbers with their lines; the last line may be incomplete.
    lines: Mutex<Vec<(u64, String)>>,
    next: Mutex<u64>,
    requests: Mutex<Vec<(Option<String>, SortOrder)>>,
    /// Texts that are written after the responses, one after each.
    growth: Mutex<Vec<&'static str>>,
}

impl Log {
    fn new(behavior: ServiceBehavior) -> Self {
        let next = if behavior.times {
            1_718_000_305_118_000_000
        } else {
            1
        };
        Self {
            behavior,
            lines: Mutex::default(),
            next: Mutex::new(next),
            requests: Mutex::default(),
            growth: Mutex::default(),
        }
    }

    fn write(&self, text: &str) {
        let mut lines = self.lines.lock().unwrap();
        let mut next = self.next.lock().unwrap();
        for piece in text.split_inclusive('\n') {
            match lines.last_mut() {
                Some((_, line)) if !line.ends_with('\n') => line.push_str(piece),
                _ => {
                    lines.push((*next, piece.to_owned()));
                    *next += if self.behavior.times { 1_000_003 } else { 1 };
                }
            }
        }
    }

    fn restart(&self) {
        self.lines.lock().unwrap().clear();
        *self.next.lock().unwrap() = 1;
    }

    fn answer(&self, base: Option<u64>, order: SortOrder) -> LogLines {
        let lines = self.lines.lock().unwrap();
        let behavior = &self.behavior;
        let forward = (order == SortOrder::Asc) != behavior.swapped;
        let behind = |number: u64, base: u64| number > base || behavior.repeats && number == base;
        let before = |number: u64, base: u64| number < base || behavior.repeats && number == base;
        let fit: Vec<&(u64, String)> = lines
            .iter()
            .filter(|(number, _)| match base {
                None => true,
                Some(base) if forward => behind(*number, base),
                Some(base) => before(*number, base),
            })
            .collect();
        let from_the_start = forward && (base.is_some() || !behavior.newest);
        let mut page = match from_the_start {
            true => fit[..fit.len().min(behavior.max_lines)].to_vec(),
            false => fit[fit.len().saturating_sub(behavior.max_lines)..].to_vec(),
        };
        let size = |page: &[&(u64, String)]| page.iter().map(|(_, line)| line.len()).sum::<usize>();
        while size(&page) > behavior.max_bytes && page.len() > 1 {
            page.remove(if forward { page.len() - 1 } else { 0 });
        }
        if behavior.reversed && !forward {
            page.reverse();
        }
        let mut content: String = page.iter().map(|(_, line)| line.as_str()).collect();
        content.truncate(behavior.max_bytes);
        if !behavior.ends && content.ends_with('\n') {
            content.pop();
        }
        let number = |line: Option<&&(u64, String)>| line.map(|(number, _)| number.to_string());
        let (first, last) = (number(page.first()), number(page.last()));
        let body = json!({"start_line": first, "end_line": last, "lines": page.len(),
                          "content": content});
        serde_json::from_value(body).unwrap()
    }
}

impl LineSource for Log {
    fn fetch_lines(
        &self,
        base: Option<&str>,
        order: SortOrder,
    ) -> BoxFuture<'_, Result<LogLines, Error>> {
        let mut requests = self.requests.lock().unwrap();
        assert!(requests.len() < 5000, "it does not end");
        requests.push((base.map(str::to_owned), order));
        let answer = self.answer(base.map(|base| base.parse().unwrap()), order);
        if let Some(text) = self.growth.lock().unwrap().pop() {
            self.write(text);
        }
        Box::pin(async { Ok(answer) })
    }
}

/// Polls until no more lines are available, and returns the lines.
fn poll_lines(reader: &mut LineReader, log: &Log) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let (items, more) = block_on(reader.poll(log)).unwrap();
        lines.extend(items.into_iter().map(line));
        if !more {
            return lines;
        }
    }
}

fn line(item: LogItem) -> String {
    match item {
        LogItem::Line(line) => line,
        LogItem::Gap { bytes } => format!("gap {bytes:?}"),
    }
}

#[test]
fn a_quiet_log_costs_two_requests_a_look() {
    let log = Log::new(EMULATOR);
    let mut reader = LineReader::default();
    assert_eq!(poll_lines(&mut reader, &log), [""; 0]);
    log.write("one\ntw");
    assert_eq!(poll_lines(&mut reader, &log), ["one"]);
    log.write("o\nthree\n");
    assert_eq!(poll_lines(&mut reader, &log), ["two", "three"]);
    let before = log.requests.lock().unwrap().len();
    for _ in 0..10 {
        assert_eq!(poll_lines(&mut reader, &log), [""; 0]);
    }
    assert_eq!(log.requests.lock().unwrap().len() - before, 20);
    assert_eq!(reader.finish(), None);
}

#[test]
fn a_line_that_grows_between_two_requests_is_given_whole() {
    for (repeats, times) in [(false, false), (true, false), (false, true), (true, true)] {
        // The rest of the line is written after each possible response.
        for at in 0..6 {
            let log = Log::new(ServiceBehavior {
                repeats,
                times,
                ..EMULATOR
            });
            let mut reader = LineReader::default();
            log.write("one\ntwo\nthr");
            let mut growth = vec![""; at];
            growth.push("ee\nfour\nfi");
            growth.push("ve\nsix\n");
            growth.reverse();
            *log.growth.lock().unwrap() = growth;
            let mut lines = poll_lines(&mut reader, &log);
            while !log.growth.lock().unwrap().is_empty() {
                lines.extend(poll_lines(&mut reader, &log));
            }
            lines.extend(poll_lines(&mut reader, &log));
            assert_eq!(
                lines,
                ["one", "two", "three", "four", "five", "six"],
                "{at} {times}"
            );
        }
    }
}

#[test]
fn lines_that_the_service_threw_away_are_a_gap() {
    let log = Log::new(ServiceBehavior {
        times: true,
        ..EMULATOR
    });
    let mut reader = LineReader::default();
    log.write("1\n2\n3\n");
    assert_eq!(poll_lines(&mut reader, &log), ["1", "2", "3"]);
    log.write("4\n5\n6\n");
    log.lines.lock().unwrap().drain(..4);
    assert_eq!(poll_lines(&mut reader, &log), ["gap None", "5", "6"]);
    log.write("7\n");
    assert_eq!(poll_lines(&mut reader, &log), ["7"]);
}

#[test]
fn lines_that_were_given_and_thrown_away_are_neither_doubled_nor_missed() {
    let log = Log::new(EMULATOR);
    let mut reader = LineReader::default();
    log.write("1\n2\n3\n4\n5\n6\nno end");
    assert_eq!(
        poll_lines(&mut reader, &log),
        ["1", "2", "3", "4", "5", "6"]
    );
    log.lines.lock().unwrap().drain(..4);
    assert_eq!(poll_lines(&mut reader, &log), [""; 0]);
    log.write(" so far\n8\n");
    log.lines.lock().unwrap().drain(..1);
    assert_eq!(poll_lines(&mut reader, &log), ["no end so far", "8"]);
    // The log drops all lines that were read. The next line has the next line number.
    log.write("9\n");
    log.lines.lock().unwrap().drain(..3);
    assert_eq!(poll_lines(&mut reader, &log), ["9"]);
    log.write("10\n11\n");
    log.lines.lock().unwrap().drain(..2);
    assert_eq!(poll_lines(&mut reader, &log), ["gap None", "11"]);
}

#[test]
fn equal_lines_behind_lines_that_were_thrown_away_are_not_lost() {
    for repeats in [false, true] {
        let log = Log::new(ServiceBehavior {
            repeats,
            ..EMULATOR
        });
        let mut reader = LineReader::default();
        log.write(&"x\n".repeat(14));
        assert_eq!(poll_lines(&mut reader, &log), ["x"; 14]);
        // The log drops all but two of the returned lines, and two lines are added.
        log.lines.lock().unwrap().drain(..12);
        log.write("x\nx\n");
        assert_eq!(poll_lines(&mut reader, &log), ["x"; 2]);
        // The log drops all returned lines and the first new line.
        log.write(&"x\n".repeat(4));
        log.lines.lock().unwrap().drain(..5);
        assert_eq!(poll_lines(&mut reader, &log), ["gap None", "x", "x", "x"]);
        // The log drops all returned lines except the incomplete one.
        log.write("x");
        assert_eq!(poll_lines(&mut reader, &log), [""; 0]);
        log.write("\nx\n");
        log.lines.lock().unwrap().drain(..3);
        assert_eq!(poll_lines(&mut reader, &log), ["x", "x"]);
    }
}

/// Log for which every third request fails.
struct Unsteady(Log, Mutex<u32>);

impl LineSource for Unsteady {
    fn fetch_lines(
        &self,
        base: Option<&str>,
        order: SortOrder,
    ) -> BoxFuture<'_, Result<LogLines, Error>> {
        let mut count = self.1.lock().unwrap();
        *count += 1;
        match *count % 3 {
            0 => Box::pin(async { Err(Error::new(ErrorKind::Timeout, "too late")) }),
            _ => self.0.fetch_lines(base, order),
        }
    }
}

#[test]
fn items_of_a_poll_that_failed_later_are_kept() {
    let log = Unsteady(
        Log::new(ServiceBehavior {
            max_lines: 2,
            ..EMULATOR
        }),
        Mutex::new(0),
    );
    log.0.write(
        &(0..20)
            .map(|number| format!("{number}\n"))
            .collect::<String>(),
    );
    let mut reader = LineReader::default();
    // The first poll needs three responses before it yields items, and the third request fails.
    assert!(block_on(reader.poll(&log)).is_err());
    let (items, _) = block_on(reader.poll(&log.0)).unwrap();
    assert_eq!(items.len(), 20);
    log.0.write(
        &(20..40)
            .map(|number| format!("{number}\n"))
            .collect::<String>(),
    );
    let (mut lines, mut errors) = (Vec::new(), 0);
    for _ in 0..60 {
        match block_on(reader.poll(&log)) {
            Ok((items, _)) => lines.extend(items.into_iter().map(line)),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Timeout);
                errors += 1;
            }
        }
    }
    let expected: Vec<String> = (20..40).map(|number| number.to_string()).collect();
    assert_eq!(lines, expected);
    assert!(errors > 10, "{errors}");
}

#[test]
fn a_log_that_began_again_is_read_from_its_start() {
    let log = Log::new(EMULATOR);
    let mut reader = LineReader::default();
    log.write("first\nrun\nhalf a li");
    assert_eq!(poll_lines(&mut reader, &log), ["first", "run"]);
    log.restart();
    log.write("again\n");
    assert_eq!(poll_lines(&mut reader, &log), ["half a li", "again"]);
    log.restart();
    log.write("a third\nrun\nthat is\nlonger\n");
    assert_eq!(
        poll_lines(&mut reader, &log),
        ["a third", "run", "that is", "longer"]
    );
}

#[test]
fn a_long_log_is_read_from_its_start_in_bounded_looks() {
    for newest in [false, true] {
        let log = Log::new(ServiceBehavior { newest, ..EMULATOR });
        let long = "x".repeat(4000);
        for number in 0..3000 {
            log.write(&format!("{number} {long}\n"));
        }
        let mut reader = LineReader::default();
        let mut numbers = Vec::new();
        let mut polls = 0;
        loop {
            let (items, more) = block_on(reader.poll(&log)).unwrap();
            polls += 1;
            let lines = items.into_iter().map(line);
            numbers.extend(lines.map(|line| line.split(' ').next().unwrap().to_owned()));
            if !more {
                break;
            }
        }
        if newest {
            // Only the 5 MB before the newest page are read.
            assert_eq!(numbers[0], "gap");
            assert_eq!(numbers[1], "1000");
            assert_eq!(numbers.len(), 2001);
        } else {
            assert_eq!(
                numbers,
                (0..3000).map(|n| n.to_string()).collect::<Vec<_>>()
            );
            assert_eq!(polls, 3);
        }
    }
}

#[test]
fn lines_without_numbers_are_refused() {
    struct Bare;
    impl LineSource for Bare {
        fn fetch_lines(
            &self,
            _: Option<&str>,
            _: SortOrder,
        ) -> BoxFuture<'_, Result<LogLines, Error>> {
            Box::pin(async { Ok(serde_json::from_value(json!({"content": "a\n"})).unwrap()) })
        }
    }
    let error = block_on(LineReader::default().poll(&Bare)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the service gives lines of a log without their numbers; read it by preview"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Write(String),
    Look,
    BeginAgain,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => "[ab\n]{0,12}".prop_map(Step::Write),
        4 => Just(Step::Look),
        1 => Just(Step::BeginAgain),
    ];
    prop::collection::vec(step, 0..60)
}

fn behaviors() -> impl Strategy<Value = ServiceBehavior> {
    (any::<[bool; 6]>(), 3..40_usize).prop_map(
        |([repeats, swapped, newest, ends, reversed, times], max_lines)| ServiceBehavior {
            repeats,
            swapped,
            newest,
            max_lines,
            ends,
            reversed,
            max_bytes: usize::MAX,
            times,
        },
    )
}

proptest! {
    #![proptest_config(config())]

    /// A log of equal lines that drops returned lines yields each line once.
    #[test]
    fn a_random_log_of_equal_lines_gives_each_once(
        steps in prop::collection::vec((0_usize..6, any::<bool>(), 0_usize..6), 1..40),
        repeats in any::<bool>(),
        max_lines in 3..40_usize,
    ) {
        let log = Log::new(ServiceBehavior { repeats, max_lines, ..EMULATOR });
        let mut reader = LineReader::default();
        let (mut given, mut written) = (Vec::new(), String::new());
        for (lines, open, thrown_away) in steps {
            for _ in 0..lines {
                log.write("x\n");
                written.push_str("x\n");
            }
            if open {
                log.write("x");
                written.push('x');
            }
            given.extend(poll_lines(&mut reader, &log));
            // Two of the returned lines remain.
            let mut lines = log.lines.lock().unwrap();
            let max_lines = lines.len().saturating_sub(3);
            lines.drain(..thrown_away.min(max_lines));
        }
        given.extend(reader.finish().map(line));
        let lines: Vec<&str> = written.lines().collect();
        prop_assert_eq!(given, lines);
    }

    /// A log with lines that exceed a response yields each line once.
    #[test]
    fn a_random_log_of_long_lines_gives_each_once(
        steps in prop::collection::vec((prop::collection::vec(0_usize..40, 0..4), any::<bool>()), 1..40),
        times in any::<bool>(),
        max_bytes in 12..40_usize,
    ) {
        let log = Log::new(ServiceBehavior { times, max_bytes, ..EMULATOR });
        let mut reader = LineReader::default();
        let (mut given, mut written) = (Vec::new(), "start\n".to_owned());
        log.write(&written);
        let poll = |reader: &mut LineReader, given: &mut Vec<String>, written: &str| loop {
            let (items, more) = block_on(reader.poll(&log)).unwrap();
            given.extend(items.into_iter().map(line));
            // Each line begins with its number.
            let cut = reader.take_cut_line();
            given.extend(cut.map(|cut| {
                let whole = written.lines().find(|line| line.starts_with(&cut));
                whole.unwrap().to_owned()
            }));
            if !more {
                return;
            }
        };
        for (number, (lengths, is_open)) in steps.into_iter().enumerate() {
            let mut text = String::new();
            for (index, length) in lengths.into_iter().enumerate() {
                text.push_str(&format!("{number}.{index} {}\n", "x".repeat(length)));
            }
            if is_open && text.ends_with('\n') {
                text.pop();
            }
            log.write(&text);
            written.push_str(&text);
            poll(&mut reader, &mut given, &written);
        }
        log.write("\nend\n");
        written.push_str("\nend\n");
        poll(&mut reader, &mut given, &written);
        prop_assert_eq!(reader.finish(), None);
        let lines: Vec<&str> = written.lines().collect();
        prop_assert_eq!(given, lines);
    }

    /// Each line is returned once and in order, with every behavior that the documents allow. When
    /// a log is restarted, its unread lines are not returned.
    #[test]
    fn a_random_log_gives_each_line_once(behavior in behaviors(), steps in steps()) {
        let log = Log::new(behavior.clone());
        let mut reader = LineReader::default();
        let mut given = Vec::new();
        // Content of each run, with its length in bytes at the last poll.
        let mut runs = vec![(String::new(), 0)];
        for step in steps {
            let run = runs.len() - 1;
            match step {
                Step::Write(mut text) => {
                    if behavior.reversed && !text.is_empty() {
                        text.push('\n');
                    }
                    // Each line begins with the number of its run.
                    let start = |before: &str| before.is_empty() || before.ends_with('\n');
                    for piece in text.split_inclusive('\n') {
                        let piece = match start(&runs[run].0) {
                            true => format!("{run} {piece}"),
                            false => piece.to_owned(),
                        };
                        log.write(&piece);
                        runs[run].0.push_str(&piece);
                    }
                }
                Step::Look => {
                    given.extend(poll_lines(&mut reader, &log));
                    runs[run].1 = runs[run].0.len();
                }
                Step::BeginAgain if !behavior.times => {
                    log.restart();
                    runs.push((String::new(), 0));
                }
                Step::BeginAgain => {}
            }
        }
        given.extend(poll_lines(&mut reader, &log));
        given.extend(reader.finish().map(line));
        if let Some(run) = runs.last_mut() {
            run.1 = run.0.len();
        }
        let looked: Vec<&str> = runs.iter().flat_map(|(text, seen)| text[..*seen].lines()).collect();
        prop_assert_eq!(given, looked);
    }
}
