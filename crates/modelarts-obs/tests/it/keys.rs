//! Tests of the keys of requests: temporary keys, their renewal, and tokens of IAM.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, TryStreamExt, future::join_all};
use modelarts_ext::{
    Credentials, Error, ErrorKind, RetryPolicy,
    credentials::{FetchCredentials, Fetched, ProvideCredentials, ProviderContext},
};

use crate::{
    fake_server::{FakeReply, FakeRequest, FakeServer, reply},
    support::{bucket, bucket_with, builder, object, rejection, safe_message},
};

/// Returns the access key in the signature of a request.
fn access_key(request: &FakeRequest) -> String {
    let authorization = request.header("authorization").unwrap();
    let scope = authorization.split_once("Credential=").unwrap().1;
    scope.split_once('/').unwrap().0.to_owned()
}

fn access_keys(server: &FakeServer) -> Vec<String> {
    server.asked().iter().map(access_key).collect()
}

fn temporary(number: usize) -> Credentials {
    Credentials::temporary_keys(
        format!("AK-{number}"),
        format!("SK-s3cr3t-{number}"),
        format!("ST-s3cr3t-{number}"),
    )
}

/// Source of the keys `AK-1`, `AK-2` and so on, which counts its requests.
#[derive(Debug, Default)]
struct Numbered(Arc<AtomicUsize>);

