//! Tests of errors: messages, codes and advice for the responses of a server.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::TryStreamExt;
use modelarts_ext::{Error, ErrorKind, RetryPolicy};

use crate::{
    fake_server::{FakeReply, FakeServer, closed_address, reply},
    support::{bucket, bucket_with, builder, object, rejection, safe_message},
};

/// Returns the error of a read from a server that sends this response.
async fn error_of(response: impl Fn() -> FakeReply + Send + Sync + 'static) -> Error {
    let server = FakeServer::start(move |_| response()).await;
    let error = bucket(&server).get("data/a b.csv").await.unwrap_err();
    assert_eq!(server.asked().len(), 1);
    error
}

#[tokio::test]
async fn each_code_has_its_advice() {
    for (status, code, reason, advice) in [
        (
            404,
            "NoSuchBucket",
            "The specified bucket does not exist",
            "check the name and the region of the bucket, or create it with Bucket::create",
        ),
        (
            403,
            "AccessDenied",
            "Access Denied",
            "check that the policies of the user and of the bucket admit this request; an IAM \
             policy for OBS takes up to 15 minutes to apply",
        ),
        (
            403,
            "InvalidAccessKeyId",
            "The AWS Access Key Id you provided does not exist in our records.",
            "check the access key, and that its temporary keys have not expired",
        ),
        (
            403,
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match.",
            "check the secret key and the region",
        ),
        (
            403,
            "RequestTimeTooSkewed",
            "The difference between the request time and the server's time is too large",
            "set the clock of this machine",
        ),
        (400, "ExpiredToken", "The provided token has expired.", "request new temporary keys"),
        (
            403,
            "InsufficientStorageSpace",
            "Insufficient storage space.",
            "delete objects, or raise the quota of the bucket",
        ),
    ] {
        let error = error_of(move || rejection(status, code, reason)).await;
        let reason = reason.trim_end_matches('.');
        assert_eq!(
            safe_message(&error),
            format!(
                "reading obs://my-bucket/data/a b.csv: {reason} ({code}, HTTP {status}, request id \
                 0000018D); {advice}"
            )
        );
        assert_eq!(error.kind(), ErrorKind::Service);
        assert_eq!(error.status(), Some(status));
        assert_eq!(error.code(), Some(code));
        assert_eq!(error.request_id(), Some("0000018D"));
        assert_eq!(error.is_not_found(), status == 404);
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_missing_object_is_not_found() {
    let missing = || rejection(404, "NoSuchKey", "The specified key does not exist.");
    let error = error_of(missing).await;
    assert_eq!(
        safe_message(&error),
        "reading obs://my-bucket/data/a b.csv: The specified key does not exist (NoSuchKey, HTTP \
         404, request id 0000018D)"
    );
    assert!(error.is_not_found());
}

#[tokio::test]
async fn a_bucket_of_another_region_names_its_place() {
    for status in [301, 307] {
        let error = error_of(move || {
            reply(
                status,
                "<Error><Code>PermanentRedirect</Code><Message>The bucket must be addressed using \
                 the specified endpoint.</Message><Endpoint>my-bucket.obs.eu-nl.otc.t-systems.com\
                 </Endpoint><RequestId>7</RequestId></Error>",
            )
            .with("location", "https://my-bucket.obs.eu-nl.otc.t-systems.com/")
        })
        .await;
        assert_eq!(
            safe_message(&error),
            format!(
                "reading obs://my-bucket/data/a b.csv: The bucket must be addressed using the \
                 specified endpoint (PermanentRedirect, HTTP {status}, request id 7); the bucket \
                 is in my-bucket.obs.eu-nl.otc.t-systems.com; set the region of the bucket \
                 (MODELARTS_REGION), or use a bucket of the region of the job"
            )
        );
    }
    // The response to a HEAD request is a redirect without a body.
    let server = FakeServer::start(|_| {
        reply(301, "").with("x-amz-bucket-region", "eu-nl").with("x-amz-request-id", "8")
    })
    .await;
    let error = bucket(&server).head("a").await.unwrap_err();
    assert_eq!(
        safe_message(&error),
        "reading obs://my-bucket/a: the server redirects (HTTP 301, request id 8); the bucket is \
         in eu-nl; set the region of the bucket (MODELARTS_REGION), or use a bucket of the region \
         of the job"
    );
}

#[tokio::test]
async fn responses_without_a_body_have_their_request_id() {
    for (status, message) in [
        (
            403,
            "reading obs://my-bucket/a: access denied (HTTP 403, request id 9); check that the \
             policies of the user and of the bucket admit this request; an IAM policy for OBS \
             takes up to 15 minutes to apply",
        ),
        (404, "reading obs://my-bucket/a: no such object (HTTP 404, request id 9)"),
        (400, "reading obs://my-bucket/a: the server gave no reason (HTTP 400, request id 9)"),
    ] {
        let server =
            FakeServer::start(move |_| reply(status, "").with("x-obs-request-id", "9")).await;
        let bucket = bucket(&server);
        let error = bucket.head("a").await.unwrap_err();
        assert_eq!(safe_message(&error), message);
        match status {
            404 => assert!(!bucket.exists("a").await.unwrap()),
            _ => assert_eq!(bucket.exists("a").await.unwrap_err().status(), Some(status)),
        }
        assert_eq!(server.lines()[0], "HEAD /my-bucket/a");
    }
    // OBS also sends the code and the message in headers.
    let server = FakeServer::start(|_| {
        reply(404, "")
            .with("x-obs-error-code", "NoSuchBucket")
            .with("x-obs-error-message", "The specified bucket does not exist")
    })
    .await;
    let error = bucket(&server).exists("a").await.unwrap_err();
    assert_eq!(error.code(), Some("NoSuchBucket"));
}

#[tokio::test]
async fn pages_of_other_servers_are_not_quoted() {
    let page = "<html><body><h1>s3cr3t</h1>Service Unavailable</body></html>";
    let error = error_of(move || reply(503, page)).await;
    assert_eq!(
        safe_message(&error),
        "reading obs://my-bucket/data/a b.csv: the server gave no reason (HTTP 503)"
    );
    assert!(error.is_retryable());
    // An error response longer than the limit counts as empty.
    let error = error_of(|| rejection(400, "InvalidRequest", &"x".repeat(70_000))).await;
    assert_eq!(error.code(), None);
    assert_eq!(error.request_id(), Some("0000018D"));
}

#[tokio::test]
async fn transient_errors_are_repeated() {
    for status in [429, 500, 503] {
        let count = AtomicUsize::new(0);
        let server = FakeServer::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => rejection(status, "SlowDown", "Please reduce your request rate."),
            _ => object("contents"),
        })
        .await;
        let pauses = RetryPolicy::default().pauses(Duration::ZERO, Duration::ZERO);
        let with = |policy| bucket_with(builder().retry(policy), &server.url);
        let error = with(pauses.clone().max_attempts(2)).get("a").await;
        assert_eq!(error.unwrap_err().code(), Some("SlowDown"));
        assert_eq!(server.asked().len(), 2);
        assert_eq!(with(pauses).get("a").await.unwrap(), "contents");
        assert_eq!(server.asked().len(), 3);
    }
    // No pause in a retry policy causes a panic.
    for base in [Duration::ZERO, Duration::MAX] {
        let mut policy = RetryPolicy::default().max_attempts(2);
        (policy.base, policy.cap) = (base, Duration::ZERO);
        let server = FakeServer::start(|_| reply(500, "")).await;
        let bucket = bucket_with(builder().retry(policy), &server.url);
        tokio::time::pause();
        bucket.get("a").await.unwrap_err();
        tokio::time::resume();
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let address = closed_address();
    let bucket = bucket_with(builder(), &address);
    let error = bucket.put("a", "contents").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    let message = safe_message(&error);
    assert!(
        message.starts_with("writing obs://my-bucket/a: ") && message.contains("onnection refused"),
        "{message}"
    );
}

#[tokio::test]
async fn invalid_keys_are_not_sent() {
    let server = FakeServer::start(|_| object("")).await;
    let bucket = bucket(&server);
    for (key, rule) in [
        ("", "must not be empty"),
        ("a//b", "must not begin or end with a slash, nor contain two slashes in a row"),
        ("a/../b", "must not contain the steps . and .."),
        ("a\nb", "must not contain control characters"),
    ] {
        let message = format!("the key {key:?} {rule}");
        for error in [
            bucket.put(key, "").await.unwrap_err(),
            bucket.get(key).await.unwrap_err(),
            bucket.head(key).await.unwrap_err(),
            bucket.exists(key).await.unwrap_err(),
            bucket.delete(key).await.unwrap_err(),
        ] {
            assert_eq!(error.to_string(), message);
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    }
    let list = bucket.list("a//b").try_collect::<Vec<_>>().await;
    assert_eq!(list.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(server.asked().len(), 0);
}
