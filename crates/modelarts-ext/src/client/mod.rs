//! [`Client`] for the training management of a project, with the builder and the result of a call.
//!
//! A client resolves settings, signs and retries calls, and applies time limits. Clones of a client
//! are cheap, and share connections, credentials and the retry budget.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, _| {
//! use std::time::Duration;
//!
//! let client = Client::builder()
//!     .endpoint(emulator.url())
//!     .project_id(emulator.project_id())
//!     .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
//!     .timeout(Duration::from_secs(30))
//!     .build()?;
//!
//! // Any operation of the description: signed, retried, with the details of the call.
//! let flavors = client
//!     .call(|api| api.show_training_job_flavors().project_id(client.project_id()).send())
//!     .await?;
//! println!("{} flavors, request {:?}", flavors.flavors.len(), flavors.call().request_id());
//! # Ok(()) }) }
//! ```
//!
//! [`Client::call`] calls any operation of the description with the generated client. The module
//! [`operations`](crate::operations) calls operations by name.
//!
//! # Configuration
//!
//! [`Client::from_env`] takes region, project and credentials from environment variables and files
//! ([list of sources](ClientBuilder::from_env)). [`Client::connect_from_env`] also looks up the id
//! of the project. With [`Client::builder`], the program sets these values.
//!
//! `HTTPS_PROXY` and `NO_PROXY` set the proxy, or [`ClientBuilder::proxy`]. Requests to loopback
//! addresses use no proxy. [`ClientBuilder::http_client`] replaces the HTTP client.
//!
//! # Time limits
//!
//! The time limit of a call, including all attempts, is two minutes. [`ClientBuilder::timeout`] and
//! [`Client::with_timeout`] set another limit. The limit of methods with several calls, such as
//! [`CreateJob::submit`](crate::jobs::create::CreateJob::submit), is five minutes, or set by
//! [`ClientBuilder::overall_timeout`]. Waits and streams have separate time limits.
//!
//! # Traces
//!
//! The crate `tracing` receives a span `modelarts` at level info for each call, with operation,
//! status, request id, attempts and elapsed milliseconds, and an event at level debug per retry.
//! Each attempt is a span `http` in it, with the attributes of an [HTTP client in OpenTelemetry],
//! such as `http.response.status_code` and `http.request.resend_count`. The type of an error is its
//! status, or an [`ErrorKind`](crate::ErrorKind). `cargo run --example tracing` shows spans that
//! `tracing-opentelemetry` exports. Requests for credentials and to OBS have no spans.
//! [`ClientBuilder::on_attempt`] sets a function that receives each attempt, for metrics.
//!
//! [HTTP client in OpenTelemetry]: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
//!
//! # TLS beside reqwest
//!
//! This crate enables only `rustls-no-provider` of reqwest. A program that uses reqwest directly
//! must select a TLS backend, or call `rustls::crypto::ring::default_provider().install_default()`
//! at its start. Otherwise, `reqwest::Client::new()` panics.

// `builder` contains the settings, `resolve` completes them from the environment, and `look_up`
// sends requests to IAM. `response` contains the result of a call.

mod builder;
#[cfg(feature = "contexts")]
pub mod contexts;
mod look_up;
mod resolve;
pub(crate) mod response;

pub use builder::ClientBuilder;
pub use response::Response;

pub use crate::{
    credentials::identity::CurrentUser, http::observer::Attempt, transport::call::CallInfo,
};

use std::{fmt, future::Future, sync::Arc, time::Duration};

use modelarts_api::{ClientInfo, Context, types};

use crate::{
    clock::Clock,
    config::{
        cloud::Cloud,
        endpoints::{self, Service},
        environment::Environment,
    },
    credentials::{ProvideCredentials, ProviderContext},
    error::Error,
    list_position::DetectedOffsets,
    transport::{HttpTransport, deadline::Deadline, retry::RetryPolicy},
};

/// Client for the training management of one project. Clones share the connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    api: modelarts_api::Client,
    transport: HttpTransport,
    project_id: types::ProjectId,
    location: Location,
    offsets: DetectedOffsets,
}

/// Cloud, region and IAM endpoint of a client, the environment, and the origins of these settings.
#[derive(Clone)]
struct Location {
    cloud: Cloud,
    region: Option<String>,
    iam: Option<String>,
    environment: Environment,
    endpoint_origin: Arc<str>,
    region_origin: Option<Arc<str>>,
}