impl Numbered {
    fn next(&self) -> Credentials {
        temporary(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

impl FetchCredentials for Numbered {
    fn fetch<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> futures::future::BoxFuture<'a, Result<Fetched, Error>> {
        async { Ok(Fetched::new(self.next())) }.boxed()
    }
}

/// Provider that returns different keys for each request.
#[derive(Debug)]
struct EachTime(Numbered);

impl ProvideCredentials for EachTime {
    fn credentials<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> futures::future::BoxFuture<'a, Result<Credentials, Error>> {
        async { Ok(self.0.next()) }.boxed()
    }
}

fn expired() -> FakeReply {
    rejection(403, "InvalidAccessKeyId", "The access key does not exist.")
}

#[tokio::test]
async fn requests_are_signed_for_the_region_with_the_security_token() {
    let server = FakeServer::start(|_| object("")).await;
    let client = builder().region("eu-de").credentials(temporary(1));
    let bucket = bucket_with(client, &server.url);
    bucket.put("a b+ü%2F", "contents").await.unwrap();
    let asked = server.asked().remove(0);
    assert_eq!(asked.line(), "PUT /my-bucket/a%20b%2B%C3%BC%252F");
    assert_eq!(asked.body, "contents");
    assert_eq!(asked.header("x-amz-security-token"), Some("ST-s3cr3t-1"));
    let authorization = asked.header("authorization").unwrap();
    assert!(
        authorization.starts_with("AWS4-HMAC-SHA256 Credential=AK-1/")
            && authorization.contains("/eu-de/s3/aws4_request"),
        "{authorization}"
    );
    // OBS rejects headers for checksums and tags that it does not support.
    for name in ["x-amz-checksum-crc32", "x-amz-tagging", "x-amz-acl"] {
        assert_eq!(asked.header(name), None);
    }
}

#[tokio::test]
async fn rejected_keys_are_renewed_once() {
    let server = FakeServer::start(|asked| match access_key(asked).as_str() {
        "AK-1" => expired(),
        _ => object("contents"),
    })
    .await;
    let source = Numbered::default();
    let count = Arc::clone(&source.0);
    let bucket = bucket_with(builder().credentials(source.into_provider()), &server.url);
    assert_eq!(bucket.get("a").await.unwrap(), "contents");
    assert_eq!(access_keys(&server), ["AK-1", "AK-2"]);
    bucket.head("a").await.unwrap();
    assert_eq!(access_keys(&server), ["AK-1", "AK-2", "AK-2"]);
    assert_eq!(count.load(Ordering::SeqCst), 2);

    // If OBS also rejects the new keys, the result is the second rejection.
    let server = FakeServer::start(|_| expired()).await;
    let keys = Numbered::default().into_provider();
    let error = bucket_with(builder().credentials(keys), &server.url).create().await.unwrap_err();
    assert_eq!(
        safe_message(&error),
        "creating the bucket my-bucket: The access key does not exist (InvalidAccessKeyId, HTTP \
         403, request id 0000018D); check the access key, and that its temporary keys have not \
         expired"
    );
    assert_eq!(access_keys(&server), ["AK-1", "AK-2"]);
}

#[tokio::test]
async fn keys_that_cannot_be_renewed_are_sent_once() {
    let server = FakeServer::start(|_| expired()).await;
    bucket(&server).get("a").await.unwrap_err();
    assert_eq!(server.asked().len(), 1);
    // A missing permission does not cause a renewal of the keys.
    let server = FakeServer::start(|_| rejection(403, "AccessDenied", "Access Denied")).await;
    let keys = Numbered::default().into_provider();
    let bucket = bucket_with(builder().credentials(keys), &server.url);
    bucket.get("a").await.unwrap_err();
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn concurrent_rejections_cause_one_renewal() {
    const CALLS: usize = 8;

    let server = FakeServer::closed(|asked| match access_key(asked).as_str() {
        "AK-1" => expired(),
        _ => object("contents"),
    })
    .await;
    let source = Numbered::default();
    let count = Arc::clone(&source.0);
    let bucket = bucket_with(builder().credentials(source.into_provider()), &server.url);
    let calls = (0..CALLS).map(|_| bucket.get("a"));
    let opened = async {
        server.arrived(CALLS).await;
        // The first rejection causes a renewal while the other requests wait for their responses.
        server.pass(1);
        server.arrived(CALLS + 1).await;
        server.open();
    };
    let (results, ()) = futures::join!(join_all(calls), opened);
    for result in results {
        assert_eq!(result.unwrap(), "contents");
    }
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(server.asked().len(), 2 * CALLS);
}

#[tokio::test]
async fn each_page_of_a_list_has_the_current_keys() {
    let server = FakeServer::start(|asked| {
        let is_first = !asked.target.contains("continuation-token");
        let (key, rest) = match is_first {
            true => (
                "data/1",
                "<IsTruncated>true</IsTruncated>\
                 <NextContinuationToken>next</NextContinuationToken>",
            ),
            false => ("data/2", "<IsTruncated>false</IsTruncated>"),
        };
        reply(
            200,
            format!(
                "<ListBucketResult><Name>my-bucket</Name>{rest}<Contents><Key>{key}</Key>\
                 <LastModified>2026-01-15T08:30:45.000Z</LastModified><ETag>\"1\"</ETag>\
                 <Size>3</Size></Contents></ListBucketResult>"
            ),
        )
    })
    .await;
    let keys = EachTime(Numbered::default());
    let bucket = bucket_with(builder().credentials(keys), &server.url);
    let objects: Vec<_> = bucket.list("data").try_collect().await.unwrap();
    let found: Vec<_> = objects.iter().map(|object| object.key()).collect();
    assert_eq!(found, ["data/1", "data/2"]);
    assert_eq!(
        server.lines(),
        [
            "GET /my-bucket?list-type=2&prefix=data%2F",
            "GET /my-bucket?continuation-token=next&list-type=2&prefix=data%2F",
        ]
    );
    let used: BTreeSet<_> = access_keys(&server).into_iter().collect();
    assert_eq!(used.len(), 2, "{used:?}");
}

/// Starts a server that is both IAM, which issues `AK-1`, `AK-2` and so on for the token
/// `TK-s3cr3t`, and OBS, which rejects the first `rejected` of these keys. The first `failures`
/// requests to IAM fail.
async fn cloud(rejected: usize, failures: usize) -> FakeServer {
    let count = AtomicUsize::new(0);
    FakeServer::start(move |asked| {
        if asked.target != "/v3.0/OS-CREDENTIAL/securitytokens" {
            let rejected: Vec<_> = (1..=rejected).map(|number| format!("AK-{number}")).collect();
            return match rejected.contains(&access_key(asked)) {
                true => expired(),
                false => object("contents"),
            };
        }
        assert_eq!(asked.header("x-auth-token"), Some("TK-s3cr3t"));
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        if number <= failures {
            return reply(503, "");
        }
        reply(
            201,
            format!(
                "{{\"credential\": {{\"access\": \"AK-{number}\", \"secret\": \"SK-s3cr3t\", \
                 \"securitytoken\": \"ST-s3cr3t-{number}\", \
                 \"expires_at\": \"2099-01-01T00:00:00.000000Z\"}}}}"
            ),
        )
    })
    .await
}

const EXCHANGE: &str = "POST /v3.0/OS-CREDENTIAL/securitytokens";

#[tokio::test]
async fn a_token_is_exchanged_for_temporary_keys() {
    let server = cloud(0, 0).await;
    let token = || builder().credentials(Credentials::token("TK-s3cr3t"));
    let bucket = bucket_with(token().iam_endpoint(&server.url), &server.url);
    assert_eq!(bucket.get("a").await.unwrap(), "contents");
    assert_eq!(bucket.get("b").await.unwrap(), "contents");
    assert_eq!(server.lines(), [EXCHANGE, "GET /my-bucket/a", "GET /my-bucket/b"]);
    let asked = server.asked().remove(1);
    assert_eq!(access_key(&asked), "AK-1");
    assert_eq!(asked.header("x-amz-security-token"), Some("ST-s3cr3t-1"));
    assert_eq!(asked.header("x-auth-token"), None);

    // Keys that OBS rejects are replaced by new keys for the same token.
    let server = cloud(1, 0).await;
    let bucket = bucket_with(token().iam_endpoint(&server.url), &server.url);
    assert_eq!(bucket.get("a").await.unwrap(), "contents");
    let get = "GET /my-bucket/a";
    assert_eq!(server.lines(), [EXCHANGE, get, EXCHANGE, get]);

    // Requests to IAM are repeated according to the retry policy.
    let server = cloud(0, 1).await;
    let client = token().iam_endpoint(&server.url);
    let policy = RetryPolicy::default().pauses(Duration::ZERO, Duration::ZERO);
    let bucket = bucket_with(client.retry(policy), &server.url);
    assert_eq!(bucket.get("a").await.unwrap(), "contents");
    assert_eq!(server.lines(), [EXCHANGE, EXCHANGE, get]);
}

#[tokio::test]
async fn a_token_without_iam_is_reported() {
    let server = FakeServer::start(|_| object("")).await;
    let client = builder().credentials(Credentials::token("TK-s3cr3t"));
    let error = bucket_with(client, &server.url).get("a").await.unwrap_err();
    assert_eq!(
        safe_message(&error),
        "OBS requires an access key, and the credentials are a token of IAM; set an access key and \
         its secret key (AK/SK), or the address of IAM (HUAWEICLOUD_SDK_IAM_ENDPOINT), which \
         issues temporary keys for the token"
    );
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert_eq!(server.asked().len(), 0);
}
