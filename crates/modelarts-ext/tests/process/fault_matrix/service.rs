//! Simulated service that stores jobs, with the faults that a row specifies.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    constants::{HOUR, JSON},
    row::{
        Effect, Fault,
        Strikes::{self, AlwaysAfter, AlwaysBefore, OnceAfter, OnceBefore},
    },
};
use crate::support::{
    clock::TestClock,
    secrets::{IN_LOCATION, JUPYTER_TOKEN},
    server::{PROJECT, read_request},
};

/// Simulated service for one cell.
pub(super) struct Cloud {
    pub(super) clock: TestClock,
    pub(super) elsewhere: String,
    /// The operation that the fault affects.
    pub(super) struck: Effect,
    pub(super) fault: Fault,
    pub(super) strikes: Strikes,
    pub(super) then: Option<Fault>,
    pub(super) state: Mutex<State>,
    /// Maximum number of bytes that the client read of a flood on one connection.
    pub(super) flooded: AtomicUsize,
}

#[derive(Default)]
pub(super) struct State {
    /// All requests, of every operation.
    pub(super) requests: Vec<String>,
    /// Number of requests of the affected operation that were received.
    pub(super) seen: usize,
    /// Number of requests of the affected operation that were executed.
    pub(super) executed: usize,
    /// Existing jobs: name and workspace of each.
    pub(super) jobs: Vec<(String, String)>,
    /// `true` if the old job was stopped.
    pub(super) stopped: bool,
    /// The algorithm of the created job, with the token of its submission.
    pub(super) algorithm: serde_json::Value,
    /// The number of searches that do not list new jobs yet.
    pub(super) unlisted: usize,
}

pub(super) fn json(body: &str) -> Vec<u8> {
    whole("200 OK", JSON, body)
}

