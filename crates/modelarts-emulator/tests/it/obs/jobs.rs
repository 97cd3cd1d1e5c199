//! Jobs and clients of OBS on the same files.

use modelarts_emulator::quirks::{JobObsKeys, Quirks};
use reqwest::Method;
use serde_json::json;

use crate::{obs::ObsSite, support::Site};

#[tokio::test]
async fn a_file_that_is_rewritten_is_another_object() {
    let site = ObsSite::start().await;
    let headers = [("x-amz-meta-colour", "blue")];
    let stored = site.send(Method::PUT, "/bucket/k", &headers, b"hello").await;
    site.write("k", "by a job");
    let read = site.get("/bucket/k").await;
    assert_eq!((read.text().as_str(), read.header("x-amz-meta-colour")), ("by a job", ""));
    assert_ne!(read.header("etag"), stored.header("etag"));
    // The ETag contains a hyphen, so that no client takes it for an MD5.
    let etag = read.header("etag").trim_matches('"');
    let (digest, parts) = etag.split_once('-').unwrap();
    assert_eq!((digest.len(), parts), (32, "0"));
    let again = site.get("/bucket/k").await;
    let listed = site.get("/bucket?list-type=2").await.one("ETag").replace("&quot;", "\"");
    assert_eq!((again.header("etag"), listed.as_str()), (read.header("etag"), read.header("etag")));
}

#[tokio::test]
async fn incomplete_copies_are_no_objects() {
    let site = ObsSite::start().await;
    site.write("out/.copying-x1", "half");
    site.write("out/whole", "whole");
    let listed = site.get("/bucket?list-type=2").await;
    assert_eq!(listed.all("Key"), ["out/whole"]);
    let refused = site.put("/bucket/.copying-x", b"x").await;
    refused.refused(400, "InvalidArgument");
}

/// Script of a job that signs by AWS V2, without packages.
const SCRIPT: &str = r#"
import base64, email.utils, hashlib, hmac, os, urllib.parse, urllib.request
def signature(text):
    key = os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    return base64.b64encode(hmac.new(key, text.encode(), hashlib.sha1).digest()).decode()
def call(method, path, data=None):
    date = email.utils.formatdate(usegmt=True)
    sign = signature(f"{method}\n\n{'text/plain' if data else ''}\n{date}\n/{path}")
    request = urllib.request.Request(f"{os.environ['S3_ENDPOINT']}/{path}", data, method=method)
    request.add_header("Date", date)
    request.add_header("Authorization", f"AWS {os.environ['AWS_ACCESS_KEY_ID']}:{sign}")
    if data: request.add_header("Content-Type", "text/plain")
    return urllib.request.urlopen(request).read().decode()
print(call("GET", "bucket/in/hello.txt"))
call("PUT", "bucket/out/from-job.txt", b"from the job")
sign = urllib.parse.quote(signature("GET\n\n\n4000000000\n/bucket/out/from-job.txt"), safe="")
query = f"AWSAccessKeyId={os.environ['AWS_ACCESS_KEY_ID']}&Expires=4000000000&Signature={sign}"
url = f"{os.environ['S3_ENDPOINT']}/bucket/out/from-job.txt?{query}"
print(urllib.request.urlopen(url).read().decode())
for name in ["AWS_ENDPOINT_URL_S3", "S3_ENDPOINT"]:
    assert os.environ[name] == os.environ["S3_ENDPOINT"]
regions = os.environ["AWS_REGION"], os.environ["AWS_DEFAULT_REGION"]
print(*regions, os.environ.get("AWS_SESSION_TOKEN"))
"#;

#[tokio::test]
async fn a_job_finds_the_endpoint_and_if_asked_the_keys_of_its_user() {
    let mut quirks = Quirks::default();
    quirks.obs_keys = JobObsKeys::Environment;
    let site = Site::with(|builder| builder.quirks(quirks)).await;
    site.put("bucket/in/hello.txt", "hello");
    let mut job = site.script("client", SCRIPT);
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "hello\nfrom the job\ncn-north-4 cn-north-4 None\n");
    assert_eq!(site.read("bucket/out/from-job.txt"), "from the job");
    // The variables of the job take precedence.
    job = site.script(
        "own",
        "import os; print(os.environ['S3_ENDPOINT'], os.environ['AWS_ACCESS_KEY_ID'])",
    );
    job["algorithm"]["environments"] =
        json!({"S3_ENDPOINT": "https://own", "AWS_ACCESS_KEY_ID": "mine"});
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "https://own mine\n");
}
