//! The fault matrix: everything that can go wrong with an answer, times every effect
//! that a call can have, and then all of it searched for secrets.
//!
//! The server keeps jobs. A fault strikes before or after it has executed a request,
//! once or always, and only the operation of the column; the searches with which
//! `submit()` settles a lost create are answered from the jobs there are.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod support;

use std::{
    fmt::{Debug, Write as _},
    io,
    net::SocketAddr,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use modelarts_ext::{
    Client, Credentials, Error, ErrorKind, FetchCredentials, Fetched, Renewing, Tools,
    api::BoxFuture,
};
use support::{PROJECT, Server, TestClock, read_request};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    task::JoinHandle,
};
use tracing_subscriber::{filter::LevelFilter, fmt::format::FmtSpan};

const HOUR: Duration = Duration::from_secs(3600);
/// How long the body of an error is that nobody wants to read.
const FLOOD: usize = 50 << 20;
/// Longer than any good answer may be.
const TOO_LONG: usize = 65 << 20;

// All secrets contain "-hidden-".
const ACCESS_KEY: &str = "ak-hidden-0";
const SECRET_KEY: &str = "sk-hidden-1";
const SECURITY_TOKEN: &str = "st-hidden-2";
const TOKEN: &str = "tk-hidden-3";
const JUPYTER_TOKEN: &str = "jl-hidden-4";
const IN_LOCATION: &str = "location-hidden-5";
const ENVIRONMENT: &str = "env-hidden-6";

/// The columns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Effect {
    Read,
    Stop,
    Create,
}

/// The rows: what comes instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nobody listens.
    Refused,
    /// A reset instead of an answer.
    Reset,
    /// A reset after half of the answer.
    ResetMidway,
    /// Half of the answer, and nothing more for an hour.
    Slow,
    /// Nothing for an hour.
    Silent,
    /// An answer that is complete by its length, and a document that is not.
    Cut,
    /// The good answer under another status and content type.
    Good(&'static str, &'static str),
    /// This answer: status, headers, body.
    Answer(&'static str, &'static str, &'static str),
    /// A redirect to another host.
    Redirect(&'static str),
    /// An answer with this status and a body of so many bytes.
    Flood(&'static str, usize),
}

/// When the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Strikes {
    /// The first request, which is not executed.
    OnceBefore,
    /// The first request, which is executed.
    OnceAfter,
    /// Every request; none is executed.
    AlwaysBefore,
    /// Every request, after it was executed.
    AlwaysAfter,
}
use Strikes::{AlwaysAfter, AlwaysBefore, OnceAfter, OnceBefore};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    /// Temporary keys.
    Keys,
    /// A provider of tokens that gets a new one when the old one is refused.
    Token,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Done,
    Fails {
        kind: ErrorKind,
        status: Option<u16>,
        /// What the error says about attempts: those of the last call.
        attempts: u32,
    },
}

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    /// How many requests of the operation the server saw.
    seen: usize,
    /// How many of them it executed.
    executed: usize,
    end: End,
}

const fn done(seen: usize, executed: usize) -> Cell {
    let end = End::Done;
    Cell {
        seen,
        executed,
        end,
    }
}

const fn fails(
    seen: usize,
    executed: usize,
    kind: ErrorKind,
    status: Option<u16>,
    attempts: u32,
) -> Cell {
    let end = End::Fails {
        kind,
        status,
        attempts,
    };
    Cell {
        seen,
        executed,
        end,
    }
}

struct Row {
    name: &'static str,
    who: Who,
    fault: Fault,
    strikes: Strikes,
    /// What comes instead of all later answers; before execution.
    then: Option<Fault>,
    /// How many searches do not find a new job yet.
    unlisted: usize,
    read: Cell,
    stop: Cell,
    create: Cell,
    /// The exact pauses, in seconds, of each cell, where they are not random.
    pauses: Option<&'static [u64]>,
}

const fn row(
    name: &'static str,
    fault: Fault,
    strikes: Strikes,
    read: Cell,
    stop: Cell,
    create: Cell,
) -> Row {
    Row {
        name,
        who: Who::Keys,
        fault,
        strikes,
        then: None,
        unlisted: 0,
        read,
        stop,
        create,
        pauses: None,
    }
}

