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
use tokio::{sync::oneshot, time::sleep};

use crate::{
    answers::alter,
    calls::{Attempt, Call, End, Op},
    clock::ServiceClock,
    conditions::{Conditions, EMPTY_BODIES, Fate},
    service::{Answer, Service},
    trace::Trace,
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
    /// Seconds of a `Retry-After`, and whether it is a date.
    retry_after: Option<u64>,
    is_date: bool,
}

/// Result of an attempt: its end for the record, a `Retry-After`, and the result for the client.
type Exchange = (
    End,
    Option<Duration>,
    Result<reqwest::Response, ConnectorError>,
);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl HttpConnector for Network {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
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
    async fn transfer(
        &self,
        request: reqwest::Request,
    ) -> Result<reqwest::Response, ConnectorError> {
        let sent = self.requests.fetch_add(1, Ordering::Relaxed);
        if sent == MOST_REQUESTS {
            self.trace.fail(format_args!(
                "more than {MOST_REQUESTS} requests: a call does not end"
            ));
        }
        if sent >= MOST_REQUESTS {
            std::future::pending::<()>().await;
        }
        let op = Op::of(request.method(), request.url().path());
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let body = String::from_utf8_lossy(body.unwrap_or_default());
        let name = match op {
            Op::Search | Op::Create => format!("{} {body}", brief(&request)),
            _ => brief(&request),
        };
        let call = Call::current();
        let now = self.clock.elapsed();
        let attempt = call.as_ref().map(|call| {
            call.begin(Attempt {
                op,
                key: format!("{name} {body}"),
                source: format!("{} {}", request.method(), request.url().path()),
                sent: now,
                ended: Duration::MAX,
                end: End::Pending,
                retry_after: None,
            })
        });
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
        Course {
            fate,
            there: way(),
            back: way(),
            retry_after: rng.choice(RETRY_TIMES).filter(|_| rng.bool()),
            is_date: rng.bool(),
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
                let (end, _, response) = responded(status, headers, "");
                (end, pause, response)
            }
            Fate::WrongBody(body) => {
                let is_empty = EMPTY_BODIES.contains(&body);
                let end = if is_empty { End::Empty } else { End::Wrong };
                let (_, _, response) = responded(200, HeaderMap::new(), body);
                (end, None, response)
            }
            Fate::NotReady => responded(204, HeaderMap::new(), ""),
            _ => return self.pass(request, (op, call), course, note).await,
        };
        sleep(there + back).await;
        note(&format_args!("{fate:?}, retry after {:?}", early.1));
        early
    }

    /// Passes a request to the service, and returns its response.
    async fn pass(
        &self,
        request: reqwest::Request,
        (op, call): (Op, Option<usize>),
        Course {
            fate, there, back, ..
        }: Course,
        note: impl Fn(&dyn fmt::Display),
    ) -> Exchange {
        let path = request.url().path().to_owned();
        let deliver = self.clone().deliver(request, op, call, there);
        let (send, received) = oneshot::channel();
        // Runs as a separate task, so that the request arrives even if the client no longer waits
        // for the response.
        tokio::spawn(async move {
            let _ = send.send(deliver.await);
        });
        let Ok(Some(got)) = received.await else {
            note(&"refused: the service is restarted");
            return failed(End::Refused);
        };
        sleep(back).await;
        self.receive(got, (op, &path), fate, note).await
    }

    /// Delivers the response of the service, or what the network makes of it.
    async fn receive(
        &self,
        got: Answer,
        (op, path): (Op, &str),
        fate: Fate,
        note: impl Fn(&dyn fmt::Display),
    ) -> Exchange {
        let mixed = match op == Op::Show && got.status.is_success() {
            true => self
                .last
                .lock()
                .unwrap()
                .replace((path.to_owned(), got.clone())),
            false => None,
        };
        let mixed = mixed
            .filter(|(other, _)| other != path)
            .map(|(_, answer)| answer);
        let status = got.status.as_u16();
        match fate {
            Fate::AnswerLost => {
                note(&format_args!("{status}, lost on its way back"));
                failed(End::Lost)
            }
            Fate::Silent => {
                note(&format_args!("{status}, never comes back"));
                std::future::pending().await
            }
            Fate::StatusReplaced(masked) => {
                note(&format_args!("{status}, answered as {masked}"));
                responded(masked, HeaderMap::new(), "")
            }
            Fate::Truncated if !got.body.is_empty() => {
                let half = got.body.slice(..got.body.len() / 2);
                note(&format_args!("{status}, cut after {} bytes", half.len()));
                let cut = io::Error::from(io::ErrorKind::ConnectionReset);
                let body = reqwest::Body::wrap_stream(stream::iter([Ok(half), Err(cut)]));
                let (_, _, response) = responded(status, got.headers, body);
                (End::Lost, None, response)
            }
            Fate::OtherAnswer if mixed.is_some() => {
                note(&format_args!("{status}, the answer before comes"));
                let other = mixed.unwrap_or(got);
                let (_, _, other) = responded(other.status.as_u16(), other.headers, other.body);
                (End::Wrong, None, other)
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
        let url = request.url().clone();
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let body = Bytes::copy_from_slice(body.unwrap_or_default());
        let mut head = http::Request::new(());
        *head.method_mut() = request.method().clone();
        *head.uri_mut() = target.parse().unwrap_or_default();
        *head.headers_mut() = request.headers().clone();
        let answer = self.service.call(&head, body.clone()).await?;
        self.service.record(op, call, &body, &answer);
        alter(
            &self.service,
            &self.conditions,
            &self.rng,
            (op, &head, &body),
            answer,
        )
        .await
    }

    /// Returns the header `Retry-After` of a gateway, which only some statuses have. A date is
    /// compared with the clock of the service.
    fn retry_after(&self, status: u16, course: &Course) -> (Option<Duration>, HeaderMap) {
        let mut headers = HeaderMap::new();
        let seconds = course.retry_after.filter(|_| matches!(status, 429 | 503));
        let Some(pause) = seconds.map(Duration::from_secs) else {
            return (None, headers);
        };
        let now = self.clock.time();
        headers.insert(RETRY_AFTER, pause.as_secs().into());
        if course.is_date {
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

/// Returns the result of an attempt without a response.
fn failed(end: End) -> Exchange {
    let error = match end {
        End::Refused => ConnectorError::NotSent("connection refused".into()),
        _ => ConnectorError::Lost("connection reset".into()),
    };
    (end, None, Err(error))
}

/// Returns the method, the part of the path after the project id, and the query.
fn brief(request: &reqwest::Request) -> String {
    let url = request.url();
    let path = url.path().splitn(4, '/').last().unwrap_or_default();
    let query = url
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    format!("{} {path}{query}", request.method())
}

/// Returns the result of an attempt with this response.
fn responded(status: u16, headers: HeaderMap, body: impl Into<reqwest::Body>) -> Exchange {
    let mut response = http::Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    *response.headers_mut() = headers;
    (End::Status(status), None, Ok(response.into()))
}
