//! Local server whose responses a function computes.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use axum::{
    body::Body,
    http::{HeaderMap, Request, Response},
};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

/// Request as received.
#[derive(Clone, Debug)]
pub(crate) struct FakeRequest {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl FakeRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// Reply of a [`FakeServer`]: status, headers and body.
pub(crate) struct FakeReply(u16, Vec<(&'static str, String)>, String);

pub(crate) fn reply(status: u16, body: impl fmt::Display) -> FakeReply {
    FakeReply(status, Vec::new(), body.to_string())
}

impl FakeReply {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.1.push((name, value.into()));
        self
    }
}

/// Local server that computes each reply with a function.
#[derive(Clone)]
pub(crate) struct FakeServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<FakeRequest>>>,
    gate: Arc<Semaphore>,
    arrived: watch::Sender<usize>,
}

impl FakeServer {
    pub(crate) async fn start(
        answer: impl Fn(&FakeRequest) -> FakeReply + Send + Sync + 'static,
    ) -> Self {
        let fake = Self::closed(answer).await;
        fake.open();
        fake
    }

    /// Creates a server that holds all responses until it is [opened](Self::open).
    pub(crate) async fn closed(
        answer: impl Fn(&FakeRequest) -> FakeReply + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            asked: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
            arrived: watch::Sender::new(0),
        };
        let answer = Arc::new(answer);
        let shared = fake.clone();
        let app = axum::Router::new().fallback(move |request: Request<Body>| {
            let (answer, fake) = (Arc::clone(&answer), shared.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
                let asked = FakeRequest {
                    method: head.method.to_string(),
                    target: head.uri.to_string(),
                    headers: head.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                };
                fake.asked.lock().unwrap().push(asked.clone());
                fake.arrived.send_modify(|count| *count += 1);
                fake.gate.acquire().await.unwrap().forget();
                let FakeReply(status, headers, body) = answer(&asked);
                let mut response = Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(name, value);
                }
                response.body(Body::from(body)).unwrap()
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    pub(crate) fn open(&self) {
        self.gate.add_permits(1 << 20);
    }

    /// Responds to `count` waiting requests.
    pub(crate) fn pass(&self, count: usize) {
        self.gate.add_permits(count);
    }

    /// Waits until this number of requests has arrived.
    pub(crate) async fn arrived(&self, count: usize) {
        let mut arrived = self.arrived.subscribe();
        arrived.wait_for(|arrived| *arrived >= count).await.unwrap();
    }

    pub(crate) fn asked(&self) -> Vec<FakeRequest> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().iter().map(FakeRequest::line).collect()
    }
}

/// Returns the address of a port without a listener.
pub(crate) fn closed_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