impl Row {
    const fn by(mut self, who: Who) -> Self {
        self.who = who;
        self
    }

    /// A new job is not listed at first.
    const fn unlisted(mut self, searches: usize) -> Self {
        self.unlisted = searches;
        self
    }

    const fn then(mut self, fault: Fault) -> Self {
        self.then = Some(fault);
        self
    }

    const fn pausing(mut self, seconds: &'static [u64]) -> Self {
        self.pauses = Some(seconds);
        self
    }

    fn cell(&self, effect: Effect) -> Cell {
        match effect {
            Effect::Read => self.read,
            Effect::Stop => self.stop,
            Effect::Create => self.create,
        }
    }
}

const HTML: Fault = Fault::Answer(
    "502 Bad Gateway",
    "content-type: text/html\r\n",
    "<html><head><title>502 Bad Gateway</title></head></html>",
);
const EMPTY: Fault = Fault::Answer("500 Internal Server Error", "", "");
const BUSY: &str = r#"{"error_code":"ModelArts.2799","error_msg":"services too many requests"}"#;
const SECONDS: Fault = Fault::Answer("429 Too Many Requests", "retry-after: 7\r\n", BUSY);
/// Seven seconds after the time at which the clock begins.
const DATE: Fault = Fault::Answer(
    "429 Too Many Requests",
    "retry-after: Thu, 15 Jan 2026 08:30:52 GMT\r\n",
    BUSY,
);
const NO_WORD: Fault = Fault::Answer("429 Too Many Requests", "", BUSY);
const UNAVAILABLE: Fault = Fault::Answer("503 Service Unavailable", "", "{}");
/// The gateway gives back what it was to sign, security token and all.
const SIGNATURE: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    r#"{"error_code":"APIGW.0301","error_msg":"Incorrect IAM authentication information: verify aksk signature fail, canonicalRequest:GET|/|x-security-token:st-hidden-2|x|"}"#,
);
const EXPIRED: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    r#"{"error_code":"APIGW.0307","error_msg":"The token must be updated"}"#,
);
/// An hour ahead of the clock.
const CLOCK: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    r#"{"error_code":"APIGW.0301","error_msg":"Incorrect IAM authentication information: calc aksk signature fail:signature expired, signature time:20260115T083045Z,server time:20260115T093045Z"}"#,
);
const NOTHING: Fault = Fault::Answer("204 No Content", "", "");
const ACCEPTED: Fault = Fault::Answer("202 Accepted", "", "");
const UNIMPLEMENTED: Fault = Fault::Answer("501 Not Implemented", "", "{}");

const JSON: &str = "application/json";

const CONNECTION_5: Cell = fails(5, 0, ErrorKind::Connection, None, 5);
const CONNECTION_5_EXECUTED: Cell = fails(5, 5, ErrorKind::Connection, None, 5);
const LATE: Cell = fails(1, 0, ErrorKind::Timeout, None, 1);
const LATE_EXECUTED: Cell = fails(1, 1, ErrorKind::Timeout, None, 1);

const fn service(seen: usize, executed: usize, status: u16, attempts: u32) -> Cell {
    fails(seen, executed, ErrorKind::Service, Some(status), attempts)
}

/// An answer that says "later" with a status of its own, five times.
const fn service_5(executed: usize, status: u16) -> Cell {
    service(5, executed, status, 5)
}

/// What cannot be understood.
const fn garbled(executed: usize, status: u16) -> Cell {
    fails(1, executed, ErrorKind::Decode, Some(status), 1)
}

const fn redirected(status: u16) -> Cell {
    fails(1, 0, ErrorKind::Unexpected, Some(status), 1)
}

const fn not_ready(executed: usize) -> Cell {
    fails(1, executed, ErrorKind::NotReady, Some(204), 1)
}

