//! Tab with the logs of a job: windows of lines, search, download.

use std::time::Duration;

use modelarts_console::ConsoleBuilder;
use serde_json::{Value, json};

use crate::support::{Fixture, Stream};

fn fast(console: ConsoleBuilder) -> ConsoleBuilder {
    console.interval(Duration::from_millis(20))
}

/// A job with these logs, and its page.
struct Logs {
    fixture: Fixture,
    id: String,
}

impl Logs {
    async fn start(phase: &str, logs: Value) -> Self {
        let fixture =
            Fixture::with(|emulator| emulator, |console| fast(console).session_key("key")).await;
        let mut job = json!({"name": "talking", "phase": phase, "logs": logs});
        if logs.as_object().unwrap().len() > 1 {
            job["job"] = json!({
                "kind": "job", "metadata": {"name": "talking"},
                "algorithm": {"engine": {"image_url": "seeds/image:1"}, "command": "true"},
                "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 2}},
            });
        }
        let id = fixture.seed(json!([job])).await.remove(0);
        Self { fixture, id }
    }

    fn path(&self, rest: &str) -> String {
        format!("/jobs/{}/{rest}", self.id)
    }

    async fn json(&self, rest: &str) -> Value {
        serde_json::from_str(&self.fixture.page(&self.path(rest)).await).unwrap()
    }

    async fn stream(&self) -> Stream {
        self.fixture.stream(&self.path("stream?view=logs"), "").await
    }

    /// Waits until all lines were read. Returns their number, of which no more follow.
    async fn read_all(&self) -> u64 {
        let mut stream = self.stream().await;
        let mut counts = Value::Null;
        loop {
            let message = stream.next().await.unwrap();
            match message.event.as_str() {
                "log" => counts = serde_json::from_str(&message.data).unwrap(),
                "end" => {
                    assert_eq!(counts["has_ended"], true, "{counts}");
                    return counts["lines"].as_u64().unwrap();
                }
                _ => {}
            }
        }
    }

    /// Returns the text of lines with their numbers.
    async fn lines(&self, query: &str) -> Vec<String> {
        let window = self.json(&format!("logs/lines?{query}")).await;
        let rows = window["rows"].as_array().unwrap().iter();
        rows.map(|row| {
            let parts: Vec<_> = row["parts"].as_array().unwrap().iter().collect();
            let text: String = parts.iter().map(|part| part.as_str().unwrap()).collect();
            format!("{} {text}", row["number"])
        })
        .collect()
    }
}

/// Returns `count` lines with their numbers.
fn numbered(count: u32) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for number in 1..=count {
        writeln!(text, "step {number}").unwrap();
    }
    text
}

#[tokio::test]
async fn a_line_that_repeats_is_shown_with_its_number() {
    let full = (0..1_200).map(|second| format!("08:{:02}:{:02} full\n", second / 60, second % 60));
    let text = format!("a\n{}b\n", full.collect::<String>());
    let logs = Logs::start("Completed", json!({"worker-0": text})).await;
    assert_eq!(logs.read_all().await, 9);
    let lines = [
        "1 a",
        "2 08:00:00 full",
        "3 08:00:01 full",
        "4 08:00:02 full",
        "5 … the line above, 10 times; the download has all lines",
        "6 … the line above, 100 times; the download has all lines",
        "7 … the line above, 1,000 times; the download has all lines",
        "8 … the line above, 1,200 times; the download has all lines",
        "9 b",
    ];
    assert_eq!(logs.lines("").await, lines);
    // The download is complete.
    assert_eq!(logs.fixture.page(&logs.path("logs/download?task=worker-0")).await, text);
}

#[tokio::test]
async fn lines_of_one_worker_and_of_all_are_shown() {
    let logs = Logs::start(
        "Completed",
        json!({"worker-0": "2026-01-15T08:30:01Z a\n2026-01-15T08:30:03Z c\n",
               "worker-1": "2026-01-15T08:30:02Z b\n"}),
    )
    .await;
    assert_eq!(logs.read_all().await, 3);
    let texts = |lines: Vec<String>| -> Vec<_> {
        let last = |line: String| line.split(' ').next_back().unwrap().to_owned();
        lines.into_iter().map(last).collect()
    };
    assert_eq!(texts(logs.lines("").await), ["a", "b", "c"]);
    assert_eq!(texts(logs.lines("task=worker-0").await), ["a", "c"]);
    assert_eq!(texts(logs.lines("task=worker-1").await), ["b"]);
    let window = logs.json("logs/lines").await;
    assert_eq!(window["rows"][1]["task"], "worker-1");
    assert_eq!(window["lines"], 3);
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.contains("<option>worker-1</option>"), "{page}");
    assert!(page.contains("<span class=\"task\">worker-1</span>"), "{page}");
    let response = logs.fixture.request("GET", &logs.path("logs?task=worker-9"));
    assert_eq!(response.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn lines_of_the_platform_and_times_are_marked() {
    let text = "[Modelarts Service Log]exiting\n[ModelArts Service Log][ERROR] lost\n\
                1970-01-01T08:01:00+08:00 step\n";
    let logs = Logs::start("Completed", json!({ "worker-0": text })).await;
    assert_eq!(logs.read_all().await, 3);
    let rows = logs.json("logs/lines").await["rows"].clone();
    let facts = rows.as_array().unwrap().iter().map(|row| {
        (row["is_system"].as_bool().unwrap(), row["level"].as_str(), row["time"].as_u64())
    });
    let expected = [(true, None, None), (false, Some("error"), None), (false, None, Some(60))];
    assert_eq!(facts.collect::<Vec<_>>(), expected);
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.contains("class=\"row system\" id=\"line-1\""), "{page}");
    assert!(page.contains("id=\"line-3\" data-number=\"3\" data-time=\"60\""), "{page}");
}

