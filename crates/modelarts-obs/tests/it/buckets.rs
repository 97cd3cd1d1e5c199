//! Tests of the requests for buckets and objects.

use futures::TryStreamExt;
use modelarts_ext::ErrorKind;

use crate::{
    fake_server::{FakeServer, reply},
    support::{bucket, bucket_with, builder, object, rejection, safe_message},
};

#[tokio::test]
async fn a_bucket_is_created_in_the_region() {
    let server = FakeServer::start(|_| reply(200, "")).await;
    let of_region = bucket_with(builder().region("eu-de"), &server.url);
    of_region.create().await.unwrap();
    // Without a region, the request has no body, and the server chooses the region.
    bucket(&server).create().await.unwrap();
    let asked = server.asked();
    assert_eq!(server.lines(), ["PUT /my-bucket", "PUT /my-bucket"]);
    assert_eq!(
        asked[0].body,
        "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
         <LocationConstraint>eu-de</LocationConstraint></CreateBucketConfiguration>"
    );
    assert_eq!(asked[1].body, "");
    let authorization = asked[0].header("authorization").unwrap();
    assert!(
        authorization.starts_with("AWS4-HMAC-SHA256 Credential=AK/")
            && authorization.contains("/eu-de/s3/aws4_request"),
        "{authorization}"
    );
}

#[tokio::test]
async fn the_name_of_a_bucket_may_be_taken() {
    for (code, advice) in [
        (
            "BucketAlreadyExists",
            "choose another name; the names of buckets are shared by all users of the cloud",
        ),
        (
            "BucketAlreadyOwnedByYou",
            "the bucket is yours and exists already, maybe in another region",
        ),
    ] {
        let server = FakeServer::start(move |_| rejection(409, code, "Conflict.")).await;
        let error = bucket(&server).create().await.unwrap_err();
        assert_eq!(
            safe_message(&error),
            format!(
                "creating the bucket my-bucket: Conflict ({code}, HTTP 409, request id 0000018D); \
                 {advice}"
            )
        );
    }
}

#[tokio::test]
async fn properties_of_an_object_are_read_from_its_headers() {
    let sum = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
    let server = FakeServer::start(move |asked| {
        assert_eq!(asked.line(), "HEAD /my-bucket/a");
        object("contents").with("content-length", "8").with("x-amz-meta-sha256", sum)
    })
    .await;
    let found = bucket(&server).head("a").await.unwrap();
    assert_eq!((found.key(), found.size()), ("a", 8));
    assert_eq!(found.etag(), Some("\"0123\""));
    assert_eq!(found.sha256(), Some(sum));
    let seconds = found.modified().duration_since(std::time::UNIX_EPOCH);
    assert_eq!(seconds.unwrap().as_secs(), 1_768_465_845);
}

#[tokio::test]
async fn contents_are_not_decoded() {
    let encodings = ["gzip", "br", "zstd", "deflate"];
    let server = FakeServer::start(|asked| {
        let encoding = asked.target.rsplit('/').next().unwrap();
        object("as stored").with("content-encoding", encoding).with("content-length", "9")
    })
    .await;
    let bucket = bucket(&server);
    for encoding in encodings {
        assert_eq!(bucket.get(encoding).await.unwrap(), "as stored");
        assert_eq!(bucket.head(encoding).await.unwrap().size(), 9);
    }
    // A server may not compress what it has stored without an encoding.
    let requests = server.asked();
    assert!(requests.iter().all(|it| it.header("accept-encoding").is_none()));
}

#[tokio::test]
async fn one_object_is_deleted_with_one_request() {
    let server = FakeServer::start(|asked| match asked.target.as_str() {
        "/my-bucket/there" => reply(204, ""),
        "/my-bucket/not-there" => rejection(404, "NoSuchKey", "No such key."),
        _ => rejection(403, "AccessDenied", "Access Denied"),
    })
    .await;
    let bucket = bucket(&server);
    bucket.delete("there").await.unwrap();
    bucket.delete("not-there").await.unwrap();
    let error = bucket.delete("other").await.unwrap_err();
    assert_eq!(error.code(), Some("AccessDenied"));
    assert_eq!(
        server.lines(),
        ["DELETE /my-bucket/there", "DELETE /my-bucket/not-there", "DELETE /my-bucket/other",]
    );
    // A missing bucket is an error.
    let server = FakeServer::start(|_| rejection(404, "NoSuchBucket", "No such bucket.")).await;
    let error = crate::support::bucket(&server).delete("a").await;
    assert_eq!(error.unwrap_err().code(), Some("NoSuchBucket"));
}

/// Returns the response to a list request, with these keys.
fn list(keys: &[&str]) -> String {
    let contents: String = keys
        .iter()
        .map(|key| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-15T08:30:45.000Z</LastModified>\
                 <ETag>\"1\"</ETag><Size>0</Size></Contents>"
            )
        })
        .collect();
    format!(
        "<ListBucketResult><Name>my-bucket</Name><IsTruncated>false</IsTruncated>{contents}\
         </ListBucketResult>"
    )
}

#[tokio::test]
async fn the_marker_of_a_directory_is_not_listed() {
    let keys = ["data/", "data/a b+ü%2F&amp;", "data/sub/c"];
    let server = FakeServer::start(move |_| reply(200, list(&keys))).await;
    let bucket = bucket(&server);
    for directory in ["data", "data/", "/data/"] {
        let objects: Vec<_> = bucket.list(directory).try_collect().await.unwrap();
        let found: Vec<_> = objects.iter().map(|object| object.key()).collect();
        assert_eq!(found, ["data/a b+ü%2F&", "data/sub/c"]);
        assert_eq!(objects[0].sha256(), None);
    }
    bucket.list("").try_collect::<Vec<_>>().await.unwrap();
    let empty = FakeServer::start(|_| reply(200, list(&[]))).await;
    let objects = crate::support::bucket(&empty).list("data");
    assert_eq!(objects.try_collect::<Vec<_>>().await.unwrap(), []);
    assert_eq!(
        server.lines()[2..],
        ["GET /my-bucket?list-type=2&prefix=data%2F", "GET /my-bucket?list-type=2",]
    );
}

#[tokio::test]
async fn lists_that_cannot_be_read_are_reported() {
    let server = FakeServer::start(|_| rejection(404, "NoSuchBucket", "No such bucket.")).await;
    let objects = bucket(&server).list("data").try_collect::<Vec<_>>().await;
    assert_eq!(
        safe_message(&objects.unwrap_err()),
        "listing obs://my-bucket/data: No such bucket (NoSuchBucket, HTTP 404, request id \
         0000018D); check the name and the region of the bucket, or create it with Bucket::create"
    );
    let server = FakeServer::start(|_| reply(200, "<ListBucketResult><Contents>")).await;
    let objects = bucket(&server).list("data").try_collect::<Vec<_>>().await;
    let error = objects.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unexpected);
    let message = safe_message(&error);
    assert!(message.starts_with("listing obs://my-bucket/data: "), "{message}");
    // Keys that other tools wrote may not be valid paths.
    let server = FakeServer::start(|_| reply(200, list(&["data/a//b"]))).await;
    let objects = bucket(&server).list("data").try_collect::<Vec<_>>().await;
    let error = objects.unwrap_err();
    assert_eq!(
        safe_message(&error),
        "listing obs://my-bucket/data: Path \"data/a//b\" contained empty path segment; rename or \
         delete the object with another tool, or choose a directory without it"
    );
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
