//! A server that answers by a function, a clock that is set by hand, and files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use axum::{
    body::Body,
    http::{HeaderMap, Request, Response},
};
use futures::future::BoxFuture;
use modelarts_ext::{Clock, Credentials, Environment, Error, ProvideCredentials, Tools};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Asked {
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

/// What is answered.
pub(crate) struct Said(u16, Vec<(&'static str, String)>, String);

pub(crate) fn said(status: u16, body: impl fmt::Display) -> Said {
    Said(status, Vec::new(), body.to_string())
}

impl Said {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.1.push((name, value.into()));
        self
    }
}

/// A server on this machine.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    gate: Arc<Semaphore>,
    arrived: watch::Sender<usize>,
}

impl Fake {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let fake = Self::closed(answer).await;
        fake.open();
        fake
    }

    /// Answers nothing before it is [opened](Self::open).
    pub(crate) async fn closed(answer: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
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
                let asked = Asked {
                    method: head.method.to_string(),
                    target: head.uri.to_string(),
                    headers: head.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                };
                fake.asked.lock().unwrap().push(asked.clone());
                fake.arrived.send_modify(|count| *count += 1);
                fake.gate.acquire().await.unwrap().forget();
                let Said(status, headers, body) = answer(&asked);
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

    /// Answers some of those that wait.
    pub(crate) fn pass(&self, count: usize) {
        self.gate.add_permits(count);
    }

    /// Waits until this many requests have come.
    pub(crate) async fn arrived(&self, count: usize) {
        let mut arrived = self.arrived.subscribe();
        arrived.wait_for(|arrived| *arrived >= count).await.unwrap();
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().iter().map(Asked::line).collect()
    }
}

/// An address that nobody listens at.
pub(crate) fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A clock that only moves when it is told to, except that pauses may end at once.
#[derive(Clone)]
pub(crate) struct Hands {
    now: watch::Sender<SystemTime>,
    /// Which sleeps are pauses, and not the time limits of something else.
    pause: fn(Duration) -> bool,
}

impl Hands {
    pub(crate) fn new(pause: fn(Duration) -> bool) -> Self {
        Self {
            now: watch::Sender::new(start()),
            pause,
        }
    }

    /// Everything takes as long as it takes.
    pub(crate) fn still() -> Self {
        Self::new(|_| false)
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.now.send_modify(|now| *now += duration);
    }
}

/// When all tests begin: 2026-01-15T08:30:45Z.
pub(crate) fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845)
}

impl fmt::Debug for Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hands")
    }
}

impl Clock for Hands {
    fn now(&self) -> SystemTime {
        *self.now.borrow()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        if (self.pause)(duration) {
            return Box::pin(async move {
                tokio::task::yield_now().await;
                clock.advance(duration);
            });
        }
        let end = self.now() + duration;
        Box::pin(async move {
            let mut now = clock.now.subscribe();
            let _ = now.wait_for(|now| *now >= end).await;
        })
    }
}

pub(crate) const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

pub(crate) const fn hours(hours: u64) -> Duration {
    minutes(hours * 60)
}

/// A time as services write it.
pub(crate) fn written(time: SystemTime) -> String {
    let elapsed = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let days = elapsed.as_secs() / 86_400;
    // All tests end in January.
    let day = days
        - (start()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs()
            / 86_400);
    let rest = elapsed.as_secs() % 86_400;
    format!(
        "2026-01-{:02}T{:02}:{:02}:{:02}.855000Z",
        15 + day,
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The answer of IAM to a login, with a token that lives for a day.
pub(crate) fn token(text: &str, now: SystemTime) -> Said {
    said(
        201,
        json!({"token": {
            "methods": ["password"],
            "issued_at": written(now),
            "expires_at": written(now + hours(24)),
            "project": {"id": "0123456789abcdef0123456789abcdef", "name": "eu-de"},
            "user": {"name": "alice"},
        }}),
    )
    .with("X-Subject-Token", text)
}

/// The answer of IAM to a wrong password.
pub(crate) fn wrong_password() -> Said {
    let message = "The username or password is wrong.";
    said(
        401,
        json!({"error": {"code": 401, "message": message, "title": "Unauthorized"}}),
    )
    .with("X-IAM-Trace-Id", "token_eu-de_null_1")
}

/// A provider, a clock and what it needs; what is got is shown as text.
pub(crate) struct Bench<P> {
    pub(crate) provider: P,
    pub(crate) clock: Hands,
    pub(crate) tools: Tools,
}

impl<P: ProvideCredentials> Bench<P> {
    pub(crate) fn new(provider: P) -> Self {
        let clock = Hands::still();
        Self {
            provider,
            tools: Tools::new(clock.clone()).unwrap(),
            clock,
        }
    }

    pub(crate) async fn get(&self) -> Result<Credentials, Error> {
        self.provider.credentials(&self.tools).await
    }

    pub(crate) async fn fails(&self) -> Error {
        self.get().await.expect_err("credentials")
    }
}

/// Files and variables.
pub(crate) struct Place {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    pub(crate) fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// A file that only its owner can read.
    pub(crate) fn file(self, path: &str, text: impl AsRef<str>) -> Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text.as_ref()).unwrap();
        set_mode(&path, 0o600);
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// The text with the place of the files taken out.
    pub(crate) fn short(&self, text: impl fmt::Display) -> String {
        let root = format!("{}/", self.root.path().display());
        text.to_string().replace(&root, "")
    }

    pub(crate) fn environment(&self) -> Environment {
        let variables = self.variables.clone();
        let find = move |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| known == name);
            found.next_back().map(|(_, value)| value.clone())
        };
        Environment::new(find)
            .home(self.path("home"))
            .directory(self.path("here"))
            .system(self.path("etc"))
    }
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
pub(crate) fn set_mode(_: &Path, _: u32) {}
