//! HTTP/1.1 connections. axum's server has no limit of the time in which a head must arrive, so
//! connections that send nothing could use up all file descriptors.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// Maximum time in which the head of a request must arrive, as in the emulator.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for open responses to finish when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Delay before the next accept when file descriptors are exhausted.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Accepts and serves connections until `closed` is `true`. None is left at the end.
pub(crate) async fn serve(listener: TcpListener, router: Router, closed: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, router.clone(), closed.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = wait_until(closed.clone()) => break,
        }
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, rest).await;
    connections.shutdown().await;
}

async fn wait_until(mut closed: watch::Receiver<bool>) {
    // An error means that the page was dropped.
    let _ = closed.wait_for(|closed| *closed).await;
}

async fn serve_connection(stream: TcpStream, router: Router, closed: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = wait_until(closed) => connection.as_mut().graceful_shutdown(),
    }
    // An error is that of a browser that left.
    let _ = connection.await;
}