#[tokio::test]
async fn a_page_shows_the_last_lines_and_the_lines_around_a_line() {
    let logs = Logs::start("Completed", json!({"worker-0": numbered(3000)})).await;
    assert_eq!(logs.read_all().await, 3000);
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.contains("id=\"line-2801\""), "{page}");
    assert!(page.contains("id=\"line-3000\""));
    assert!(!page.contains("id=\"line-2800\""));
    let page = logs.fixture.page(&logs.path("logs?task=worker-0&line=500")).await;
    assert!(page.contains("class=\"row marked\" id=\"line-500\""), "{page}");
    assert!(page.contains("id=\"line-401\"") && page.contains("id=\"line-600\""));
    let lines = logs.lines("from=2999&count=5").await;
    assert_eq!(lines, ["2999 step 2999", "3000 step 3000"]);
    assert_eq!(logs.lines("from=1").await.len(), 2000);
    // A search reports an expression that is not valid, and a line can still be shown.
    assert_eq!(logs.lines("from=3000&q=%28&regex=on").await, ["3000 step 3000"]);
    for query in ["line=0", "line=x", "from=-1"] {
        let path = logs.path(&format!("logs/lines?{query}"));
        let response = logs.fixture.request("GET", &path).send().await.unwrap();
        assert_eq!(response.status(), 400, "{query}");
    }
}

#[tokio::test]
async fn hits_are_found_highlighted_and_counted_without_javascript_too() {
    let text = numbered(1000).replace("step 700", "Traceback (most recent call last):");
    let logs = Logs::start("Completed", json!({"worker-0": text})).await;
    logs.read_all().await;
    let found = logs.json("logs/search?q=STEP+9%5Cd%24&regex=on&find=next&line=92").await;
    assert_eq!(
        found,
        json!({"line": 93, "is_wrapped": false, "hit": 4, "hits": 10, "is_limited": false})
    );
    let found = logs.json("logs/search?find=previous-error").await;
    assert_eq!((&found["line"], &found["hits"]), (&json!(700), &json!(1)));
    let found = logs.json("logs/search?q=absent&find=next").await;
    assert_eq!((&found["line"], &found["hits"]), (&json!(null), &json!(0)));

    // A form without a script is redirected to the line.
    let path = logs.path("logs?task=&q=tep+55&find=next&case=on");
    let response = logs.fixture.request("GET", &path).send().await.unwrap();
    assert_eq!(response.status(), 303);
    let target = response.headers()["location"].to_str().unwrap().to_owned();
    assert!(target.ends_with("/logs?task=&q=tep+55&case=on&line=55#line-55"), "{target}");
    let page = logs.fixture.page(target.split_once('#').unwrap().0).await;
    assert!(page.contains("s<mark>tep 55</mark></span>"), "{page}");
    let page = logs.fixture.page(&logs.path("logs?q=absent&find=next")).await;
    assert!(page.contains("No line matches."), "{page}");

    // A search that is not valid says why, and the lines are still shown.
    let page = logs.fixture.page(&logs.path("logs?q=a(&regex=on&find=next")).await;
    assert!(page.contains("must be a regular expression: unclosed group"), "{page}");
    assert!(page.contains("id=\"line-1000\""));
    let response = logs
        .fixture
        .request("GET", &logs.path("logs/search?q=a(&regex=on&find=next"))
        .header("accept", "application/json")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 400);
    let problem: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    let message = problem["error"]["message"].as_str().unwrap();
    assert!(message.contains("unclosed group"), "{problem}");
}

#[tokio::test]
async fn a_log_is_downloaded_as_the_service_has_it() {
    let logs = Logs::start(
        "Completed",
        json!({"worker-0": "\u{1b}[31mred\u{1b}[0m\n", "worker-1": "<b>\n"}),
    )
    .await;
    let path = logs.path("logs/download?task=worker-0");
    let response = logs.fixture.request("GET", &path).send().await.unwrap();
    assert_eq!(
        response.headers()["content-disposition"],
        "attachment; filename=\"talking-worker-0.log\""
    );
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(response.text().await.unwrap(), "\u{1b}[31mred\u{1b}[0m\n");
    let all = logs.fixture.page(&logs.path("logs/download")).await;
    assert_eq!(all, "==> worker-0 <==\n\u{1b}[31mred\u{1b}[0m\n==> worker-1 <==\n<b>\n");
    let absent = logs.fixture.request("GET", &logs.path("logs/download?task=worker-7"));
    assert_eq!(absent.send().await.unwrap().status(), 404);
    // The page shows the text without control sequences, and no markup.
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.contains(">red</span>") && page.contains("&#60;b&#62;"), "{page}");
}

