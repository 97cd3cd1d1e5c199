//! Logs that are longer than a chunk.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{clock::ManualClock, jobs::RunnerKind, script::Script};
use serde_json::{Value, json};

use crate::support::{Reply, Site};

/// Number of lines of a log that is longer than two chunks.
const LINES: usize = 60_000;

fn lines(from: usize, to: usize) -> String {
    (from..=to).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn long_logs_are_given_whole_and_by_line() {
    let site = Site::start().await;
    let script = format!("for n in range(1, {LINES} + 1): print('line', n)\n");
    let id = site.run(&site.script("long", &script)).await;
    let all = lines(1, LINES);
    assert!(all.len() > 600_000, "{}", all.len());

    let path = format!("/training-jobs/{id}/tasks/worker-0/logs/url");
    let url = site.get(&path).await.json()["obs_url"].clone();
    let request = site.client.http.get(url.as_str().unwrap());
    let whole = Reply::of(request.send().await.unwrap()).await;
    assert_eq!(whole.headers["content-length"], all.len().to_string());
    assert_eq!(whole.headers["content-type"], "text/plain; charset=utf-8");
    assert!(whole.text == all, "{} bytes came", whole.text.len());

    let length = all.len();
    let last = length - 1;
    for (range, status, part, content_range) in [
        ("bytes=300000-", 206, 300_000..length, format!("bytes 300000-{last}/{length}")),
        ("bytes=7-600000", 206, 7..600_001, format!("bytes 7-600000/{length}")),
        ("bytes=9-99999999", 206, 9..length, format!("bytes 9-{last}/{length}")),
        (&format!("bytes={length}-"), 416, 0..0, format!("bytes */{length}")),
        // Other ranges are ignored.
        ("bytes=7-3", 200, 0..length, String::new()),
        ("lines=1-2", 200, 0..length, String::new()),
    ] {
        let request = site.client.http.get(url.as_str().unwrap());
        let reply = Reply::of(request.header("range", range).send().await.unwrap()).await;
        assert_eq!(reply.status, status, "{range}");
        assert!(reply.text == all[part], "{range}: {} bytes", reply.text.len());
        let sent = reply.headers.get("content-range");
        let sent = sent.map_or("", |range| range.to_str().unwrap());
        assert_eq!(sent, content_range, "{range}");
    }

    for (query, from, to) in [
        ("", LINES - 49, LINES),
        ("?lines=500&base_line=30000", 29_500, 29_999),
        ("?lines=500&base_line=59000&order=asc", 59_001, 59_500),
        ("?lines=500&base_line=59999&order=asc", LINES, LINES),
        ("?lines=2&order=asc", 1, 2),
    ] {
        let path = format!("/training-jobs/{id}/logs/worker-0{query}");
        let page = site.get(&path).await.json();
        assert_eq!(page["start_line"], from.to_string(), "{query}");
        assert_eq!(page["end_line"], to.to_string(), "{query}");
        assert_eq!(page["lines"], to + 1 - from, "{query}");
        assert_eq!(page["content"], lines(from, to), "{query}");
    }
}

/// A response contains at most as many bytes as a preview: all lines that fit, or the beginning of
/// a line that does not fit.
#[tokio::test]
async fn lines_that_do_not_fit_are_in_the_next_page() {
    const MOST: usize = 5 * 1024 * 1024;
    let site = Site::start().await;
    let script = "print('short')\nprint('x' * (6 << 20))\nprint('end')\n";
    let id = site.run(&site.script("wide", script)).await;
    let page = async |query: &str| {
        let path = format!("/training-jobs/{id}/logs/worker-0{query}");
        let page: Value = site.get(&path).await.json();
        let text = page["content"].as_str().unwrap().to_owned();
        (page["start_line"].clone(), page["lines"].clone(), text)
    };
    let (start, lines, text) = page("?order=asc").await;
    assert_eq!((start, lines, text.as_str()), ("1".into(), 1.into(), "short\n"));
    let (start, lines, text) = page("?order=asc&base_line=1").await;
    assert_eq!((start, lines, text.len()), ("2".into(), 1.into(), MOST));
    let (start, lines, text) = page("?base_line=3").await;
    assert_eq!((start, lines, text.len()), ("2".into(), 1.into(), MOST));
    let (start, lines, text) = page("?order=asc&base_line=2").await;
    assert_eq!((start, lines, text.as_str()), ("3".into(), 1.into(), "end\n"));
}

/// The log of a running simulated job contains each line exactly once, whichever operation reads it
/// first.
#[tokio::test]
async fn a_simulated_log_has_each_line_once_while_the_job_runs() {
    let script = json!({"default": [{"seconds": 60, "log": ["a", {"at": 1, "line": "b"}]}]});
    let script = Script::from_json(&script.to_string()).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site =
        Site::with(|builder| builder.clock(clock as _).runner(RunnerKind::Simulated(script))).await;
    let id = site.create(&site.script("simulated", "")).await;
    site.emulator.advance(Duration::from_secs(10)).await;
    assert_eq!(site.log(&id).await, "a\nb\n");
    let path = format!("/training-jobs/{id}/logs/worker-0?order=asc");
    let page = site.get(&path).await.json();
    assert_eq!(page["content"], "a\nb\n");
    let path = format!("/training-jobs/{id}/logs/worker-0?order=asc&base_line=1");
    let page = site.get(&path).await.json();
    assert_eq!(page["content"], "b\n");
}
