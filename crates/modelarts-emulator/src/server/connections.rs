//! HTTP/1.1 connections. They are served here and not by axum, because some responses are cut on
//! purpose.

use std::{fmt, io, time::Duration};

use axum::Router;
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use crate::{api::response::Cut, server::request_body::READ_TIMEOUT};

/// How long open connections may take to end at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// How long the rest of a refused request is read after its answer.
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// How long to wait when the system has no more file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Accepts and serves connections until `closing`.
pub(crate) async fn serve(listener: TcpListener, router: Router, closing: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, router.clone(), closing.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = wait_until_closed(closing.clone()) => break,
        }
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    // Whoever is left is cut off when the set is dropped.
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, rest).await;
}

async fn wait_until_closed(mut closing: watch::Receiver<bool>) {
    // An error: the emulator is gone, which is closed too.
    let _ = closing.wait_for(|closing| *closing).await;
}

async fn serve_connection(stream: TcpStream, router: Router, closing: watch::Receiver<bool>) {
    // Small answers need not wait for larger ones; if it cannot be set, they wait.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let answer = router.call(request);
        async move {
            let Ok(response) = answer.await;
            match response.extensions().get::<Cut>() {
                Some(Cut::BeforeAnswer) => Err(CutOnPurpose),
                _ => Ok(response),
            }
        }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let served = tokio::select! {
        served = &mut connection => served,
        () = wait_until_closed(closing.clone()) => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    let stream = connection.into_parts().io.into_inner();
    match served {
        Err(error) if error.is_user() => {
            // Closed with zero linger, the peer gets a reset, not an orderly end.
            let _ = stream.set_zero_linger();
        }
        Err(_) => {}
        Ok(()) => tokio::select! {
            _ = tokio::time::timeout(DISCARD_TIME, discard(stream)) => {}
            () = wait_until_closed(closing) => {}
        },
    }
}

/// Reads on until the peer has closed. Closed with bytes that nobody has read, a peer that still
/// sends its body gets a reset, and loses the answer that refuses it.
async fn discard(stream: TcpStream) {
    let mut bytes = vec![0; 64 << 10];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut bytes) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// The error that makes hyper drop the connection.
#[derive(Debug)]
struct CutOnPurpose;

impl fmt::Display for CutOnPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut on purpose")
    }
}

impl std::error::Error for CutOnPurpose {}
