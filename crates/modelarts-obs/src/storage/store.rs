//! Objects of one bucket, through the crate `object_store`.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use modelarts_ext::{Client, Error, ErrorKind, RetryPolicy};
use object_store::{
    BackoffConfig, ObjectStore, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AwsAuthorizer},
    client::{HttpClient, HttpRequest, HttpRequestBody},
    multipart::MultipartStore,
    path::Path,
};
use url::Url;

use crate::{
    error::{self, ErrorFacts},
    storage::{
        credentials::KeyProvider, directory::Directory, http::TimedClient, location::Location,
    },
};

/// Region in signatures if the client has no region. It is the default region of AWS, which servers
/// with a compatible API accept.
const DEFAULT_REGION: &str = "us-east-1";

/// Minimum and maximum to which [`backoff`] limits the pauses of the retry policy.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60 * 60));

/// Settings that all buckets of a server share.
pub(crate) struct Connection {
    keys: Arc<KeyProvider>,
    http: TimedClient,
    retry: RetryConfig,
    region: String,
}

impl Connection {
    pub(crate) fn new(client: &Client, endpoint: &Url) -> Result<Self, Error> {
        let context = client.provider_context();
        let policy = client.retry_policy();
        Ok(Self {
            keys: Arc::new(KeyProvider::new(client)?),
            http: TimedClient::new(context, endpoint)?,
            retry: RetryConfig {
                backoff: backoff(policy, context.clock.max_pause()),
                max_retries: policy.max_attempts.saturating_sub(1) as usize,
                retry_timeout: policy.max_elapsed,
            },
            region: client.region().unwrap_or(DEFAULT_REGION).to_owned(),
        })
    }

    /// Returns the number of requests that the service throttled, which increases.
    pub(crate) fn throttled(&self) -> Arc<AtomicU64> {
        self.http.throttled()
    }
}

/// Returns the pauses between attempts. The crate `object_store` panics if the first pause is zero
/// or longer than the maximum, or if a pause exceeds the maximum of `Duration`.
fn backoff(policy: &RetryPolicy, max_pause: Duration) -> BackoffConfig {
    let max = max_pause.clamp(PAUSES.0, PAUSES.1);
    let init_backoff = policy.base.clamp(PAUSES.0, max);
    BackoffConfig { init_backoff, max_backoff: policy.cap.clamp(init_backoff, max), base: 2.0 }
}

/// Objects of one bucket. Clones share connections.
#[derive(Clone)]
pub(crate) enum Store {
    Service(Arc<Service>),
    /// Local directory, which may not exist.
    Directory(PathBuf),
}

/// Bucket of a server.
pub(crate) struct Service {
    objects: Arc<AmazonS3>,
    keys: Arc<KeyProvider>,
    http: HttpClient,
    url: Url,
    bucket: String,
    region: String,
}

impl Store {
    pub(crate) fn service(
        connection: &Connection,
        place: &Location,
        bucket: &str,
    ) -> Result<Self, Error> {
        let url = place.bucket_url(bucket)?;
        let store = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(&connection.region)
            // In this mode, the crate uses the endpoint unchanged, and does not add the bucket.
            .with_virtual_hosted_style_request(true)
            .with_endpoint(url.as_str().trim_end_matches('/'))
            .with_credentials(Arc::clone(&connection.keys) as _)
            .with_retry(connection.retry.clone())
            .with_allow_http(true)
            .with_disable_tagging(true)
            // The errors of a bulk deletion contain no status and no request id.
            .with_disable_bulk_delete(true)
            .with_http_connector(connection.http.clone())
            .build();
        let objects = store.map_err(|error| {
            Error::new(ErrorKind::Config, format!("the bucket {bucket}: {error}"))
        })?;
        Ok(Self::Service(Arc::new(Service {
            objects: Arc::new(objects),
            keys: Arc::clone(&connection.keys),
            http: HttpClient::new(connection.http.clone()),
            url,
            bucket: bucket.to_owned(),
            region: connection.region.clone(),
        })))
    }

    /// Returns the object store of the bucket. A missing local directory is an error.
    fn objects(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        match self {
            Self::Service(service) => Ok(Arc::clone(&service.objects) as _),
            Self::Directory(path) if path.is_dir() => Ok(Arc::new(Directory::open(path)?)),
            Self::Directory(_) => Err(ErrorFacts::no_such_bucket().into_error()),
        }
    }

    /// Returns the interface for multipart uploads, or `None` for a local directory.
    pub(crate) fn parts(&self) -> Option<Arc<dyn MultipartStore>> {
        match self {
            Self::Service(service) => Some(Arc::clone(&service.objects) as _),
            Self::Directory(_) => None,
        }
    }

    /// Returns `true` if objects have metadata. The files of a local directory have none.
    pub(crate) fn has_metadata(&self) -> bool {
        matches!(self, Self::Service(_))
    }

