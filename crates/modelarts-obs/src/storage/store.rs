//! Objects of one bucket, through the crate `object_store`.

use std::{
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

impl Service {
    /// Creates the bucket. In the S3-compatible API of OBS, the request contains the region as
    /// `LocationConstraint` (`en-us_topic_0125560305`), except for [`DEFAULT_REGION`].
    async fn create_bucket(&self) -> object_store::Result<()> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            object_store::Error::Generic { store: "OBS", source: error }
        };
        let keys = self.keys.keys().await.map_err(|error| failed(error.into()))?;
        let body = match self.region.as_str() {
            DEFAULT_REGION => String::new(),
            region => format!(
                "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                 <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
            ),
        };
        let mut request = HttpRequest::new(HttpRequestBody::from(body));
        *request.method_mut() = http::Method::PUT;
        *request.uri_mut() = self
            .url
            .as_str()
            .parse()
            .map_err(|error: http::uri::InvalidUri| failed(error.into()))?;
        AwsAuthorizer::new(&keys, "s3", &self.region).try_authorize(&mut request, None)?;
        let response = self.http.execute(request).await.map_err(|e| failed(e.into()))?;
        let (parts, body) = response.into_parts();
        if parts.status.is_success() {
            return Ok(());
        }
        let text = body.bytes().await.map_err(|error| failed(error.into()))?;
        Err(failed(String::from_utf8_lossy(&text).into_owned().into()))
    }
}
