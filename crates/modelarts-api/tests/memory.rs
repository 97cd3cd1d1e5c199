//! Tests of the memory that decoding takes. They are a separate program, because the counter
//! includes all allocations of the process.

use modelarts_api::{
    decode::{self, Decode},
    types::{
        ListTrainingJobEventsResponse, ListTrainingJobsResponse, LogPreview, ResultTable,
        TrainingJobMetrics,
    },
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Length of the longest body, in bytes: slightly below the maximum that the client reads.
const LONGEST: usize = 63 << 20;
const LONG: usize = 12 << 20;
/// Memory that any response may take in addition, in bytes, including an error message.
const FLOOR: usize = (8 << 20) + (16 << 10);

/// Decodes a body, checks the peak memory against the length of the body, and returns whether
/// decoding succeeded.
fn decoded<T: Decode>(name: &str, body: String) -> bool {
    let length = body.len();
    let before = MEMORY.current_usage() - body.capacity();
    MEMORY.reset_peak_usage();
    let decoded = decode::body::<T>(body.as_bytes());
    let most = MEMORY.peak_usage() - before;
    #[allow(clippy::cast_precision_loss)]
    let times = most as f64 / length as f64;
    println!("{name}: {length} bytes, {times:.2} times as much in memory");
    assert!(most <= 4 * length + FLOOR, "{name}: {times:.2}");
    if let Err(error) = &decoded {
        let error = error.to_string();
        assert!(
            error.contains("it takes more than 4 times its length in memory"),
            "{name}: {error}"
        );
    }
    decoded.is_ok()
}

/// Returns a body with copies of an element in a list, at least `length` bytes long.
fn list_of(begin: &str, item: &str, end: &str, length: usize) -> String {
    let mut body = String::with_capacity(length + item.len() + end.len() + 1);
    body.push_str(begin);
    body.push_str(item);
    while body.len() < length {
        body.push(',');
        body.push_str(item);
    }
    body.push_str(end);
    body
}

#[test]
fn an_answer_takes_at_most_four_times_its_length() {
    let long = |begin: &str, item: &str, end: &str| list_of(begin, item, end, LONG);
    let jobs = list_of(r#"{"items":["#, "{}", "]}", LONGEST);
    assert!(!decoded::<ListTrainingJobsResponse>("the longest", jobs));
    // Elements that take much memory in proportion to their length.
    for (name, item) in [
        ("jobs", "{}"),
        ("jobs in boxes", r#"{"metadata":{},"status":{}}"#),
        ("no jobs", "\"no job at all, but a text of some length\""),
        ("labels", r#"{"metadata":{"labels":{"a":"b"}}}"#),
        ("annotations", r#"{"metadata":{"annotations":{"a":"b"}}}"#),
        ("tasks", r#"{"status":{"tasks":[""]}}"#),
        // One invalid element, which causes each element to be decoded separately.
        ("jobs, and one that is none", "{},7"),
    ] {
        let body = long(r#"{"items":["#, item, "]}");
        let good = decoded::<ListTrainingJobsResponse>(name, body);
        assert!(!good || name == "no jobs", "{name}");
    }
    for (name, item) in [("any JSON", "[]"), ("numbers", "0"), ("tables", r#"{"a":0}"#)] {
        let body = long(r#"{"data":[["#, item, "]]}");
        assert!(!decoded::<ResultTable>(name, body), "{name}");
    }
    let headers = long(r#"{"header":["#, r#""a""#, "]}");
    assert!(!decoded::<ResultTable>("short texts", headers));
    decoded::<TrainingJobMetrics>("zeros", long(r#"{"metrics":[{"value":["#, "0", "]}]}"));
    let events = long(r#"{"events":["#, "{}", "]}");
    assert!(!decoded::<ListTrainingJobEventsResponse>("events", events));

    // Realistic bodies can be decoded at any length.
    let job = include_str!("../benches/pages/job.json").trim();
    for length in [0, 1 << 20, LONG] {
        let jobs = list_of(r#"{"total":1,"items":["#, job, "]}", length);
        assert!(decoded::<ListTrainingJobsResponse>("real jobs", jobs));
        let event = concat!(
            r#"{"time":"2024-06-10T14:13:20+08:00","level":"Info","source":"Task","#,
            r#""message":"Training job is running."}"#
        );
        let events = list_of(r#"{"events":["#, event, "]}", length);
        assert!(decoded::<ListTrainingJobEventsResponse>("real events", events));
        let text = format!("{{\"content\":\"{}\"}}", "epoch 1, loss 0.25, ".repeat(length / 20));
        assert!(decoded::<LogPreview>("a real log", text));
    }
    // Metrics of a month with one value per minute.
    let series = format!(r#"{{"metric":"cpuUsage","value":[{}]}}"#, ["0"; 60 * 24 * 30].join(","));
    let metrics = format!(r#"{{"metrics":[{}]}}"#, [&*series; 10].join(","));
    assert!(decoded::<TrainingJobMetrics>("real metrics", metrics));
}