    /// Returns `true` if both are the same bucket of one connection, or the same local directory.
    pub(crate) fn is_same_service(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Service(a), Self::Service(b)) => a.url == b.url && Arc::ptr_eq(&a.keys, &b.keys),
            (Self::Directory(a), Self::Directory(b)) => a == b,
            _ => false,
        }
    }

    /// Calls an operation. If OBS rejects the access keys, calls it again with newer keys, if any.
    /// `doing` describes the operation for an error, such as `writing obs://bucket/key`.
    pub(crate) async fn call<T, F>(
        &self,
        doing: impl Fn() -> String,
        operation: impl Fn(Arc<dyn ObjectStore>) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let attempt = async || operation(self.objects()?).await;
        self.with_renewal(attempt).await.map_err(|error| error::convert(&error, &doing()))
    }

    /// Calls an operation. If OBS rejects the access keys, calls it again with newer keys, if any.
    pub(crate) async fn with_renewal<T, F>(
        &self,
        attempt: impl Fn() -> F,
    ) -> object_store::Result<T>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        match attempt().await {
            Err(error) if self.renew(&error) => attempt().await,
            result => result,
        }
    }

    /// Discards the keys that OBS rejected with this error. Returns `true` if the provider of the
    /// keys may have newer keys.
    fn renew(&self, error: &object_store::Error) -> bool {
        match (self, error::rejected_key(error)) {
            (Self::Service(service), Some(access_key)) => service.keys.renew(&access_key),
            _ => false,
        }
    }

    pub(crate) async fn create_bucket(&self, bucket: &str) -> Result<(), Error> {
        let created = match self {
            Self::Service(service) => self.with_renewal(|| service.create_bucket()).await,
            Self::Directory(path) => std::fs::create_dir_all(path).map_err(|error| {
                object_store::Error::Generic { store: "OBS", source: Box::new(error) }
            }),
        };
        created.map_err(|error| error::convert(&error, &format!("creating the bucket {bucket}")))
    }
}

impl Store {
    /// Copies a range of an object of this bucket to a part of an upload, inside OBS. Returns the
    /// entity tag of the part. Parts are numbered from 0.
    pub(crate) async fn copy_part(
        &self,
        from: &Path,
        range: Range<u64>,
        (to, upload, part): (&Path, &str, usize),
    ) -> object_store::Result<String> {
        let Self::Service(service) = self else {
            return Err(object_store::Error::NotSupported { source: "copies of parts".into() });
        };
        let (to, upload) = (encoded(to.as_ref()), encoded(upload));
        let base = service.url.as_str().trim_end_matches('/');
        let url = format!("{base}/{to}?partNumber={}&uploadId={upload}", part + 1);
        let source = format!("/{}/{}", service.bucket, encoded(from.as_ref()));
        let range = format!("bytes={}-{}", range.start, range.end - 1);
        let headers = [("x-amz-copy-source", source.as_str()), ("x-amz-copy-source-range", &range)];
        let text = service.put(&url, String::new(), &headers).await?;
        let tag = text.split_once("<ETag>").and_then(|(_, rest)| rest.split_once("</ETag>"));
        let tag = tag.map(|(tag, _)| tag.replace("&quot;", "\"").replace("&#34;", "\""));
        // An error can follow a response with the status 200.
        tag.ok_or_else(|| failed(text.into()))
    }
}

/// Encodes a path for a URL, as the signature requires it.
fn encoded(path: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(encode).collect()
}

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> object_store::Error {
    object_store::Error::Generic { store: "OBS", source: error }
}

impl Service {
    /// Creates the bucket. In the S3-compatible API of OBS, the request contains the region as
    /// `LocationConstraint` (`en-us_topic_0125560305`), except for [`DEFAULT_REGION`].
    async fn create_bucket(&self) -> object_store::Result<()> {
        let body = match self.region.as_str() {
            DEFAULT_REGION => String::new(),
            region => format!(
                "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                 <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
            ),
        };
        self.put(self.url.as_str(), body, &[]).await.map(drop)
    }

    /// Sends a signed PUT request. Returns the body of the response.
    async fn put(
        &self,
        url: &str,
        body: String,
        headers: &[(&'static str, &str)],
    ) -> object_store::Result<String> {
        let keys = self.keys.keys().await.map_err(|error| failed(error.into()))?;
        let mut request = HttpRequest::new(HttpRequestBody::from(body));
        *request.method_mut() = http::Method::PUT;
        *request.uri_mut() =
            url.parse().map_err(|error: http::uri::InvalidUri| failed(error.into()))?;
        for (name, value) in headers {
            let value = value.parse();
            let value =
                value.map_err(|error: http::header::InvalidHeaderValue| failed(error.into()))?;
            request.headers_mut().insert(*name, value);
        }
        AwsAuthorizer::new(&keys, "s3", &self.region).try_authorize(&mut request, None)?;
        let response = self.http.execute(request).await.map_err(|e| failed(e.into()))?;
        let (parts, body) = response.into_parts();
        let text = body.bytes().await.map_err(|error| failed(error.into()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        match parts.status.is_success() {
            true => Ok(text),
            false => Err(failed(text.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use modelarts_emulator::Emulator;
    use modelarts_ext::ClientBuilder;
    use object_store::multipart::PartId;

    use super::*;

    #[tokio::test]
    async fn an_object_is_copied_by_parts_inside_obs() {
        let emulator = Emulator::builder().start().await.unwrap();
        let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
        let bucket = crate::Obs::new(&client).unwrap().bucket("my-bucket").unwrap();
        bucket.create().await.unwrap();
        let contents: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
        bucket.put("a b+c/\u{fc}%2F", contents.clone()).await.unwrap();
        let (from, to) = (Path::parse("a b+c/\u{fc}%2F").unwrap(), Path::parse("to +").unwrap());
        let store = bucket.store();
        let parts = store.parts().unwrap();
        let id = parts.create_multipart(&to).await.unwrap();
        let mut copied = Vec::new();
        for (part, range) in [0..200_000, 200_000..300_000].into_iter().enumerate() {
            let content_id = store.copy_part(&from, range, (&to, &id, part)).await.unwrap();
            copied.push(PartId { content_id });
        }
        parts.complete_multipart(&to, &id, copied).await.unwrap();
        assert!(bucket.get("to +").await.unwrap() == contents);
        let missing = Path::parse("none").unwrap();
        let error = store.copy_part(&missing, 0..1, (&to, &id, 0)).await.unwrap_err();
        assert_eq!(error::convert(&error, "copying").code(), Some("NoSuchKey"));
        emulator.shutdown().await;
    }
}