/// Each line: the fault; then for a read, for a stop, and for a create what happens.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("connection refused", Fault::Refused, OnceBefore, done(1, 1), done(1, 1), done(1, 1)),
    row("connection refused", Fault::Refused, AlwaysBefore,
        fails(0, 0, ErrorKind::Connection, None, 5),
        fails(0, 0, ErrorKind::Connection, None, 5),
        fails(0, 0, ErrorKind::Connection, None, 5)),

    row("reset before the answer", Fault::Reset, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("reset before the answer", Fault::Reset, OnceAfter, done(2, 2), done(2, 2), done(1, 1)),
    row("reset before the answer", Fault::Reset, AlwaysBefore,
        CONNECTION_5, CONNECTION_5, fails(5, 0, ErrorKind::Connection, None, 1)),
    row("reset before the answer", Fault::Reset, AlwaysAfter,
        CONNECTION_5_EXECUTED, CONNECTION_5_EXECUTED, done(1, 1)),

    row("reset in the answer", Fault::ResetMidway, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("reset in the answer", Fault::ResetMidway, OnceAfter, done(2, 2), done(2, 2), done(1, 1)),
    row("reset in the answer", Fault::ResetMidway, AlwaysBefore,
        CONNECTION_5, CONNECTION_5, fails(5, 0, ErrorKind::Connection, None, 1)),
    row("reset in the answer", Fault::ResetMidway, AlwaysAfter,
        CONNECTION_5_EXECUTED, CONNECTION_5_EXECUTED, done(1, 1)),

    // An hour is all that a call has, so nothing is sent again; a create is looked for.
    row("slow body", Fault::Slow, AlwaysBefore, LATE, LATE, LATE),
    row("slow body", Fault::Slow, AlwaysAfter, LATE_EXECUTED, LATE_EXECUTED, done(1, 1)),
    row("timeout", Fault::Silent, AlwaysBefore, LATE, LATE, LATE),
    row("timeout", Fault::Silent, AlwaysAfter, LATE_EXECUTED, LATE_EXECUTED, done(1, 1)),

    row("truncated JSON", Fault::Cut, OnceBefore, garbled(0, 200), garbled(0, 200), done(2, 1)),
    row("truncated JSON", Fault::Cut, AlwaysAfter, garbled(1, 200), garbled(1, 200), done(1, 1)),

    row("HTML 502", HTML, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("HTML 502", HTML, OnceAfter, done(2, 2), done(2, 2), done(1, 1)),
    row("HTML 502", HTML, AlwaysBefore, service_5(0, 502), service_5(0, 502), service(5, 0, 502, 1)),
    row("HTML 502", HTML, AlwaysAfter, service_5(5, 502), service_5(5, 502), done(1, 1)),

    row("empty 500", EMPTY, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("empty 500", EMPTY, OnceAfter, done(2, 2), done(2, 2), done(1, 1)),
    row("empty 500", EMPTY, AlwaysBefore, service_5(0, 500), service_5(0, 500), service(5, 0, 500, 1)),
    row("empty 500", EMPTY, AlwaysAfter, service_5(5, 500), service_5(5, 500), done(1, 1)),

    // The gateway refuses before the service sees it, so creates are sent again too.
    row("429 with seconds", SECONDS, OnceBefore, done(2, 1), done(2, 1), done(2, 1)).pausing(&[7]),
    row("429 with seconds", SECONDS, AlwaysBefore, service_5(0, 429), service_5(0, 429), service_5(0, 429))
        .pausing(&[7, 7, 7, 7]),
    row("429 with a date", DATE, OnceBefore, done(2, 1), done(2, 1), done(2, 1)).pausing(&[7]),
    row("429 without a word", NO_WORD, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("429 without a word", NO_WORD, AlwaysBefore, service_5(0, 429), service_5(0, 429), service_5(0, 429)),

    row("503", UNAVAILABLE, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("503", UNAVAILABLE, OnceAfter, done(2, 2), done(2, 2), done(1, 1)),
    row("503", UNAVAILABLE, AlwaysBefore, service_5(0, 503), service_5(0, 503), service(5, 0, 503, 1)),
    row("503", UNAVAILABLE, AlwaysAfter, service_5(5, 503), service_5(5, 503), done(1, 1)),

    row("401 for the signature", SIGNATURE, AlwaysBefore,
        service(1, 0, 401, 1), service(1, 0, 401, 1), service(1, 0, 401, 1)).pausing(&[]),
    // Renewed once, without a pause, and not again.
    row("401 for the token", EXPIRED, OnceBefore, done(2, 1), done(2, 1), done(2, 1))
        .by(Who::Token).pausing(&[]),
    row("401 for the token", EXPIRED, AlwaysBefore,
        service(2, 0, 401, 2), service(2, 0, 401, 2), service(2, 0, 401, 2))
        .by(Who::Token).pausing(&[]),
    // Keys that nobody can renew.
    row("401 for the token", EXPIRED, AlwaysBefore,
        service(1, 0, 401, 1), service(1, 0, 401, 1), service(1, 0, 401, 1)).pausing(&[]),
    row("401 for the clock", CLOCK, OnceBefore, done(2, 1), done(2, 1), done(2, 1)).pausing(&[]),
    row("401 for the clock", CLOCK, AlwaysBefore,
        service(2, 0, 401, 2), service(2, 0, 401, 2), service(2, 0, 401, 2)).pausing(&[]),

    row("redirect", Fault::Redirect("302 Found"), AlwaysBefore,
        redirected(302), redirected(302), redirected(302)).pausing(&[]),
    row("redirect", Fault::Redirect("307 Temporary Redirect"), AlwaysBefore,
        redirected(307), redirected(307), redirected(307)).pausing(&[]),

    row("204", NOTHING, OnceBefore, not_ready(0), not_ready(0), done(2, 1)),
    row("204", NOTHING, AlwaysAfter, not_ready(1), not_ready(1), done(1, 1)),

    row("wrong content type", Fault::Good("200 OK", "text/html"), AlwaysAfter,
        done(1, 1), done(1, 1), done(1, 1)).pausing(&[]),

    row("400 of 50 MB", Fault::Flood("400 Bad Request", FLOOD), AlwaysBefore,
        service(1, 0, 400, 1), service(1, 0, 400, 1), service(1, 0, 400, 1)).pausing(&[]),
    row("500 of 50 MB", Fault::Flood("500 Internal Server Error", FLOOD), OnceBefore,
        done(2, 1), done(2, 1), done(2, 1)),
    row("500 of 50 MB", Fault::Flood("500 Internal Server Error", FLOOD), OnceAfter,
        done(2, 2), done(2, 2), done(1, 1)),
    row("500 of 50 MB", Fault::Flood("500 Internal Server Error", FLOOD), AlwaysBefore,
        service_5(0, 500), service_5(0, 500), service(5, 0, 500, 1)),

    row("undocumented 206", Fault::Good("206 Partial Content", JSON), AlwaysAfter,
        done(1, 1), done(1, 1), done(1, 1)).pausing(&[]),
    row("undocumented 299", Fault::Good("299 Fine", JSON), AlwaysAfter,
        done(1, 1), done(1, 1), done(1, 1)).pausing(&[]),
    row("202 and no body", ACCEPTED, OnceBefore, garbled(0, 202), garbled(0, 202), done(2, 1)),
    row("202 and no body", ACCEPTED, AlwaysAfter, garbled(1, 202), garbled(1, 202), done(1, 1)),

    row("200 of 65 MB", Fault::Flood("200 OK", TOO_LONG), AlwaysAfter,
        fails(1, 1, ErrorKind::Unexpected, Some(200), 1),
        fails(1, 1, ErrorKind::Unexpected, Some(200), 1), done(1, 1)),

    // The three searches after the first create find nothing; the second is a duplicate.
    row("lost and listed late", Fault::Reset, OnceAfter, done(2, 2), done(2, 2), done(2, 1)).unlisted(3),
    // The second is refused for another reason; all the same, the first was executed.
    row("lost and listed late, then 429", Fault::Reset, OnceAfter,
        service_5(1, 429), service_5(1, 429), done(6, 1)).unlisted(3).then(NO_WORD),

    row("501", UNIMPLEMENTED, AlwaysBefore,
        service(1, 0, 501, 1), service(1, 0, 501, 1), service(1, 0, 501, 1)).pausing(&[]),
];

/// The service.
struct Cloud {
    clock: TestClock,
    elsewhere: String,
    /// The operation that the fault strikes.
    struck: Effect,
    fault: Fault,
    strikes: Strikes,
    then: Option<Fault>,
    state: Mutex<State>,
    /// The most that one connection took of the flood.
    flooded: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// All requests, whatever they were for.
    requests: Vec<String>,
    /// How many requests of the struck operation came, and how many were executed.
    seen: usize,
    executed: usize,
    /// The names of the jobs that there are.
    jobs: Vec<String>,
    /// How many searches do not find new ones yet.
    unlisted: usize,
}

fn json(body: &str) -> Vec<u8> {
    whole("200 OK", JSON, body)
}

fn whole(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
         connection: close\r\nx-request-id: r1\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A job, with JupyterLab beside it.
fn job(name: &str, phase: &str) -> String {
    format!(
        r#"{{"kind":"job","metadata":{{"id":"id-of-{name}","name":"{name}"}},"status":{{"phase":"{phase}"}},"endpoints":{{"jupyter_lab":{{"url":"https://jl.test/","token":"{JUPYTER_TOKEN}"}}}}}}"#
    )
}

fn operation(request: &str) -> Option<Effect> {
    let line = request.lines().next().unwrap();
    let (method, rest) = line.split_once(' ').unwrap();
    let path = rest.split_once(' ').unwrap().0;
    let path = path.split_once(PROJECT).unwrap().1;
    match (method, path) {
        ("POST", "/training-jobs") => Some(Effect::Create),
        ("POST", "/training-job-searches") => None,
        ("GET", "/training-jobs/id-of-old") => Some(Effect::Read),
        ("POST", "/training-jobs/id-of-old/actions") => Some(Effect::Stop),
        _ => panic!("{line}"),
    }
}

impl Cloud {
    /// Does what was asked for; gives back the answer.
    fn execute(state: &mut State, operation: Option<Effect>, request: &str) -> Vec<u8> {
        if operation.is_some() {
            state.executed += 1;
        }
        match operation {
            None => {
                let late = state.unlisted > 0;
                state.unlisted = state.unlisted.saturating_sub(1);
                let listed = |name: &&String| !late || *name == "old";
                let jobs = state.jobs.iter().filter(listed);
                let jobs: Vec<_> = jobs.map(|name| job(name, "Running")).collect();
                let (count, jobs) = (jobs.len(), jobs.join(","));
                json(&format!(
                    r#"{{"total":{count},"count":{count},"limit":50,"offset":0,"items":[{jobs}]}}"#
                ))
            }
            Some(Effect::Read) => json(&job("old", "Running")),
            Some(Effect::Stop) => json(&job("old", "Terminating")),
            Some(Effect::Create) => {
                assert!(request.contains(r#""name":"new""#), "{request}");
                if state.jobs.iter().any(|name| name == "new") {
                    state.executed -= 1;
                    let body = r#"{"error_code":"ModelArts.2751","error_msg":"duplicate name"}"#;
                    return whole("400 Bad Request", JSON, body);
                }
                state.jobs.push("new".to_owned());
                json(&job("new", "Creating"))
            }
        }
    }

    async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(Arc::clone(&self).answer(stream));
        }
    }

    async fn answer(self: Arc<Self>, mut stream: TcpStream) {
        let Some(request) = read_request(&mut stream).await else {
            return;
        };
        let (fault, good) = {
            let mut state = self.state.lock().unwrap();
            let operation = operation(&request);
            state.requests.push(request.clone());
            let struck = operation == Some(self.struck);
            // A search or so that settles is not what is counted.
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
                // What it would have been.
                Self::execute(&mut State::default(), operation, &request)
            } else {
                Self::execute(&mut state, operation, &request)
            };
            (strikes.then_some(fault), good)
        };
        let half = &good[..good.len() - 60];
        // A client may stop to read whenever it likes, so errors are none.
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
                // The end is in the middle of a secret.
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

async fn close(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    // Closing before the client has would turn the end into a reset.
    let _ = stream.read(&mut [0]).await;
}

fn body(answer: &[u8]) -> &str {
    let text = std::str::from_utf8(answer).unwrap();
    text.split_once("\r\n\r\n").unwrap().1
}

/// Gives `tk-hidden-3-1`, then `tk-hidden-3-2`, and so on.
#[derive(Clone, Debug, Default)]
struct Tokens(Arc<AtomicUsize>);

impl FetchCredentials for Tokens {
    fn fetch<'a>(&'a self, _: &'a Tools) -> BoxFuture<'a, Result<Fetched, Error>> {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let token = Credentials::token(format!("{TOKEN}-{number}"));
        Box::pin(std::future::ready(Ok(Fetched::new(token))))
    }
}

/// What happened in a cell.
struct Happened {
    seen: usize,
    executed: usize,
    result: Result<String, Error>,
    /// The jobs named `new` in the end.
    made: usize,
    requests: Vec<String>,
    pauses: Vec<Duration>,
    flooded: usize,
    /// Requests at the host that was redirected to.
    led_astray: usize,
    /// How many tokens were asked for.
    tokens: usize,
    /// Everything there was, printed in every way.
    printed: String,
}

/// Ends a server with the cell.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn run(row: &Row, effect: Effect, who: Who) -> Happened {
    let elsewhere = Server::start([]).await;
    let clock = TestClock::new();
    let cloud = Arc::new(Cloud {
        clock: clock.clone(),
        elsewhere: elsewhere.url.clone(),
        struck: effect,
        fault: row.fault,
        strikes: row.strikes,
        then: row.then,
        state: Mutex::new(State {
            jobs: vec!["old".to_owned()],
            unlisted: row.unlisted,
            ..State::default()
        }),
        flooded: AtomicUsize::new(0),
    });
    // Bound, nobody else can have the port; but connections are refused.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    let listen = |socket: TcpSocket, cloud: Arc<Cloud>| {
        Task(tokio::spawn(cloud.serve(socket.listen(64).unwrap())))
    };
    let mut kept = None;
    let late = Arc::new(Mutex::new(None));
    match (row.fault, row.strikes) {
        (Fault::Refused, OnceBefore) => {
            let (late, cloud) = (Arc::clone(&late), Arc::clone(&cloud));
            clock.step(async move {
                *late.lock().unwrap() = Some(listen(socket, cloud));
            });
        }
        (Fault::Refused, _) => kept = Some(socket),
        _ => *late.lock().unwrap() = Some(listen(socket, Arc::clone(&cloud))),
    }

    let tokens = Tokens::default();
    let mut printed = String::new();
    let builder = Client::builder()
        .endpoint(format!("http://{address}"))
        .project_id(PROJECT)
        .clock(clock.clone())
        .timeout(HOUR);
    let builder = match who {
        Who::Keys => {
            let keys = Credentials::temporary_keys(ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN);
            print(&mut printed, &keys);
            builder.credentials(keys)
        }
        Who::Token => {
            let provider = Renewing::new(tokens.clone());
            print(&mut printed, &provider);
            builder.credentials(provider)
        }
    };
    print(&mut printed, &builder);
    let client = builder.build().unwrap();
    print(&mut printed, &client);
    print(&mut printed, client.api());
    let jobs = client.training_jobs();
    let named = |job: modelarts_ext::Job| job.name().to_owned();
    let result = match effect {
        Effect::Read => jobs.get("id-of-old").await.map(named),
        // Without a job in hand, which would have to be asked for first.
        Effect::Stop => client
            .call(|api| {
                let body = modelarts_ext::types::StopTrainingJobRequest::builder();
                api.stop_training_job()
                    .project_id(PROJECT)
                    .training_job_id("id-of-old")
                    .body(body.action_type("terminate"))
                    .send()
            })
            .await
            .map(|answer| {
                print(&mut printed, &answer);
                let metadata = answer.metadata.as_ref().unwrap();
                metadata.name.clone().unwrap()
            }),
        Effect::Create => {
            let create = jobs
                .create("new")
                .env("PASSWORD", ENVIRONMENT)
                .custom_image("garden/leaves:1")
                .flavor("modelarts.vm.cpu.2u")
                .command(format!("run {ENVIRONMENT}"));
            print(&mut printed, &create);
            // One call, as with the other effects.
            create.without_look_up().submit().await.map(named)
        }
    };
    if let Err(error) = &result {
        print_error(&mut printed, error);
    }
    drop((kept, late));
    let state = cloud.state.lock().unwrap();
    Happened {
        seen: state.seen,
        executed: state.executed,
        result,
        made: state.jobs.iter().filter(|name| *name == "new").count(),
        requests: state.requests.clone(),
        pauses: clock.slept(),
        flooded: cloud.flooded.load(Ordering::Relaxed),
        led_astray: elsewhere.requests().len(),
        tokens: tokens.0.load(Ordering::Relaxed),
        printed,
    }
}

fn print(into: &mut String, value: &impl Debug) {
    writeln!(into, "{value:?}\n{value:#?}").unwrap();
}

/// An error in every form in which programs print errors.
fn print_error(into: &mut String, error: &Error) {
    print(into, error);
    writeln!(into, "{error}\n{error:#}").unwrap();
    for part in [error.message(), error.solution(), error.advice()] {
        writeln!(into, "{part:?}").unwrap();
    }
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        print(into, &error);
        writeln!(into, "{error}\n{error:#}").unwrap();
        source = error.source();
    }
}

const EFFECTS: [Effect; 3] = [Effect::Read, Effect::Stop, Effect::Create];

/// The values of a header in all requests.
fn header(requests: &[String], name: &str) -> Vec<String> {
    let value = |request: &String| {
        let (head, _) = request.split_once("\r\n\r\n")?;
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            (found == name).then(|| value.to_owned())
        })
    };
    requests.iter().filter_map(value).collect()
}

#[tokio::test]
async fn the_matrix() {
    LazyLock::force(&LOG);
    let mut wrong = String::new();
    for row in TABLE {
        for effect in EFFECTS {
            let happened = run(row, effect, row.who).await;
            let end = match &happened.result {
                Ok(_) => End::Done,
                Err(error) => End::Fails {
                    kind: error.kind(),
                    status: error.status(),
                    attempts: error.attempts(),
                },
            };
            let cell = Cell {
                seen: happened.seen,
                executed: happened.executed,
                end,
            };
            let mut complain = |what: String| {
                let (name, strikes) = (row.name, row.strikes);
                writeln!(wrong, "{name}, {strikes:?}, {effect:?}: {what}").unwrap();
            };
            if cell != row.cell(effect) {
                let expected = row.cell(effect);
                complain(format!("{cell:?}\n  instead of {expected:?}"));
            }
            // A job that exists was made once, and the caller has it; and the other way.
            if effect == Effect::Create {
                let reported = usize::from(happened.result.is_ok());
                if (happened.made, happened.executed) != (reported, reported) {
                    complain(format!(
                        "made {}, executed {}, reported {reported}",
                        happened.made, happened.executed
                    ));
                }
            }
            if let Ok(name) = &happened.result {
                let expected = if effect == Effect::Create {
                    "new"
                } else {
                    "old"
                };
                assert_eq!(name, expected);
            }
            let pauses: Vec<_> = happened.pauses.iter().map(Duration::as_secs_f64).collect();
            if let Some(seconds) = row.pauses {
                let seconds: Vec<_> = seconds.iter().map(|s| Duration::from_secs(*s)).collect();
                if happened.pauses != seconds {
                    complain(format!("paused for {pauses:?} instead of {seconds:?}"));
                }
            } else if effect != Effect::Create {
                // Full jitter below ceilings that double; one before each further attempt.
                let refused = match row.fault {
                    Fault::Refused if row.strikes == OnceBefore => 1,
                    Fault::Refused => 5,
                    _ => 0,
                };
                let expected = (happened.seen + refused).saturating_sub(1);
                let ceilings = [0.2, 0.4, 0.8, 1.6];
                if pauses.len() != expected || pauses.iter().zip(ceilings).any(|(p, c)| *p > c) {
                    complain(format!("paused for {pauses:?}, not {expected} times"));
                }
            }
            if happened.led_astray > 0 {
                complain("the redirect was followed".to_owned());
            }
            if let Fault::Flood(status, size) = row.fault
                && status != "200 OK"
            {
                assert!(happened.flooded > 0);
                if happened.flooded >= size {
                    complain("all of the body was read".to_owned());
                }
                let uncut = happened.printed.contains(&"x".repeat(2049));
                let lost = match &happened.result {
                    Ok(_) => false,
                    Err(error) => !error.to_string().contains(&"x".repeat(2048)),
                };
                if uncut || lost {
                    complain("the error is not the beginning of the body".to_owned());
                }
            }
            if row.who == Who::Token && happened.tokens != 2 {
                complain(format!("{} tokens", happened.tokens));
            }
            check_second_chance(row, &happened);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is sent after a refusal of the credentials that can be mended.
fn check_second_chance(row: &Row, happened: &Happened) {
    if row.fault == EXPIRED && row.who == Who::Token {
        let tokens = header(&happened.requests, "x-auth-token");
        assert_eq!(tokens, [format!("{TOKEN}-1"), format!("{TOKEN}-2")]);
    }
    if row.fault == CLOCK {
        let dates = header(&happened.requests, "x-sdk-date");
        assert_eq!(dates, ["20260115T083045Z", "20260115T093045Z"]);
        if let Err(error) = &happened.result {
            let text = error.to_string();
            assert!(text.contains("server time:20260115T093045Z"), "{text}");
        }
    }
    if let Err(error) = &happened.result
        && [EXPIRED, CLOCK, SIGNATURE].contains(&row.fault)
    {
        assert!(error.is_auth() && !error.is_retryable(), "{error}");
    }
}

/// Everything that was traced. One for the whole program, because `tracing` decides once
/// for all threads whether anybody listens to a place in the code.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing_subscriber::util::SubscriberInitExt::init(subscriber);
    log
});

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_row_shows_a_secret() {
    LazyLock::force(&LOG);
    let mut printed = String::new();
    let mut requests = Vec::new();
    for credentials in [
        Credentials::keys(ACCESS_KEY, SECRET_KEY),
        Credentials::token(TOKEN),
    ] {
        print(&mut printed, &credentials);
    }
    let mut errors = 0;
    for row in TABLE {
        for effect in EFFECTS {
            for who in [Who::Keys, Who::Token] {
                let happened = run(row, effect, who).await;
                printed.push_str(&happened.printed);
                requests.extend(happened.requests);
                errors += usize::from(happened.result.is_err());
            }
        }
    }
    assert!(errors > 100, "{errors}");

    // The requests did carry them.
    assert!(header(&requests, "x-security-token").contains(&SECURITY_TOKEN.to_owned()));
    let signed = header(&requests, "authorization");
    assert!(signed.iter().all(|value| value.contains(ACCESS_KEY)));
    assert!(header(&requests, "x-auth-token").contains(&format!("{TOKEN}-1")));
    assert!(requests.iter().any(|request| request.contains(ENVIRONMENT)));
    assert!(requests.iter().all(|request| !request.contains(SECRET_KEY)));
    let signatures: Vec<_> = signed
        .iter()
        .map(|value| value.split_once("Signature=").unwrap().1.to_owned())
        .collect();
    assert!(signatures.len() > 100, "{}", signatures.len());
    let logged = String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap();
    for expected in ["operation=\"CreateTrainingJob\"", "sending again", "TRACE"] {
        assert!(logged.contains(expected), "{expected}");
    }

    let mut shown = String::new();
    for (place, text) in [("printed", &printed), ("logged", &logged)] {
        for line in text.lines().filter(|line| line.contains("-hidden-")) {
            writeln!(shown, "{place}: {line}").unwrap();
        }
        for signature in &signatures {
            assert_eq!(signature.len(), 64);
            if text.contains(signature) {
                writeln!(shown, "{place}: the signature {signature}").unwrap();
            }
        }
    }
    assert!(shown.is_empty(), "{shown}");
}