pub(super) fn whole(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
         connection: close\r\nx-request-id: r1\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Returns a job whose details contain a `JupyterLab` endpoint.
pub(super) fn job(name: &str, phase: &str) -> String {
    let job = json!({
        "kind": "job",
        "metadata": {"id": format!("id-of-{name}"), "name": name},
        "status": {"phase": phase},
        "endpoints": {"jupyter_lab": {"url": "https://jl.test/", "token": JUPYTER_TOKEN}}
    });
    job.to_string()
}

pub(super) fn operation(request: &str) -> Option<Effect> {
    let line = request.lines().next().unwrap();
    let (method, rest) = line.split_once(' ').unwrap();
    let path = rest.split_once(' ').unwrap().0;
    let path = path.split_once(PROJECT).unwrap().1;
    match (method, path) {
        ("POST", "/training-jobs") => Some(Effect::Create),
        ("POST", "/training-job-searches") => None,
        ("GET", "/training-jobs/id-of-old") => Some(Effect::Read),
        // The details of the created job are part of a search for it.
        ("GET", "/training-jobs/id-of-new") => None,
        ("POST", "/training-jobs/id-of-old/actions") => Some(Effect::Stop),
        _ => panic!("{line}"),
    }
}

/// Returns the workspace id in the body of a request, or the default workspace (SOURCES D-109).
fn workspace(request: &str, pointer: &str) -> String {
    let body: serde_json::Value = serde_json::from_str(body(request.as_bytes())).unwrap();
    let named = body.pointer(pointer).and_then(serde_json::Value::as_str);
    named.unwrap_or("0").to_owned()
}

impl Cloud {
    /// Executes a request. Returns the response, and `true` if the request was executed. Searches
    /// are not counted.
    pub(super) fn execute(
        state: &mut State,
        operation: Option<Effect>,
        request: &str,
    ) -> (bool, Vec<u8>) {
        match operation {
            None if request.starts_with("GET") => {
                let mut new: serde_json::Value =
                    serde_json::from_str(&job("new", "Running")).unwrap();
                new["algorithm"] = state.algorithm.clone();
                (false, json(&new.to_string()))
            }
            None => {
                // All jobs are on the first page of a search.
                let body: serde_json::Value =
                    serde_json::from_str(body(request.as_bytes())).unwrap();
                let is_first = body["offset"] == 0;
                let late = state.unlisted > 0;
                state.unlisted = state.unlisted.saturating_sub(usize::from(is_first));
                let searched = workspace(request, "/workspace_id");
                let jobs = state
                    .jobs
                    .iter()
                    .filter(|(name, workspace)| *workspace == searched && (!late || name == "old"));
                let mut jobs: Vec<_> = jobs.map(|(name, _)| job(name, "Running")).collect();
                let count = jobs.len();
                jobs.truncate(if is_first { count } else { 0 });
                let jobs = jobs.join(",");
                let answer = json(&format!(
                    r#"{{"total":{count},"count":{count},"limit":50,"offset":0,"items":[{jobs}]}}"#
                ));
                (false, answer)
            }
            Some(Effect::Read) => {
                let phase = if state.stopped { "Terminating" } else { "Running" };
                (true, json(&job("old", phase)))
            }
            Some(Effect::Stop) if state.stopped => {
                let body = r#"{"error_code":"ModelArts.2796","error_msg":"no"}"#;
                (false, whole("409 Conflict", JSON, body))
            }
            Some(Effect::Stop) => {
                state.stopped = true;
                (true, json(&job("old", "Terminating")))
            }
            Some(Effect::Create) => {
                assert!(request.contains(r#""name":"new""#), "{request}");
                if state.jobs.iter().any(|(name, _)| name == "new") {
                    let body = r#"{"error_code":"ModelArts.2751","error_msg":"duplicate name"}"#;
                    (false, whole("400 Bad Request", JSON, body))
                } else {
                    let workspace = workspace(request, "/metadata/workspace_id");
                    state.jobs.push(("new".to_owned(), workspace));
                    let sent: serde_json::Value =
                        serde_json::from_str(body(request.as_bytes())).unwrap();
                    state.algorithm = sent["algorithm"].clone();
                    (true, json(&job("new", "Creating")))
                }
            }
        }
    }

    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(Arc::clone(&self).answer(stream));
        }
    }

    pub(super) async fn answer(self: Arc<Self>, mut stream: TcpStream) {
        let Some(request) = read_request(&mut stream).await else {
            return;
        };
        let (fault, good) = {
            let mut state = self.state.lock().unwrap();
            let operation = operation(&request);
            state.requests.push(request.clone());
            let struck = operation == Some(self.struck);
            // Later searches are requests of another operation, so they are not counted.
            let first = struck && state.seen == 0;
            if struck {
                state.seen += 1;
            }
            let (mut strikes, after) = match self.strikes {
                OnceBefore => (first, false),
                OnceAfter => (first, true),
                AlwaysBefore => (struck, false),
                AlwaysAfter => (struck, true),
            };
            strikes &= self.fault != Fault::Refused;
            let (fault, after) = match self.then {
                Some(then) if struck && !first => {
                    strikes = true;
                    (then, false)
                }
                _ => (self.fault, after),
            };
            let good = if strikes && !after {
                // This is the correct response, which the fault modifies.
                Self::execute(&mut State::default(), operation, &request).1
            } else {
                let (done, answer) = Self::execute(&mut state, operation, &request);
                state.executed += usize::from(done && struck);
                answer
            };
            (strikes.then_some(fault), good)
        };
        let half = &good[..good.len() - 60];
        // Clients may stop reading at any time, so errors are ignored.
        match fault {
            None => close(&mut stream, &good).await,
            Some(Fault::Refused) => panic!("nobody was to listen"),
            Some(Fault::Reset) => stream.set_zero_linger().unwrap(),
            Some(Fault::ResetMidway) => {
                let _ = stream.write_all(half).await;
                stream.set_zero_linger().unwrap();
            }
            Some(Fault::Slow) => {
                let _ = stream.write_all(half).await;
                self.clock.advance(HOUR);
                let _ = stream.read(&mut [0]).await;
            }
            Some(Fault::Silent) => {
                self.clock.advance(HOUR);
                let _ = stream.read(&mut [0]).await;
            }
            Some(Fault::Cut) => {
                let body = body(&good);
                // The response is cut in the middle of a secret.
                let end = body.find(JUPYTER_TOKEN).unwrap() + JUPYTER_TOKEN.len() - 1;
                close(&mut stream, &json(&body[..end])).await;
            }
            Some(Fault::Good(status, content_type)) => {
                close(&mut stream, &whole(status, content_type, body(&good))).await;
            }
            Some(Fault::Answer(status, headers, body)) => {
                let length = match status {
                    "204 No Content" => String::new(),
                    _ => format!("content-length: {}\r\n", body.len()),
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\n{length}connection: close\r\nx-request-id: r1\r\n\
                     {headers}\r\n{body}"
                );
                close(&mut stream, answer.as_bytes()).await;
            }
            Some(Fault::Redirect(status)) => {
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\
                     location: {}/{IN_LOCATION}?token={IN_LOCATION}\r\n\r\n",
                    self.elsewhere
                );
                close(&mut stream, answer.as_bytes()).await;
            }
            Some(Fault::Flood(status, size)) => {
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all(head.as_bytes()).await;
                let piece = vec![b'x'; 64 << 10];
                let mut sent = 0;
                while sent < size && stream.write_all(&piece).await.is_ok() {
                    sent += piece.len();
                    self.flooded.fetch_max(sent, Ordering::Relaxed);
                }
            }
        }
    }
}

pub(super) async fn close(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    // The client must close the connection first; otherwise the end would become a reset.
    let _ = stream.read(&mut [0]).await;
}

pub(super) fn body(answer: &[u8]) -> &str {
    let text = std::str::from_utf8(answer).unwrap();
    text.split_once("\r\n\r\n").unwrap().1
}
