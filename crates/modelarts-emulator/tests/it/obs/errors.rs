//! Requests that are refused, with the status, the code and the rule.

use reqwest::Method;

use crate::obs::ObsSite;

#[tokio::test]
async fn bad_requests_get_an_error_that_states_the_rule() {
    let site = ObsSite::start().await;
    site.write("file", "content");
    site.write("dir/file", "x");
    let long = format!("/bucket/{}", "x".repeat(256));
    let longer = format!("/bucket/{}", ["x"; 600].join("/"));
    for (method, target, body, status, code, part) in [
        // The service draws the charts of a search.
        (
            Method::GET,
            "/bucket/out/hyperparameter-analysis/fanova/x.png",
            "",
            501,
            "NotImplemented",
            "ShowAutoSearchParamsAnalysis returns its numbers",
        ),
        (Method::GET, "/bucket/out/x.png", "", 404, "NoSuchKey", "out/x.png"),
        (Method::GET, "/nothing/key", "", 404, "NoSuchBucket", "create it first"),
        (Method::PUT, "/nothing/key", "x", 404, "NoSuchBucket", "\"nothing\""),
        (Method::GET, "/nothing", "", 404, "NoSuchBucket", "\"nothing\""),
        (Method::GET, "/bucket/none", "", 404, "NoSuchKey", "\"none\""),
        (Method::GET, "/bucket/dir", "", 404, "NoSuchKey", "\"dir\""),
        (Method::GET, "/bucket/file/x", "", 404, "NoSuchKey", "\"file/x\""),
        (Method::GET, "/bucket/a//b", "", 404, "NoSuchKey", "\"a//b\""),
        (Method::GET, "/.hidden", "", 404, "NoSuchBucket", "\".hidden\""),
        (
            Method::PUT,
            "/bucket/file/x",
            "x",
            400,
            "InvalidArgument",
            "'bucket/file' exists and is not a directory",
        ),
        (Method::PUT, "/bucket/dir", "x", 400, "InvalidArgument", "'dir/' is a directory"),
        (Method::PUT, "/bucket/a//b", "x", 400, "InvalidArgument", "two slashes in a row"),
        (Method::PUT, "/bucket/new/", "x", 400, "InvalidArgument", "must be empty"),
        (Method::PUT, &long, "x", 400, "KeyTooLongError", "at most 255 bytes"),
        (Method::PUT, &longer, "x", 400, "KeyTooLongError", ""),
        (Method::PUT, "/Bad_Name", "", 400, "InvalidBucketName", "3 to 63"),
        (Method::PUT, "/bucket", "", 409, "BucketAlreadyOwnedByYou", "exists already"),
        (Method::DELETE, "/bucket", "", 409, "BucketNotEmpty", "delete them first"),
        (
            Method::GET,
            "/bucket?list-type=2&max-keys=-1",
            "",
            400,
            "InvalidArgument",
            "max-keys must not be negative",
        ),
        (
            Method::GET,
            "/bucket?encoding-type=base64&list-type=2",
            "",
            400,
            "InvalidArgument",
            "encoding-type must be url",
        ),
        (Method::GET, "/bucket/file?versionId=1", "", 501, "NotImplemented", "leave out versionId"),
        (Method::GET, "/bucket?acl", "", 501, "NotImplemented", "GetBucketAcl"),
        (
            Method::PUT,
            "/bucket/x?partNumber=0&uploadId=u",
            "x",
            400,
            "InvalidArgument",
            "partNumber must be 1 to 10000",
        ),
        (
            Method::PUT,
            "/bucket/x?partNumber=1&uploadId=u",
            "x",
            404,
            "NoSuchUpload",
            "completed or aborted",
        ),
    ] {
        let reply = site.send(method.clone(), target, &[], body.as_bytes()).await;
        assert_eq!(reply.error(), (status, code.to_owned()), "{method} {target}");
        let message = reply.one("Message").replace("&quot;", "\"").replace("&apos;", "'");
        assert!(message.contains(part), "{method} {target}: {message}");
        assert_ne!(reply.header("x-amz-request-id"), "", "{method} {target}");
    }
    let reply = site.send(Method::HEAD, "/bucket/none", &[], b"").await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (404, 0));
    // Nothing was stored on the way.
    let listed = site.get("/bucket?list-type=2").await;
    assert_eq!(listed.all("Key"), ["dir/file", "file"]);
}

#[tokio::test]
async fn a_bucket_goes_with_its_empty_directories_and_uploads() {
    let site = ObsSite::start().await;
    std::fs::create_dir_all(site.emulator.obs_root().join("bucket/a/b")).unwrap();
    let begun = site.post("/bucket/k?uploads", "").await;
    assert_eq!(begun.status, 200, "{}", begun.text());
    assert_eq!(site.delete("/bucket").await.status, 204);
    assert_eq!(site.get("/bucket").await.error().0, 404);
    assert_eq!(site.get("/").await.all("Name"), [""; 0]);
    assert!(!site.emulator.obs_root().join("bucket").exists());
    let left = std::fs::read_dir(site.emulator.data_dir().join("obs-uploads")).unwrap();
    assert_eq!(left.count(), 0);
    assert_eq!(site.put("/other.bucket", b"").await.status, 200);
}

#[tokio::test]
async fn a_deletion_names_at_most_1000_objects() {
    let site = ObsSite::start().await;
    let delete = async |count: usize, key: &str| {
        let object = format!("<Object><Key>{key}</Key></Object>");
        let body = format!("<Delete>{}</Delete>", object.repeat(count));
        site.post("/bucket?delete", &body).await
    };
    assert_eq!(delete(1000, "k").await.status, 200);
    let refused = (400, "MalformedXML".to_owned());
    assert_eq!(delete(1001, "k").await.error(), refused);
    assert_eq!(delete(21_000, &"k".repeat(1000)).await.error(), refused);
}
