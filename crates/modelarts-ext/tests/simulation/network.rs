//! Simulated network between client and service.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use fastrand::Rng;
use futures::stream;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{DATE, RETRY_AFTER},
};
use modelarts_ext::{
    api::BoxFuture,
    connector::{ConnectorError, HttpConnector},
};
use tokio::time::sleep;
use url::{Position, Url};

use crate::{
    answers::alter,
    calls::{Attempt, Call, End, Op},
    clock::ServiceClock,
    conditions::{Conditions, EMPTY_BODIES, Fate},
    service::{Answer, Service},
    trace::Trace,
    world::fail,
};

/// Maximum number of requests in a simulation. No correct simulation reaches it, so reaching it
/// indicates a call that does not end.
const MOST_REQUESTS: u64 = 30_000;

/// Seconds of the header `Retry-After`. The last is ten years.
const RETRY_TIMES: [u64; 6] = [0, 1, 3, 10, 40, 315_360_000];

/// Network that delivers requests to the service, without a socket. Clones share the same network.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) service: Arc<Service>,
    pub(crate) conditions: Conditions,
    pub(crate) clock: ServiceClock,
    pub(crate) trace: Trace,
    pub(crate) rng: Arc<Mutex<Rng>>,
    /// Number of requests sent.
    pub(crate) requests: Arc<AtomicU64>,
    /// Path and response of the last request for job details, which may replace the response to a
    /// later request about another job.
    pub(crate) last: Arc<Mutex<Option<(String, Answer)>>>,
}

/// Random decisions about one request.
struct Course {
    fate: Fate,
    there: Duration,
    back: Duration,
    /// A `Retry-After`, and whether it is a date.
    retry_after: Option<(Duration, bool)>,
}

/// What the client receives.
type Received = Result<reqwest::Response, ConnectorError>;
/// Result of an attempt: its end for the record, a `Retry-After`, and the result for the client.
type Exchange = (End, Option<Duration>, Received);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl HttpConnector for Network {
    fn send(&self, request: reqwest::Request) -> BoxFuture<'static, Received> {
        let network = self.clone();
        Box::pin(async move { network.transfer(request).await })
    }

    fn reset(&self) {
        *self.last.lock().unwrap() = None;
        self.trace.note("the connections are closed");
    }
}

impl Network {
    /// Sends a request, and records it as an attempt of the current call.
    async fn transfer(self, request: reqwest::Request) -> Received {
        let sent = self.requests.fetch_add(1, Ordering::Relaxed);
        fail!(self, if sent == MOST_REQUESTS; "{sent} requests: a call does not end");
        if sent >= MOST_REQUESTS {
            std::future::pending::<()>().await;
        }
        let (method, url) = (request.method(), request.url());
        let op = Op::of(method, url.path());
        // The parts before are the version and the project.
        let path = target(url).splitn(4, '/').last().unwrap_or_default();
        let body = body(&request);
        let body = String::from_utf8_lossy(&body);
        let key = format!("{method} {path} {body}");
        let name = match op {
            Op::Search | Op::Create => key.clone(),
            _ => format!("{method} {path}"),
        };
        let call = Call::current();
        let attempt = Attempt {
            op,
            key,
            source: format!("{method} {}", url.path()),
            sent: self.clock.elapsed(),
            ended: Duration::MAX,
            end: End::Pending,
            retry_after: None,
        };
        let attempt = call.as_ref().map(|call| call.begin(attempt));
        let number = call.as_ref().map(|call| call.number);
        let (end, retry_after, result) = self.exchange(request, op, number, &name).await;
        if let (Some(call), Some(attempt)) = (call, attempt) {
            call.end(attempt, self.clock.elapsed(), end, retry_after);
        }
        result
    }

    fn course(&self, op: Op) -> Course {
        let mut rng = self.rng.lock().unwrap();
        let fate = self.conditions.fate(&mut rng, self.clock.elapsed(), op);
        let mut way = || Duration::from_millis(rng.u64(1..=self.conditions.slow));
        let (there, back) = (way(), way());
        let seconds = rng.choice(RETRY_TIMES).filter(|_| rng.bool());
        let is_date = rng.bool();
        Course {
            fate,
            there,
            back,
            retry_after: seconds.map(|seconds| (Duration::from_secs(seconds), is_date)),
        }
    }

    async fn exchange(
        &self,
        request: reqwest::Request,
        op: Op,
        call: Option<usize>,
        name: &str,
    ) -> Exchange {
        let note = |end: &dyn fmt::Display| self.trace.note(format_args!("{name}: {end}"));
        let course = self.course(op);
        let (fate, there, back) = (course.fate, course.there, course.back);
        let early = match fate {
            Fate::Refused => failed(End::Refused),
            Fate::RequestLost => failed(End::Lost),
            Fate::GatewayAnswer(status) => {
                let (pause, headers) = self.retry_after(status, &course);
                (
                    End::Status(status),
                    pause,
                    Ok(response(status, headers, "")),
                )
            }
            Fate::WrongBody(body) => {
                let is_empty = EMPTY_BODIES.contains(&body);
                let end = if is_empty { End::Empty } else { End::Wrong };
                (end, None, Ok(response(200, HeaderMap::new(), body)))
            }
            Fate::NotReady => responded(204, HeaderMap::new(), ""),
            _ => {
                let path = request.url().path().to_owned();
                let deliver = self.clone().deliver(request, op, call, there);
                // Runs as a separate task, so that the request arrives even if the client no longer
                // waits for the response.
                let Ok(Some(got)) = tokio::spawn(deliver).await else {
                    note(&"refused: the service is restarted");
                    return failed(End::Refused);
                };
                sleep(back).await;
                return self.receive(got, (op, path), fate, note).await;
            }
        };
        sleep(there + back).await;
        note(&format_args!("{fate:?}, retry after {:?}", early.1));
        early
    }

