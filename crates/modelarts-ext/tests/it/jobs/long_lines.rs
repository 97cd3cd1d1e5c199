//! Tests of followed logs with lines that exceed a response: the service cuts them.

use futures::TryStreamExt;
use modelarts_emulator::faults::Fault;
use modelarts_ext::{LogItem, RetryPolicy, jobs::logs::LogAccess};

use super::fixtures::blocked_job;
use crate::support::site::Site;

const LINK: &str = "ShowObsUrlOfTrainingJobLogs";
/// Length of a long line: about two responses.
const LONG: usize = 10_000_000;
/// Length at which the service cuts a line.
const CUT: usize = 5 << 20;

/// Returns the lines, with the parts of a long line joined.
fn joined(items: &[LogItem]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_open = false;
    for item in items {
        let line = match item {
            LogItem::Line(line) => line.clone(),
            other => format!("{other:?}"),
        };
        match lines.last_mut().filter(|_| is_open) {
            Some(last) => last.push_str(&line),
            None => lines.push(line.clone()),
        }
        is_open = line.len() == 1 << 20;
    }
    lines
}

#[tokio::test]
async fn a_running_job_shows_the_lines_after_a_line_that_the_service_cuts() {
    let site = Site::start().await;
    let long = |end: &str| format!("{}{end}", "x".repeat(LONG));
    for (name, before) in [
        ("first", vec![long("1")]),
        ("second", vec!["a".to_owned(), long("1")]),
        ("later", vec!["a".to_owned(), "b".to_owned(), long("1")]),
        (
            "equal",
            vec![long("1"), long("2"), "b".to_owned(), long("3")],
        ),
    ] {
        let prints: String = before
            .iter()
            .map(|line| match line.strip_prefix(&"x".repeat(LONG)) {
                Some(end) => format!("print('x' * {LONG} + '{end}')\n"),
                None => format!("print('{line}')\n"),
            })
            .collect();
        // The line `next` is complete, and the line after it is not.
        let before_barrier =
            format!("import sys\n{prints}print('next')\nprint('o', end='')\nsys.stdout.flush()");
        let job = blocked_job(&site, name, &before_barrier, "print('pen')\nprint('end')").await;
        let pauses = site.clock.slept().len();
        let log = job.logs("worker-0").read_by(LogAccess::LineNumbers);
        let mut stream = log.follow();
        let mut items = Vec::new();
        while items.last() != Some(&LogItem::Line("next".into())) {
            items.push(stream.try_next().await.unwrap().expect("the log has ended"));
        }
        // The job still runs.
        assert_eq!(site.clock.slept().len(), pauses, "{name}");
        items.extend(stream.try_collect::<Vec<_>>().await.unwrap());
        let mut expected = before;
        expected.extend(["next", "open", "end"].map(str::to_owned));
        assert!(joined(&items) == expected, "{name}: {} items", items.len());
    }
}

#[tokio::test]
async fn a_long_line_at_the_end_of_a_log_is_whole() {
    let site = Site::start().await;
    for (name, before, end) in [
        ("only", "", ""),
        ("only-with-break", "", "\\n"),
        ("second", "a\\n", ""),
        ("third", "a\\nb\\n", "\\n"),
    ] {
        let print = format!("print('{before}' + 'x' * {LONG}, end='{end}')");
        let job = site.script(name, &print).submit().await.unwrap();
        site.emulator.wait_until_settled(job.id()).await;
        let log = job.logs("worker-0").read_by(LogAccess::LineNumbers);
        let items: Vec<_> = log.follow().try_collect().await.unwrap();
        let lines = joined(&items);
        let (last, lines) = lines.split_last().unwrap();
        assert!(*last == "x".repeat(LONG), "{name}: {} bytes", last.len());
        assert_eq!(lines, before.split_terminator("\\n").collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_rest_of_a_cut_line_is_a_gap_without_a_link() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let print = format!("print('x' * {LONG})\nprint('next')");
    let job = site.script("cut", &print).submit().await.unwrap();
    site.emulator.wait_until_settled(job.id()).await;
    let job = client.training_jobs().get(job.id()).await.unwrap();
    let refused = Fault::Status {
        status: 403,
        retry_after: None,
        error_code: None,
        error_msg: None,
    };
    site.fault(100, LINK, refused);
    let log = job.logs("worker-0").read_by(LogAccess::LineNumbers);
    let items: Vec<_> = log.follow().try_collect().await.unwrap();
    let gap = LogItem::Gap { bytes: None };
    let [parts @ .., _, _] = items.as_slice() else {
        panic!("{} items", items.len());
    };
    let text: String = joined(parts).concat();
    assert!(text == "x".repeat(CUT), "{} bytes", text.len());
    assert_eq!(items[parts.len()..], [gap, LogItem::Line("next".into())]);
}