/// Origins of the settings of a client: names of environment variables, files or builder methods. A
/// setting from a context of the tool has the name of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingOrigins<'a> {
    /// Origin of [`Client::endpoint`]. `the region` if no setting contains the endpoint.
    pub endpoint: &'a str,
    /// Origin of [`Client::region`]. `None` if the client has no region.
    pub region: Option<&'a str>,
    /// Origin of [`Client::project_id`]. `the look-up in IAM` if no setting contains the id.
    pub project: &'a str,
    /// Origin of [`Client::credentials`]. `None` if the program passed them to the builder.
    pub credentials: Option<&'a str>,
}

impl Location {
    fn iam_endpoint(&self) -> Result<Option<String>, Error> {
        match (&self.iam, &self.region) {
            (Some(address), _) => Ok(Some(address.clone())),
            (None, Some(region)) => endpoints::endpoint(Service::Iam, region, &self.environment),
            (None, None) => Ok(None),
        }
    }
}

const OBS_ENDPOINT: &str = "MODELARTS_OBS_ENDPOINT";

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.0.transport.endpoint.as_str())
            .field("project_id", &self.0.project_id.as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Returns the id of the project.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.0.project_id
    }

    pub(crate) fn project(&self) -> &types::ProjectId {
        &self.0.project_id
    }

    /// Returns the endpoint of the service.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.0.transport.endpoint.as_str()
    }

    /// Returns the generated client. The extensions of each response contain the [`CallInfo`].
    #[must_use]
    pub fn api(&self) -> &modelarts_api::Client {
        &self.0.api
    }

    /// Returns a copy of the client with another time limit for each call.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use std::time::Duration;
    ///
    /// let hasty = client.with_timeout(Duration::from_secs(5));
    /// match hasty.training_jobs().get("cf63aba9-63b1-4219-b717-708a2665100b").await {
    ///     Ok(job) => println!("{job}"),
    ///     Err(error) if error.is_timeout() => println!("no response within 5 seconds"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        self.with_transport(|transport| transport.timeout = timeout)
    }

    pub(crate) fn with_transport(&self, change: impl FnOnce(&mut HttpTransport)) -> Self {
        let mut transport = self.0.transport.clone();
        change(&mut transport);
        Self::assemble(
            self.0.api.client().clone(),
            transport,
            self.0.project_id.clone(),
            self.0.location.clone(),
            self.0.offsets.clone(),
        )
    }

    /// Calls an operation with the generated client. The response contains details of the call.
    ///
    /// The method `body` accepts the builder of the body type, or a value of the body type, which
    /// serde can decode from JSON. If a builder lacks a required field, the error names the field.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |_, client| {
    /// use modelarts_ext::types::{
    ///     ChangeTrainingExperimentRequest, CreateTrainingExperimentRequest,
    ///     ExperimentMetadataRequest,
    /// };
    ///
    /// let project = client.project_id();
    ///
    /// // A body from builders.
    /// let metadata = ExperimentMetadataRequest::builder().name("learning-rates");
    /// let metadata = metadata.description("lr");
    /// let body = CreateTrainingExperimentRequest::builder().metadata(metadata);
    /// let created = client
    ///     .call(|api| api.create_training_experiment().project_id(project).body(body).send())
    ///     .await?;
    /// let id = created.metadata.as_ref().and_then(|metadata| metadata.id.as_deref());
    /// let id = id.ok_or("the response has no id")?;
    ///
    /// // A body from JSON.
    /// let body: ChangeTrainingExperimentRequest =
    ///     serde_json::from_value(serde_json::json!({"description": "1e-5 to 1e-3"}))?;
    /// let changed = client
    ///     .call(|api| {
    ///         api.change_training_experiment()
    ///             .project_id(project)
    ///             .experiment_id(id)
    ///             .body(body)
    ///             .send()
    ///     })
    ///     .await?;
    /// println!("request {:?}", changed.call().request_id());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a parameter is missing or invalid, or if the call fails; see [`Error`].
    pub async fn call<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a modelarts_api::Client) -> F,
    ) -> Result<Response<T>, Error>
    where
        F: Future<Output = Result<modelarts_api::Response<T>, modelarts_api::Error>>,
    {
        let result = operation(&self.0.api).await;
        Response::new(result.map_err(Error::from_api)?)
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.transport.clock
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.0.transport.deadline()
    }

    /// Starts a deadline after `timeout`, plus the pauses of the rate limit for `calls` calls.
    pub(crate) fn deadline_of(&self, timeout: Duration, calls: u32) -> Deadline {
        let transport = &self.0.transport;
        let limit = transport.rate_limit.as_ref();
        let pauses = limit.map_or(Duration::ZERO, |limit| limit.spacing() * calls);
        Deadline::new(&transport.clock, Some(timeout + pauses))
    }

    /// Returns the cloud whose rules apply to jobs; see [`ClientBuilder::cloud`].
    pub fn cloud(&self) -> Cloud {
        self.0.location.cloud
    }

    /// Returns the region from the settings, otherwise the region in the endpoint. Returns `None`
    /// for an endpoint that belongs to no cloud, as that of the emulator, if no region is set.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.0.location.region.as_deref()
    }

    /// Returns the endpoint of OBS from `MODELARTS_OBS_ENDPOINT`, otherwise the endpoint of OBS in
    /// the region, from `HUAWEICLOUD_SDK_REGION_OBS_<REGION>`, the regions file or the table of
    /// this crate. Returns `None` if the endpoint is unknown.
    ///
    /// # Errors
    /// Returns an error if the regions file or `HUAWEICLOUD_SDK_REGION_OBS_<REGION>` is invalid.
    pub fn obs_endpoint(&self) -> Result<Option<String>, Error> {
        let location = &self.0.location;
        match (location.environment.variable(OBS_ENDPOINT), self.region()) {
            (Some(endpoint), _) => Ok(Some(endpoint)),
            (None, Some(region)) => {
                endpoints::endpoint(Service::Obs, region, &location.environment)
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the endpoint of IAM from the settings or from the source of the credentials,
    /// otherwise the endpoint of IAM in the region. Returns `None` if the endpoint is unknown.
    ///
    /// # Errors
    /// Returns an error if the regions file or `HUAWEICLOUD_SDK_REGION_IAM_<REGION>` is invalid.
    pub fn iam_endpoint(&self) -> Result<Option<String>, Error> {
        self.0.location.iam_endpoint()
    }

    /// Returns the origins of the settings.
    ///
    /// ```
    /// use modelarts_ext::ClientBuilder;
    ///
    /// # fn main() -> Result<(), modelarts_ext::Error> {
    /// let client = ClientBuilder::from_vars(|name| match name {
    ///     "HUAWEICLOUD_SDK_AK" => Some("AK".to_owned()),
    ///     "HUAWEICLOUD_SDK_SK" => Some("SK".to_owned()),
    ///     "HW_PROJECT_ID" => Some("0123456789abcdef0123456789abcdef".to_owned()),
    ///     _ => None,
    /// })
    /// .region("eu-de")
    /// .build()?;
    /// let origins = client.origins();
    /// assert_eq!((origins.endpoint, origins.region), ("the region", Some("region()")));
    /// assert_eq!(origins.project, "HW_PROJECT_ID");
    /// assert_eq!(origins.credentials, Some("HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn origins(&self) -> SettingOrigins<'_> {
        let (location, access) = (&self.0.location, &self.0.transport.access);
        SettingOrigins {
            endpoint: &location.endpoint_origin,
            region: location.region_origin.as_deref(),
            project: &access.project_origin,
            credentials: access.credentials_origin.as_deref(),
        }
    }

    /// Returns the environment of the builder, or an empty environment if the builder had none.
    pub fn environment(&self) -> &Environment {
        &self.0.location.environment
    }

    /// Returns the credential provider, for clients of other services of the cloud.
    #[must_use]
    pub fn credentials(&self) -> &Arc<dyn ProvideCredentials> {
        &self.0.transport.access.credentials
    }

    /// Returns the HTTP client and the clock, for clients of other services of the cloud.
    #[must_use]
    pub fn provider_context(&self) -> &ProviderContext {
        &self.0.transport.access.context
    }

    /// Returns the retry policy.
    #[must_use]
    pub fn retry_policy(&self) -> &RetryPolicy {
        &self.0.transport.retry
    }

    pub(crate) fn offsets(&self) -> &DetectedOffsets {
        &self.0.offsets
    }

    pub(crate) fn transport(&self) -> &HttpTransport {
        &self.0.transport
    }

    fn assemble(
        http: reqwest::Client,
        transport: HttpTransport,
        project_id: types::ProjectId,
        location: Location,
        offsets: DetectedOffsets,
    ) -> Self {
        let base = transport.endpoint.as_str().trim_end_matches('/').to_owned();
        let context = Context::new(Arc::new(transport.clone()));
        Self(Arc::new(Shared {
            api: modelarts_api::Client::new_with_client(&base, http, context),
            transport,
            project_id,
            location,
            offsets,
        }))
    }
}