#[tokio::test]
async fn a_line_of_10_megabytes_is_cut_and_can_be_downloaded() {
    let long = "x".repeat(10_000_000);
    let text = format!("{long}\nnext\n");
    let logs = Logs::start("Completed", json!({"worker-0": text})).await;
    // The log is read in parts of 1 MiB.
    assert_eq!(logs.read_all().await, 11);
    let window = logs.json("logs/lines").await;
    let rows = window["rows"].as_array().unwrap();
    assert_eq!(rows[0]["len"], 1 << 20);
    assert_eq!(rows[0]["parts"][0].as_str().unwrap().len(), 4096);
    assert_eq!(rows[10]["parts"][0], "next");
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.len() < 100_000, "{}", page.len());
    assert!(page.contains("… whole line (1048576 bytes)"), "{page}");
    let line = logs.fixture.page(&logs.path("logs/line?line=1")).await;
    assert!(line == long[..1 << 20]);
    let found = logs.json("logs/search?q=xxxx&find=previous").await;
    assert_eq!(found["line"], 10);
    // The download is the log as the worker wrote it.
    let log = logs.fixture.page(&logs.path("logs/download?task=worker-0")).await;
    assert!(log == text);
}

#[tokio::test]
async fn a_running_job_shows_the_lines_after_a_line_of_10_megabytes() {
    let long = "x".repeat(10_000_000);
    let text = format!("first\n{long}\nnext\n");
    let logs = Logs::start("Running", json!({"worker-0": text})).await;
    let mut stream = logs.stream().await;
    // The line is read in parts of 1 MiB.
    while !stream.until("log").await.data.contains("\"lines\":12") {}
    let window = logs.json("logs/lines").await;
    let rows = window["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[0]["parts"][0], "first");
    let lengths = rows[1..11].iter().map(|row| row["len"].as_u64().unwrap());
    assert_eq!(lengths.sum::<u64>(), 10_000_000);
    assert_eq!(rows[11]["parts"][0], "next");
}

#[tokio::test]
async fn a_log_of_two_million_lines_is_read_in_windows() {
    let logs = Logs::start("Completed", json!({"worker-0": numbered(2_000_000)})).await;
    assert_eq!(logs.read_all().await, 2_000_000);
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.contains("id=\"line-2000000\"") && page.len() < 200_000);
    assert_eq!(logs.lines("from=1234567&count=1").await, ["1234567 step 1234567"]);
    let found = logs.json("logs/search?q=step+1999999&find=previous").await;
    assert_eq!((&found["line"], &found["hits"]), (&json!(1_999_999), &json!(1)));
}

#[tokio::test]
async fn lines_after_a_restart_of_the_server_are_those_of_the_log() {
    let mut logs = Logs::start("Running", json!({"worker-0": numbered(700)})).await;
    let mut stream = logs.stream().await;
    let mut last = String::new();
    loop {
        let message = stream.next().await.unwrap();
        last.clone_from(&message.id);
        if message.data.contains("\"lines\":700") {
            break;
        }
    }
    let before = logs.lines("from=601").await;
    logs.fixture.restart(|console| fast(console).session_key("key")).await;
    assert_eq!(stream.until_end().await, 0);
    let mut stream = logs.fixture.stream(&logs.path("stream?view=logs"), &last).await;
    // The position of the first server is not one of the second, so the page reads its lines again.
    assert_eq!(stream.next().await.unwrap().event, "reset");
    while !stream.until("log").await.data.contains("\"lines\":700") {}
    assert_eq!(logs.lines("from=601").await, before);
    assert_eq!(before.len(), 100);
}

#[tokio::test]
async fn logs_that_cannot_be_read_say_why() {
    use modelarts_emulator::faults::{Fault, FaultRule};
    let logs = Logs::start("Running", json!({"worker-0": "a\n"})).await;
    let denied = Fault::error(403, "ModelArts.0210", "no permission for logs");
    let rule = FaultRule::always("ShowTrainingJobLogsPreview", denied);
    logs.fixture.emulator.faults().add(rule).unwrap();
    let mut stream = logs.stream().await;
    let message = stream.until("interrupted").await;
    assert!(message.data.contains("no permission for logs"), "{}", message.data);
    let page = logs.fixture.page(&logs.path("logs")).await;
    assert!(page.contains("no permission for logs"), "{page}");
    logs.fixture.emulator.faults().clear();
    stream.until("resumed").await;
    assert_eq!(logs.lines("").await, ["1 a"]);
}
