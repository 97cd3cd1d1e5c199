//! Simulated network between client and service.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use fastrand::Rng;
use futures::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
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

/// Network that delivers requests to the service, without a socket.
#[derive(Clone)]
pub(crate) struct Network(Arc<Inner>);

struct Inner {
    service: Arc<Service>,
    conditions: Conditions,
    clock: ServiceClock,
    trace: Trace,
    rng: Mutex<Rng>,
    requests: AtomicU64,
    /// Last response with job details, which may replace the response to a later request about
    /// another job.
    last: Mutex<Option<(String, Answer)>>,
}

/// Random decisions about one request.
struct Course {
    fate: Fate,
    there: Duration,
    back: Duration,
    /// Seconds of a `Retry-After`, and whether it is a date.
    retry_after: Option<(u64, bool)>,
}

/// Result of an attempt: its end for the record, a `Retry-After`, and the result for the client.
type Exchange = (
    End,
    Option<Duration>,
    Result<reqwest::Response, ConnectorError>,
);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("conditions", &self.0.conditions)
            .finish_non_exhaustive()
    }
}

impl Network {
    pub(crate) fn new(
        service: Arc<Service>,
        conditions: Conditions,
        clock: ServiceClock,
        trace: Trace,
        rng: Rng,
    ) -> Self {
        Self(Arc::new(Inner {
            service,
            conditions,
            clock,
            trace,
            rng: Mutex::new(rng),
            requests: AtomicU64::new(0),
            last: Mutex::default(),
        }))
    }

    /// Returns the number of requests sent.
    pub(crate) fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }
}

impl HttpConnector for Network {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { inner.send(request).await })
    }

    fn reset(&self) {
        *self.0.last.lock().unwrap() = None;
        self.0.trace.note("the connections are closed");
    }
}

impl Inner {
    /// Sends a request, and records it as an attempt of the current call.
    async fn send(
        self: Arc<Self>,
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
        let name = format!("{} {}", request.method(), brief(request.url()));
        let op = Op::of(request.method(), request.url().path());
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let body = String::from_utf8_lossy(body.unwrap_or_default());
        let name = match op {
            Op::Search | Op::Create => format!("{name} {body}"),
            _ => name,
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
        let course = self.course(op, now);
        let (end, retry_after, result) = self.exchange(request, op, number, course, &name).await;
        if let (Some(call), Some(attempt)) = (call, attempt) {
            call.end(attempt, self.clock.elapsed(), end, retry_after);
        }
        result
    }

    fn course(&self, op: Op, at: Duration) -> Course {
        let mut rng = self.rng.lock().unwrap();
        let fate = self.conditions.fate(&mut rng, at, op);
        let mut way = || Duration::from_millis(rng.u64(1..=self.conditions.slow));
        let (there, back) = (way(), way());
        let time = RETRY_TIMES[rng.usize(..RETRY_TIMES.len())];
        // A date of ten years from now is as likely as one of ten seconds.
        let retry_after = rng.bool().then(|| (time, rng.bool()));
        Course {
            fate,
            there,
            back,
            retry_after,
        }
    }

    async fn exchange(
        self: &Arc<Self>,
        request: reqwest::Request,
        op: Op,
        call: Option<usize>,
        course: Course,
        name: &str,
    ) -> Exchange {
        let note = |end: &dyn fmt::Display| self.trace.note(format_args!("{name}: {end}"));
        let (fate, there, back) = (course.fate, course.there, course.back);
        let early = match fate {
            Fate::Refused => failed(End::Refused),
            Fate::RequestLost => failed(End::Lost),
            Fate::GatewayAnswer(status) => {
                let (pause, headers) = self.retry_after(status, course.retry_after);
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
        self: &Arc<Self>,
        request: reqwest::Request,
        (op, call): (Op, Option<usize>),
        Course {
            fate, there, back, ..
        }: Course,
        note: impl Fn(&dyn fmt::Display),
    ) -> Exchange {
        let path = request.url().path().to_owned();
        let deliver = Arc::clone(self).deliver(request, op, call, there);
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
        self: Arc<Self>,
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

    /// Returns the header `Retry-After` of a gateway, which only some statuses have.
    fn retry_after(
        &self,
        status: u16,
        seconds: Option<(u64, bool)>,
    ) -> (Option<Duration>, HeaderMap) {
        let mut headers = HeaderMap::new();
        let Some((seconds, is_date)) = seconds.filter(|_| matches!(status, 429 | 503)) else {
            return (None, headers);
        };
        let pause = Duration::from_secs(seconds);
        let text = match is_date {
            true => http_date(self.clock.time() + pause),
            false => seconds.to_string(),
        };
        if is_date {
            // The date has whole seconds, and is compared with the clock of the service.
            let now = HeaderValue::try_from(http_date(self.clock.time()));
            headers.extend(now.ok().map(|now| (http::header::DATE, now)));
        }
        headers.extend(
            HeaderValue::try_from(text)
                .ok()
                .map(|text| (RETRY_AFTER, text)),
        );
        (Some(pause), headers)
    }
}

/// Returns a time in the form of HTTP headers.
fn http_date(time: std::time::SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Returns the result of an attempt without a response.
fn failed(end: End) -> Exchange {
    let error = match end {
        End::Refused => ConnectorError::NotSent("connection refused".into()),
        _ => ConnectorError::Lost("connection reset".into()),
    };
    (end, None, Err(error))
}

/// Returns the part of the path after the project id, with the query.
fn brief(url: &reqwest::Url) -> String {
    let path = url.path().splitn(4, '/').last().unwrap_or_default();
    match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

/// Returns the result of an attempt with this response.
fn responded(status: u16, headers: HeaderMap, body: impl Into<reqwest::Body>) -> Exchange {
    let mut response = http::Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    *response.headers_mut() = headers;
    (End::Status(status), None, Ok(response.into()))
}
