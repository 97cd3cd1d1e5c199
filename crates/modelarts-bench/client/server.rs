//! HTTP server that responds with the same job or with a page of events. It runs on a thread of its
//! own, so its processor time is not measured.

use std::{net::TcpListener, time::Duration};

use anyhow::Result;
use axum::{Router, extract::Query, response::IntoResponse, routing::get, serve::ListenerExt};
use serde::Deserialize;

use crate::pages::{JOB, events};

#[derive(Deserialize)]
struct Window {
    offset: u64,
    limit: u64,
}

/// Starts a server that runs until the program ends, and returns its address. The job has `total`
/// events; each page of them is delayed by `delay`.
pub fn start(total: u64, delay: Duration) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}", listener.local_addr()?);
    let page = async move |Query(window): Query<Window>| {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        response(events(total, window.offset, window.limit))
    };
    let job = "/v2/{project}/training-jobs/{id}";
    let app = Router::new()
        .route(job, get(async || response(JOB)))
        .route(&format!("{job}/events"), get(page));
    std::thread::spawn(|| serve(listener, app));
    Ok(url)
}

#[tokio::main(flavor = "current_thread")]
pub async fn serve(listener: TcpListener, app: Router) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

pub fn response(body: impl IntoResponse) -> impl IntoResponse {
    let headers = [("content-type", "application/json"), ("x-request-id", "bench")];
    (headers, body)
}
