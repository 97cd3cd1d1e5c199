//! Helpers: clients, buckets and responses of a server.

use modelarts_ext::{Client, ClientBuilder, Credentials, Error, RetryPolicy};
use modelarts_obs::{Bucket, Obs};

use crate::fake_server::{FakeReply, FakeServer, reply};

/// Substring of all secrets in these tests. No error may contain it.
pub(crate) const SECRET_MARK: &str = "s3cr3t";

pub(crate) fn keys() -> Credentials {
    Credentials::keys("AK", "SK-s3cr3t")
}

/// Returns the builder of a client without retries, whose service is not reachable.
pub(crate) fn builder() -> ClientBuilder {
    Client::builder()
        .endpoint("http://127.0.0.1:1")
        .project_id("p")
        .credentials(keys())
        .retry(RetryPolicy::none())
}

pub(crate) fn bucket_with(builder: ClientBuilder, address: &str) -> Bucket {
    let obs = Obs::with_address(&builder.build().unwrap(), address).unwrap();
    obs.bucket("my-bucket").unwrap()
}

pub(crate) fn bucket(server: &FakeServer) -> Bucket {
    bucket_with(builder(), &server.url)
}

/// Returns the message of an error, and checks that no form of the error contains a secret.
pub(crate) fn safe_message(error: &Error) -> String {
    let all = format!("{error} {error:?} {error:#?}");
    assert!(!all.contains(SECRET_MARK), "{all}");
    error.to_string()
}

/// Returns the response to a request for an object.
pub(crate) fn object(contents: &str) -> FakeReply {
    reply(200, contents)
        .with("etag", "\"0123\"")
        .with("last-modified", "Thu, 15 Jan 2026 08:30:45 GMT")
}

/// Returns an error response in the format of OBS.
pub(crate) fn rejection(status: u16, code: &str, message: &str) -> FakeReply {
    reply(
        status,
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Error><Code>{code}\
             </Code><Message>{message}</Message><RequestId>0000018D</RequestId>\
             <HostId>abc</HostId></Error>"
        ),
    )
    .with("x-obs-request-id", "0000018D")
}
