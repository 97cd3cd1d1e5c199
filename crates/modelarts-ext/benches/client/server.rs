//! HTTP server that responds to every request with the same job or with a page of events. It runs
//! in a separate process, so its processor time and memory are not measured.

use std::{
    convert::Infallible,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{canned::JOB, events::page};

/// Serves until the process is terminated.
#[tokio::main(flavor = "current_thread")]
pub async fn run(events: u64, delay: Duration) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(
                TokioIo::new(socket),
                service_fn(move |request| answer(request, events, delay)),
            );
            // Ignores errors of the connection, because clients may close connections at any time.
            let _ = connection.await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    events: u64,
    delay: Duration,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let _ = body.collect().await;
    let body = if head.uri.path().ends_with("/events") {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let query = head.uri.query().unwrap_or_default();
        let number = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let value = pairs.find(|(key, _)| *key == name);
            value.and_then(|(_, value)| value.parse().ok())
        };
        let (offset, limit) = (number("offset"), number("limit"));
        Bytes::from(page(events, offset.unwrap_or(0), limit.unwrap_or(50)))
    } else {
        Bytes::from_static(JOB.as_bytes())
    };
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert(
        "content-type",
        hyper::header::HeaderValue::from_static("application/json"),
    );
    headers.insert(
        "x-request-id",
        hyper::header::HeaderValue::from_static("bench"),
    );
    Ok(response)
}

/// Server process, which ends when this value is dropped.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts a server that returns a job.
    pub fn start() -> Result<Self> {
        Self::with_events(0, Duration::ZERO)
    }

    /// Starts a server with `events` events, which delays each page of them by `delay`.
    pub fn with_events(events: u64, delay: Duration) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(events.to_string())
            .arg(delay.as_millis().to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("the server has no output")?;
        let mut url = String::new();
        BufReader::new(out).read_line(&mut url)?;
        let url = url.trim().to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