    /// Delivers the response of the service, or what the network makes of it.
    async fn receive(
        &self,
        got: Answer,
        (op, path): (Op, String),
        fate: Fate,
        note: impl Fn(&dyn fmt::Display),
    ) -> Exchange {
        let mut other = None;
        if op == Op::Show && got.status.is_success() {
            let last = self
                .last
                .lock()
                .unwrap()
                .replace((path.clone(), got.clone()));
            other = last.filter(|(other, _)| *other != path);
        }
        let status = got.status.as_u16();
        match (fate, other) {
            (Fate::AnswerLost, _) => {
                note(&format_args!("{status}, lost on its way back"));
                failed(End::Lost)
            }
            (Fate::Silent, _) => {
                note(&format_args!("{status}, never comes back"));
                std::future::pending().await
            }
            (Fate::StatusReplaced(masked), _) => {
                note(&format_args!("{status}, answered as {masked}"));
                responded(masked, HeaderMap::new(), "")
            }
            (Fate::Truncated, _) if !got.body.is_empty() => {
                let half = got.body.slice(..got.body.len() / 2);
                note(&format_args!("{status}, cut after {} bytes", half.len()));
                let cut = io::Error::from(io::ErrorKind::ConnectionReset);
                let body = reqwest::Body::wrap_stream(stream::iter([Ok(half), Err(cut)]));
                (End::Lost, None, Ok(response(status, got.headers, body)))
            }
            (Fate::OtherAnswer, Some((_, other))) => {
                note(&format_args!("{status}, the answer before comes"));
                let status = other.status.as_u16();
                (
                    End::Wrong,
                    None,
                    Ok(response(status, other.headers, other.body)),
                )
            }
            _ => {
                note(&status);
                responded(status, got.headers, got.body)
            }
        }
    }

    /// Delivers a request to the service, and returns the response.
    async fn deliver(
        self,
        request: reqwest::Request,
        op: Op,
        call: Option<usize>,
        there: Duration,
    ) -> Option<Answer> {
        sleep(there).await;
        let body = body(&request);
        let mut head = http::Request::new(());
        *head.method_mut() = request.method().clone();
        *head.uri_mut() = target(request.url()).parse().ok()?;
        *head.headers_mut() = request.headers().clone();
        let answer = self.service.call(&head, body.clone()).await?;
        self.service.record(op, call, &body, &answer);
        let asked = (op, &body);
        Some(alter(&self.service, &self.conditions, &self.rng, asked, answer).await)
    }

    /// Returns the header `Retry-After` of a gateway, which only some statuses have. A date is
    /// compared with the clock of the service.
    fn retry_after(&self, status: u16, course: &Course) -> (Option<Duration>, HeaderMap) {
        let mut headers = HeaderMap::new();
        let Some((pause, is_date)) = course.retry_after.filter(|_| matches!(status, 429 | 503))
        else {
            return (None, headers);
        };
        let now = self.clock.time();
        headers.insert(RETRY_AFTER, pause.as_secs().into());
        if is_date {
            headers.insert(DATE, http_date(now));
            headers.insert(RETRY_AFTER, http_date(now + pause));
        }
        (Some(pause), headers)
    }
}

/// Returns a time in the form of HTTP headers.
fn http_date(time: SystemTime) -> HeaderValue {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    let text = time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HeaderValue::try_from(text).unwrap()
}

/// Returns the path and the query.
fn target(url: &Url) -> &str {
    &url[Position::BeforePath..]
}

fn body(request: &reqwest::Request) -> Bytes {
    let body = request.body().and_then(reqwest::Body::as_bytes);
    Bytes::copy_from_slice(body.unwrap_or_default())
}

/// Returns the result of an attempt without a response.
fn failed(end: End) -> Exchange {
    let error = match end {
        End::Refused => ConnectorError::NotSent("connection refused".into()),
        _ => ConnectorError::Lost("connection reset".into()),
    };
    (end, None, Err(error))
}

fn response(status: u16, headers: HeaderMap, body: impl Into<reqwest::Body>) -> reqwest::Response {
    let mut response = http::Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    *response.headers_mut() = headers;
    response.into()
}

/// Returns the result of an attempt with this response.
fn responded(status: u16, headers: HeaderMap, body: impl Into<reqwest::Body>) -> Exchange {
    (
        End::Status(status),
        None,
        Ok(response(status, headers, body)),
    )
}
