//! Tests of followed logs of a job without a start time, whose requests fail before its end.

use std::sync::Mutex;

use futures::{FutureExt, TryStreamExt};
use modelarts_ext::{LogItem, RetryPolicy, jobs::logs::LogAccess};
use reqwest::Request;
use serde_json::{Value, json};

use crate::support::{
    clock::TestClock,
    network::{self, NetworkReply, client_of},
};

/// Maximum number of lines of a response.
const PAGE: usize = 7;

/// Log of a simulated service. Each request for it adds lines.
struct Service {
    random: fastrand::Rng,
    lines: Vec<String>,
    /// Number of requests for the log until the end of the job.
    left: u32,
    /// Response instead of some of the others, until the end.
    fault: (u16, &'static str),
}

impl Service {
    fn reply(&mut self, request: &Request) -> NetworkReply {
        let url = request.url();
        if !url.path().contains("/logs/") {
            let phase = if self.left > 0 {
                "Running"
            } else {
                "Completed"
            };
            let body = json!({"metadata": {"id": "job-1", "name": "job"},
                              "status": {"phase": phase, "tasks": ["worker-0"]}});
            return network::reply(200, body);
        }
        if self.left > 0 && self.random.u8(..10) < 4 {
            self.grow();
            return network::reply(self.fault.0, self.fault.1);
        }
        let body = match url.path().ends_with("/preview") {
            true => {
                let content: String = self.lines.concat();
                json!({"content": content, "current_size": content.len(),
                       "full_size": content.len()})
            }
            false => self.page(request),
        };
        self.grow();
        network::reply(200, body)
    }

    fn grow(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            for _ in 0..self.random.usize(..9) {
                self.lines.push(format!("line {}\n", self.lines.len() + 1));
            }
        }
    }

    /// Returns the lines after or before a base line, by their numbers from 1.
    fn page(&self, request: &Request) -> Value {
        let query = |name: &str| {
            let mut pairs = request.url().query_pairs();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value)
        };
        let base = query("base_line").map(|base| base.parse::<usize>().unwrap());
        let (from, to) = match query("order").as_deref() {
            Some("desc") => {
                let end = base.map_or(self.lines.len(), |base| base - 1);
                (end.saturating_sub(PAGE), end)
            }
            _ => {
                let start = base.unwrap_or(0);
                (start, self.lines.len().min(start + PAGE))
            }
        };
        match &self.lines[from..to] {
            [] => json!({"start_line": "0", "end_line": "0", "lines": 0, "content": ""}),
            lines => json!({"start_line": (from + 1).to_string(), "end_line": to.to_string(),
                            "lines": lines.len(), "content": lines.concat()}),
        }
    }
}

#[test]
fn a_followed_log_is_whole_whatever_fails_before_the_end() {
    let not_generated = r#"{"error_code": "ModelArts.2818", "error_msg": "no log"}"#;
    for fault in [
        (204, ""),
        (400, not_generated),
        (404, "<html>Not Found</html>"),
        (
            429,
            r#"{"error_code": "APIG.0308", "error_msg": "throttled"}"#,
        ),
        (503, ""),
    ] {
        for access in [LogAccess::LineNumbers, LogAccess::Preview] {
            // If line numbers are required, an unknown operation is the error of the stream.
            if fault.0 == 404 && access == LogAccess::LineNumbers {
                continue;
            }
            for seed in 0..25 {
                let (lines, expected) = follow(fault, access, seed);
                assert_eq!(lines, expected, "{fault:?} {access:?} {seed}");
            }
        }
    }
}

/// A job that has completed has run, so its log exists, even if it is late and the job has no start
/// time.
#[test]
fn the_late_log_of_a_completed_job_is_waited_for() {
    let requests: &'static Mutex<u32> = Box::leak(Box::default());
    let log = json!({"content": "line\n", "current_size": 5, "full_size": 5});
    let job = json!({"metadata": {"id": "job-1", "name": "job"},
                     "status": {"phase": "Completed", "tasks": ["worker-0"]}});
    let reply = move |request: &Request| {
        if !request.url().path().contains("/logs/") {
            return Some(network::reply(200, job.clone()));
        }
        *requests.lock().unwrap() += 1;
        Some(match *requests.lock().unwrap() {
            ..3 => network::reply(204, ""),
            _ => network::reply(200, log.clone()),
        })
    };
    let client = client_of(reply).clock(TestClock::new()).build().unwrap();
    let items = async {
        let job = client.training_jobs().get("job-1").await.unwrap();
        job.logs("worker-0").follow().try_collect::<Vec<_>>().await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let items = runtime.unwrap().block_on(items.boxed()).unwrap();
    assert_eq!(items, [LogItem::Line("line".to_owned())]);
}

/// Returns the lines of a followed log, and those of the log.
fn follow(
    fault: (u16, &'static str),
    access: LogAccess,
    seed: u64,
) -> (Vec<LogItem>, Vec<LogItem>) {
    let service: &'static _ = Box::leak(Box::new(Mutex::new(Service {
        random: fastrand::Rng::with_seed(seed),
        lines: vec!["line 1\n".to_owned()],
        left: 25,
        fault,
    })));
    let client = client_of(|request| Some(service.lock().unwrap().reply(request)))
        .clock(TestClock::new())
        .retry(RetryPolicy::none())
        .build()
        .unwrap();
    let items = async {
        let job = client.training_jobs().get("job-1").await.unwrap();
        let log = job.logs("worker-0").read_by(access).follow();
        log.try_collect::<Vec<_>>().await.unwrap()
    };
    let items = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(items.boxed());
    let lines = service.lock().unwrap().lines.clone();
    let lines = lines.iter().map(|line| line.trim_end().to_owned());
    (items, lines.map(LogItem::Line).collect())
}
