//! Tests of the time limits of a request, with the clock of the runtime.

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use modelarts_ext::{Error, ErrorKind};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Notify,
    time::{self, Instant},
};

use crate::{
    fake_server::FakeServer,
    support::{bucket, bucket_with, builder, object, safe_message},
};

/// Returns the time limit of a call, counted from the completion of `sent`, and its error. The
/// response does not arrive.
async fn limit<T>(
    call: impl Future<Output = Result<T, Error>>,
    sent: impl Future<Output = ()>,
) -> (Duration, Error) {
    let start = async {
        sent.await;
        // From now on, the clock of the runtime advances to the next timer whenever all tasks wait.
        time::pause();
        Instant::now()
    };
    let (result, start) = futures::join!(
        async {
            let result = call.await;
            (result, Instant::now())
        },
        start
    );
    let (Err(error), end) = result else {
        panic!("the call succeeded");
    };
    (end.duration_since(start), error)
}

fn is_near(limit: Duration, seconds: u64) -> bool {
    let expected = Duration::from_secs(seconds);
    limit.abs_diff(expected) < Duration::from_secs(2)
}

#[tokio::test]
async fn a_response_must_begin_within_a_minute() {
    let server = FakeServer::closed(|_| object("")).await;
    let bucket = bucket(&server);
    let (limit, error) = limit(bucket.get("a"), server.arrived(1)).await;
    assert!(is_near(limit, 60), "{limit:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(safe_message(&error), "reading obs://my-bucket/a: no response in time");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn an_upload_has_the_time_of_a_slow_connection_in_addition() {
    let server = FakeServer::closed(|_| object("")).await;
    let bucket = bucket(&server);
    let contents = Bytes::from(vec![b'x'; 4 << 20]);
    let (limit, error) = limit(bucket.put("a", contents), server.arrived(1)).await;
    assert!(is_near(limit, 60 + 128), "{limit:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

/// Starts a server that sends half of an object.
async fn half() -> (String, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let sent = Arc::new(Notify::new());
    let done = Arc::clone(&sent);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let mut length = 0;
        while !head[..length].ends_with(b"\r\n\r\n") {
            length += stream.read(&mut head[length..]).await.unwrap();
        }
        let part = "HTTP/1.1 200 OK\r\ncontent-length: 8\r\netag: \"1\"\r\nlast-modified: Thu, 15 \
                    Jan 2026 08:30:45 GMT\r\n\r\nhalf";
        stream.write_all(part.as_bytes()).await.unwrap();
        done.notify_one();
        // The connection stays open.
        let _ = stream.read_u8().await;
    });
    (address, sent)
}

#[tokio::test]
async fn a_response_that_stops_is_an_error() {
    let (address, sent) = half().await;
    let bucket = bucket_with(builder(), &address);
    let (limit, error) = limit(bucket.get("a"), sent.notified()).await;
    assert!(is_near(limit, 60), "{limit:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(safe_message(&error), "reading obs://my-bucket/a: no response in time");
}
