//! HTTP/1.1 connections. The server of Axum could not cut connections, as some faults do.

use std::{io, time::Duration};

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

/// Maximum time for open connections to finish when the emulator ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Maximum time for reading the remaining bytes of a rejected request after its response.
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// Delay after a failed accept, for example when file descriptors are exhausted.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

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
    // Dropping the set cuts the remaining connections.
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, rest).await;
}

async fn wait_until_closed(mut closing: watch::Receiver<bool>) {
    // An error means that the emulator was dropped, which also closes the server.
    let _ = closing.wait_for(|closing| *closing).await;
}

async fn serve_connection(stream: TcpStream, router: Router, closing: watch::Receiver<bool>) {
    // With this option, the system sends small responses immediately; without it, they are delayed.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let answer = router.call(request);
        async move {
            let Ok(response) = answer.await;
            match response.extensions().get::<Cut>() {
                // An error makes hyper drop the connection.
                Some(Cut::BeforeAnswer) => Err(io::Error::other("cut on purpose")),
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
            // With a linger time of zero, the connection ends with a reset.
            let _ = stream.set_zero_linger();
        }
        Err(_) => {}
        Ok(()) => tokio::select! {
            _ = tokio::time::timeout(DISCARD_TIME, discard(stream)) => {}
            () = wait_until_closed(closing) => {}
        },
    }
}

/// Discards input until the client closes, because unread bytes would cause an early reset.
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
