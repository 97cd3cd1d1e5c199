//! Tests of followed logs of a job without a start time, whose requests fail before its end.

use std::sync::Mutex;

use futures::{FutureExt, TryStreamExt};
use modelarts_ext::{LogItem, RetryPolicy, connector::ConnectorError};
use reqwest::{Request, header::RANGE};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    network::{self, NetworkReply, client_of},
};

/// Fault of a service, which stands for some of its answers until the end of the job.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Answer(u16, &'static str),
    /// The connection breaks before the answer.
    Lost,
    /// The connection breaks within the body of the answer.
    CutBody,
}

const FAULTS: [Fault; 10] = [
    Fault::Answer(200, "{}"),
    Fault::Answer(204, ""),
    Fault::Answer(400, r#"{"error_code": "ModelArts.2818", "error_msg": "no log"}"#),
    Fault::Answer(404, "<html>Not Found</html>"),
    Fault::Answer(429, r#"{"error_code": "APIG.0308", "error_msg": "throttled"}"#),
    Fault::Answer(500, ""),
    Fault::Answer(502, "<html>Bad Gateway</html>"),
    Fault::Answer(503, ""),
    Fault::Lost,
    Fault::CutBody,
];

/// Log of a simulated service. Each request for it adds lines.
struct Service {
    random: fastrand::Rng,
    log: String,
    lines: usize,
    /// Number of requests for the log until the end of the job.
    left: u32,
    fault: Fault,
    /// Size of a preview in bytes.
    window: usize,
}

impl Service {
    fn reply(&mut self, request: &Request) -> NetworkReply {
        let path = request.url().path();
        if path.ends_with("/log") {
            return self.object(request);
        }
        if !path.contains("/logs/") {
            let phase = match self.left {
                0 => "Completed",
                _ => "Running",
            };
            let body = json!({"metadata": {"id": "job-1", "name": "job"},
                              "status": {"phase": phase, "tasks": ["worker-0"]}});
            return network::reply(200, body);
        }
        if path.ends_with("/url") {
            return network::reply(200, json!({"obs_url": "https://obs.test/log?Signature=x"}));
        }
        let content = &self.log[self.log.len().saturating_sub(self.window)..];
        let body = json!({"content": content, "current_size": content.len(),
                          "full_size": self.log.len()})
        .to_string();
        let is_fault = self.left > 0 && self.random.u8(..10) < 4;
        self.grow();
        match self.fault {
            _ if !is_fault => network::reply(200, body),
            Fault::Answer(status, body) => network::reply(status, body),
            Fault::Lost => Err(ConnectorError::Lost("reset".into())),
            Fault::CutBody => network::reply(200, &body[..self.random.usize(..body.len())]),
        }
    }

    /// Returns the response of OBS to a request for a range.
    fn object(&self, request: &Request) -> NetworkReply {
        let range = request.headers()[RANGE].to_str().unwrap();
        let (from, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        let (from, last): (usize, usize) = (from.parse().unwrap(), last.parse().unwrap());
        let range = format!("bytes {from}-{last}/{}", self.log.len());
        let answer = network::answer(206).header("content-range", range);
        Ok(answer.body(self.log[from..=last].to_owned()).unwrap())
    }

    fn grow(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            for _ in 0..self.random.usize(..9) {
                self.lines += 1;
                self.log.push_str(&format!("line {}\n", self.lines));
            }
        }
    }
}

#[test]
fn a_followed_log_is_whole_whatever_fails_before_the_end() {
    for fault in FAULTS {
        for window in [70, usize::MAX] {
            for seed in 0..6 {
                let (items, log) = follow(fault, window, seed);
                let lines = log.lines().map(|line| LogItem::Line(line.to_owned()));
                let expected: Vec<_> = lines.collect();
                assert_eq!(items, expected, "{fault:?} {window} {seed}");
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

/// Returns the items of a followed log, and the log.
fn follow(fault: Fault, window: usize, seed: u64) -> (Vec<LogItem>, String) {
    let service: &'static _ = Box::leak(Box::new(Mutex::new(Service {
        random: fastrand::Rng::with_seed(seed),
        log: "line 0\n".to_owned(),
        lines: 0,
        left: 25,
        fault,
        window,
    })));
    let client = client_of(|request| Some(service.lock().unwrap().reply(request)))
        .clock(TestClock::new())
        .retry(RetryPolicy::none())
        .build()
        .unwrap();
    let items = async {
        let job = client.training_jobs().get("job-1").await.unwrap();
        let log = job.logs("worker-0").follow();
        log.try_collect::<Vec<_>>().await.unwrap()
    };
    let items =
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(items.boxed());
    (items, service.lock().unwrap().log.clone())
}
