//! Simulated network between client and emulator.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use fastrand::Rng;
use futures::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use modelarts_ext::{api::BoxFuture, connector::{ConnectorError, HttpConnector}};
use std::sync::Mutex;
use serde_json::Value;
use tokio::{sync::oneshot, time::sleep};
use tower::ServiceExt;

use crate::{
    clock::SimulatedClock,
    conditions::{Conditions, Fate},
    trace::Trace,
};

/// Page size that is sufficient for all results of a search.
const WHOLE_PAGE: usize = 50;

/// Maximum number of requests in a simulation. No correct simulation reaches it, so reaching it
/// indicates a call that does not end.
const MOST_REQUESTS: u64 = 30_000;

/// Network that delivers requests to the routes of an emulator, without a socket.
#[derive(Clone)]
pub(crate) struct Network(Arc<Inner>);

struct Inner {
    routes: axum::Router,
    host: HeaderValue,
    conditions: Conditions,
    clock: SimulatedClock,
    trace: Trace,
    rng: Mutex<Rng>,
    requests: AtomicU64,
    /// Last response with job details, which may replace the response to a later request about
    /// another job.
    last: Mutex<Option<Answer>>,
}

/// A response with its complete body.
#[derive(Clone)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("conditions", &self.0.conditions)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Creates a network in which `host` serves `routes`.
    pub(crate) fn new(
        routes: axum::Router,
        host: HeaderValue,
        conditions: Conditions,
        clock: SimulatedClock,
        trace: Trace,
        rng: Rng,
    ) -> Self {
        Self(Arc::new(Inner {
            routes: routes,
            host,
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
        Box::pin(async move { inner.exchange(request).await })
    }

    fn reset(&self) {
        *self.0.last.lock().unwrap() = None;
        self.0.trace.note("the connections are closed");
    }
}

impl Inner {
    async fn exchange(
        self: Arc<Self>,
        request: reqwest::Request,
    ) -> Result<reqwest::Response, ConnectorError> {
        if self.requests.fetch_add(1, Ordering::Relaxed) == MOST_REQUESTS {
            self.trace.fail(format_args!(
                "more than {MOST_REQUESTS} requests: a call does not end"
            ));
        }
        if self.requests.load(Ordering::Relaxed) > MOST_REQUESTS {
            std::future::pending::<()>().await;
        }
        let path = request.url().path().to_owned();
        let words: Vec<&str> = path.split('/').collect();
        let is_create = request.method() == Method::POST && path.ends_with("/training-jobs");
        let is_details = request.method() == Method::GET
            && words.len() == 5
            && words.get(3) == Some(&"training-jobs");
        let (fate, there, back) = {
            let mut rng = self.rng.lock().unwrap();
            let fate = self
                .conditions
                .fate(&mut rng, self.clock.elapsed(), is_create, is_details);
            let mut way = || Duration::from_millis(rng.u64(1..=self.conditions.slow));
            (fate, way(), way())
        };
        let mut name = format!("{} {}", request.method(), brief(request.url()));
        if path.ends_with("-searches")
            && let Some(body) = request.body().and_then(reqwest::Body::as_bytes)
        {
            name.push(' ');
            name.push_str(&String::from_utf8_lossy(body));
        }
        let note = |end: &dyn fmt::Display| self.trace.note(format_args!("{name}: {end}"));
        match fate {
            Fate::Refused => {
                sleep(there).await;
                note(&"refused");
                return Err(ConnectorError::NotSent("connection refused".into()));
            }
            Fate::RequestLost => {
                sleep(there).await;
                note(&"lost on its way");
                return Err(ConnectorError::Lost("connection reset".into()));
            }
            Fate::GatewayAnswer(status) => {
                sleep(there + back).await;
                note(&status);
                return answer(status, HeaderMap::new(), Bytes::new().into());
            }
            _ => {}
        }
        let deliver = Arc::clone(&self).deliver(request, there);
        let (send, received) = oneshot::channel();
        // Runs as a separate task, so that the request arrives even if the client no longer waits
        // for the response.
        tokio::spawn(async move {
            let _ = send.send(deliver.await);
        });
        let Ok(got) = received.await else {
            return Err(ConnectorError::Lost("the emulator has ended".into()));
        };
        sleep(back).await;
        let mixed = match is_details && got.status.is_success() {
            true => self.last.lock().unwrap().replace(got.clone()),
            false => None,
        };
        let status = got.status.as_u16();
        match fate {
            Fate::AnswerLost => {
                note(&format_args!("{status}, lost on its way back"));
                Err(ConnectorError::Lost("connection reset".into()))
            }
            Fate::Silent => {
                note(&format_args!("{status}, never comes back"));
                std::future::pending().await
            }
            Fate::StatusReplaced(masked) => {
                note(&format_args!("{status}, answered as {masked}"));
                answer(masked, HeaderMap::new(), Bytes::new().into())
            }
            Fate::Truncated if !got.body.is_empty() => {
                let half = got.body.slice(..got.body.len() / 2);
                note(&format_args!("{status}, cut after {} bytes", half.len()));
                let cut = io::Error::from(io::ErrorKind::ConnectionReset);
                let body = reqwest::Body::wrap_stream(stream::iter([Ok(half), Err(cut)]));
                answer(status, got.headers, body)
            }
            Fate::OtherAnswer if mixed.is_some() => {
                note(&format_args!("{status}, the answer before comes"));
                let other = mixed.unwrap_or(got);
                answer(other.status.as_u16(), other.headers, other.body.into())
            }
            _ => {
                note(&status);
                answer(status, got.headers, got.body.into())
            }
        }
    }

    /// Delivers a request to the emulator, and returns the response.
    async fn deliver(self: Arc<Self>, request: reqwest::Request, there: Duration) -> Answer {
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
        head.headers_mut().insert(header::HOST, self.host.clone());
        let answer = self.call(&head, body.clone()).await;
        match self.conditions.unordered && url.path().ends_with("/training-job-searches") {
            true => self.reorder(&head, &body, answer).await,
            false => answer,
        }
    }

    async fn call(&self, head: &http::Request<()>, body: Bytes) -> Answer {
        let request = head.clone().map(|()| Body::from(body));
        let Ok(response) = self.routes.clone().oneshot(request).await;
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: to_bytes(body, usize::MAX).await.unwrap_or_default(),
        }
    }

    /// Returns the response to a search with a different order of jobs that have equal creation
    /// times: reads the whole list, shuffles these jobs, and takes the page from the result.
    async fn reorder(&self, head: &http::Request<()>, body: &Bytes, mut answer: Answer) -> Answer {
        let Ok(asked) = serde_json::from_slice::<Value>(body) else {
            return answer;
        };
        let Ok(mut page) = serde_json::from_slice::<Value>(&answer.body) else {
            return answer;
        };
        let mut rows: Vec<Value> = Vec::new();
        for offset in 0.. {
            let mut search = asked.clone();
            search["limit"] = WHOLE_PAGE.into();
            search["offset"] = offset.into();
            let part = self.call(head, search.to_string().into()).await;
            let mut part: Value = serde_json::from_slice(&part.body).unwrap_or_default();
            let Some(part) = part["items"].as_array_mut() else {
                return answer;
            };
            rows.append(part);
            if rows.len() < (offset + 1) * WHOLE_PAGE {
                break;
            }
        }
        let time = |row: &Value| row["metadata"]["create_time"].as_i64();
        let mut rng = self.rng.lock().unwrap();
        for same in rows.chunk_by_mut(|a, b| time(a) == time(b)) {
            rng.shuffle(same);
        }
        drop(rng);
        let number = |name: &str| asked[name].as_u64().and_then(|n| usize::try_from(n).ok());
        let limit = number("limit").unwrap_or(WHOLE_PAGE);
        let before = number("offset").unwrap_or(0) * limit;
        page["items"] = rows.into_iter().skip(before).take(limit).collect();
        answer.body = page.to_string().into();
        answer
    }
}

/// Returns the part of the path after the project id, with the query.
fn brief(url: &reqwest::Url) -> String {
    let path = url.path().splitn(4, '/').last().unwrap_or_default();
    match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

fn answer(
    status: u16,
    headers: HeaderMap,
    body: reqwest::Body,
) -> Result<reqwest::Response, ConnectorError> {
    let mut answer = http::Response::new(body);
    *answer.status_mut() =
        StatusCode::from_u16(status).map_err(|error| ConnectorError::Lost(error.into()))?;
    *answer.headers_mut() = headers;
    Ok(answer.into())
}
