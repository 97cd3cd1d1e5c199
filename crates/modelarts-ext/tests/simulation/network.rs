//! Simulated network between client and service.

use std::io;

use futures::stream;
use modelarts_ext::connector::{ConnectorError, HttpConnector};
use reqwest::{Request, Response};
use url::{Position, Url};

use crate::{answers::alter, prelude::*};

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

/// A request: its operation and call, and random decisions about it.
#[derive(Clone)]
struct Course {
    op: Op,
    call: Option<usize>,
    /// Path of the request, and its description in the trace.
    path: String,
    name: String,
    fate: Fate,
    there: Duration,
    back: Duration,
    /// A `Retry-After`, and whether it is a date.
    retry_after: Option<(Duration, bool)>,
}

/// The response that the client receives.
type Received = Result<Response, ConnectorError>;
/// Result of an attempt: its end for the record, a `Retry-After`, and the result for the client.
type Exchange = (End, Option<Duration>, Received);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl HttpConnector for Network {
    fn send(&self, request: Request) -> BoxFuture<'static, Received> {
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
    async fn transfer(self, request: Request) -> Received {
        let sent = self.requests.fetch_add(1, Relaxed);
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
        let course = self.course(op, number, url.path().to_owned(), name);
        let (end, retry_after, result) = self.exchange(request, course).await;
        if let (Some(call), Some(attempt)) = (call, attempt) {
            call.end(attempt, self.clock.elapsed(), end, retry_after);
        }
        result
    }

    fn course(&self, op: Op, call: Option<usize>, path: String, name: String) -> Course {
        let mut rng = self.rng.lock().unwrap();
        let fate = self.conditions.fate(&mut rng, self.clock.elapsed(), op);
        let mut way = || Duration::from_millis(rng.u64(1..=self.conditions.slow));
        let (there, back) = (way(), way());
        let seconds = rng.choice(RETRY_TIMES).filter(|_| rng.bool());
        let is_date = rng.bool();
        Course {
            op,
            call,
            path,
            name,
            fate,
            there,
            back,
            retry_after: seconds.map(|seconds| (Duration::from_secs(seconds), is_date)),
        }
    }

    async fn exchange(&self, request: Request, course: Course) -> Exchange {
        let (end, pause, result) = match course.fate {
            Fate::Refused => failed(End::Refused),
            Fate::RequestLost => failed(End::Lost),
            Fate::GatewayAnswer(status) => {
                let (pause, headers) = self.retry_after(status, &course);
                let (end, _, result) = responded(status, headers, "");
                (end, pause, result)
            }
            Fate::WrongBody(body) => {
                let is_empty = EMPTY_BODIES.contains(&body);
                let end = if is_empty { End::Empty } else { End::Wrong };
                (end, None, Ok(response(200, HeaderMap::new(), body)))
            }
            Fate::NotReady => responded(204, HeaderMap::new(), ""),
            _ => {
                let deliver = self.clone().deliver(request, course.clone());
                // Runs as a separate task, so that the request arrives even if the client no longer
                // waits for the response.
                let Ok(Some(got)) = tokio::spawn(deliver).await else {
                    self.note(&course, "refused: the service is restarted");
                    return failed(End::Refused);
                };
                sleep(course.back).await;
                return self.receive(got, &course).await;
            }
        };
        sleep(course.there + course.back).await;
        self.note(&course, &format!("{:?}, retry after {pause:?}", course.fate));
        (end, pause, result)
    }

    fn note(&self, course: &Course, end: &str) {
        self.trace.note(format_args!("{}: {end}", course.name));
    }

    /// Delivers the response of the service, or what the network makes of it.
    async fn receive(&self, got: Answer, course: &Course) -> Exchange {
        let mut other = None;
        if course.op == Op::Show && got.status.is_success() {
            let this = Some((course.path.clone(), got.clone()));
            let last = std::mem::replace(&mut *self.last.lock().unwrap(), this);
            other = last.filter(|(path, _)| *path != course.path);
        }
        let status = got.status.as_u16();
        let (how, exchange) = match (course.fate, other) {
            (Fate::AnswerLost, _) => ("lost on its way back", failed(End::Lost)),
            (Fate::Silent, _) => {
                self.note(course, &format!("{status}, never comes back"));
                std::future::pending().await
            }
            (Fate::StatusReplaced(status), _) => {
                ("replaced", responded(status, HeaderMap::new(), ""))
            }
            (Fate::Truncated, _) if !got.body.is_empty() => {
                let half = got.body.slice(..got.body.len() / 2);
                let cut = io::Error::from(io::ErrorKind::ConnectionReset);
                let body = reqwest::Body::wrap_stream(stream::iter([Ok(half), Err(cut)]));
                let response = response(status, got.headers, body);
                ("cut", (End::Lost, None, Ok(response)))
            }
            (Fate::OtherAnswer, Some((_, other))) => {
                let response = response(other.status.as_u16(), other.headers, other.body);
                ("the answer before comes", (End::Wrong, None, Ok(response)))
            }
            _ => ("", responded(status, got.headers, got.body)),
        };
        self.note(course, &format!("{status} {how}"));
        exchange
    }

    /// Delivers a request to the service, and returns the response.
    async fn deliver(self, request: Request, course: Course) -> Option<Answer> {
        sleep(course.there).await;
        let body = body(&request);
        let mut head = http::Request::new(());
        *head.method_mut() = request.method().clone();
        *head.uri_mut() = target(request.url()).parse().ok()?;
        *head.headers_mut() = request.headers().clone();
        let answer = self.service.call(&head, body.clone()).await?;
        self.service.record(course.op, course.call, &body, &answer);
        Some(alter(&self, (course.op, &course.path), &body, answer).await)
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
        headers.insert(header::RETRY_AFTER, pause.as_secs().into());
        if is_date {
            headers.insert(header::DATE, http_date(now));
            headers.insert(header::RETRY_AFTER, http_date(now + pause));
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

fn body(request: &Request) -> Bytes {
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

fn response(status: u16, headers: HeaderMap, body: impl Into<reqwest::Body>) -> Response {
    let mut response = http::Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    *response.headers_mut() = headers;
    response.into()
}

/// Returns the result of an attempt with this response.
fn responded(status: u16, headers: HeaderMap, body: impl Into<reqwest::Body>) -> Exchange {
    let response = response(status, headers, body);
    (End::Status(status), None, Ok(response))
}
