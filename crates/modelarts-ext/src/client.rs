//! The client and how it is set up.

use std::{fmt, future::Future, ops::Deref, sync::Arc, time::Duration};

use bytes::Bytes;
use modelarts_api::{Context, Failure, ResponseValue, lenient::Dropped, types};
use reqwest::Url;

use crate::{
    auth::{Credentials, ProvideCredentials},
    clock::{Clock, SystemClock},
    error::{Error, ErrorKind},
    job::TrainingJobs,
    learned::Learned,
    mismatch,
    record::{Facts, Record},
    region,
    retry::RetryPolicy,
    tls,
    transport::{Common, Sender},
};

/// A connection to the training management of one project. Clones share it.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    api: modelarts_api::Client,
    http: reqwest::Client,
    sender: Sender,
    project_id: types::ProjectId,
    event_offsets: Learned,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.0.sender.endpoint.as_str())
            .field("project_id", &self.0.project_id.as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Begins to set up a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client for what the environment says; see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    /// What is missing or wrong, naming the variables.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().build()
    }

    /// The training jobs of the project.
    #[must_use]
    pub fn training_jobs(&self) -> TrainingJobs {
        TrainingJobs::new(self.clone())
    }

    /// The project that the client works in.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.0.project_id
    }

    /// The address of the service.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.0.sender.endpoint.as_str()
    }

    /// The generated client: every operation of the description. What is called
    /// here is signed and retried too.
    #[must_use]
    pub fn api(&self) -> &modelarts_api::Client {
        &self.0.api
    }

    /// The same client with another time limit for each call.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        let mut sender = self.0.sender.clone();
        sender.timeout = timeout;
        Self::assemble(self.0.http.clone(), sender, self.0.project_id.clone())
    }

    /// Calls a generated operation, with errors and facts of this crate.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// let project = client.project_id();
    /// let job = client
    ///     .call(|api| {
    ///         api.show_training_job_details()
    ///             .project_id(project)
    ///             .training_job_id("cf63aba9-63b1-4219-b717-708a2665100b")
    ///             .send()
    ///     })
    ///     .await?;
    /// println!("{:?} {:?}", job.request_id(), job.kind);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Everything that [`Error`] can tell.
    pub async fn call<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a modelarts_api::Client) -> F,
    ) -> Result<Answer<T>, Error>
    where
        F: Future<Output = Result<ResponseValue<T>, modelarts_api::Error<types::ApiError>>>,
    {
        let (result, facts) = Record::scope(operation(&self.0.api)).await;
        match result {
            // Only the absence of something to decode is sent as 204.
            Ok(_) if facts.status == Some(204) && facts.body.is_some() => {
                Err(Error::new(ErrorKind::NotReady, "not ready yet")
                    .with_status(204)
                    .in_call(facts.call()))
            }
            Ok(value) => Ok(Answer {
                value: value.into_inner(),
                facts,
            }),
            Err(error) => Err(convert(error, &facts)),
        }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.sender.clock
    }

    /// What was found out about the offsets of events.
    pub(crate) fn event_offsets(&self) -> &Learned {
        &self.0.event_offsets
    }

    pub(crate) fn retry_policy(&self) -> &RetryPolicy {
        &self.0.sender.retry
    }

    fn assemble(http: reqwest::Client, sender: Sender, project_id: types::ProjectId) -> Self {
        let base = sender.endpoint.as_str().trim_end_matches('/').to_owned();
        let context = Context::new(Arc::new(sender.clone()));
        Self(Arc::new(Shared {
            api: modelarts_api::Client::new_with_client(&base, http.clone(), context),
            http,
            sender,
            project_id,
            event_offsets: Learned::default(),
        }))
    }
}

/// Gives an error of generated code the facts that it has lost.
fn convert(error: modelarts_api::Error<types::ApiError>, facts: &Facts) -> Error {
    use modelarts_api::Error as Generated;

    let converted = match error {
        Generated::ErrorResponse(response) => {
            let status = response.status().as_u16();
            let error = Error::service(status, &response.into_inner());
            let solution = error.message().and_then(|message| {
                mismatch::explain(message, facts.canonical_request.as_deref()?)
            });
            error.with_solution(solution)
        }
        Generated::InvalidRequest(message) => Error::invalid(message),
        Generated::UnexpectedResponse(response) => match Failure::from_response(&response) {
            Some(failure) => match failure.downcast::<Error>() {
                Ok(error) => *error,
                Err(other) => Error::new(ErrorKind::Connection, other.to_string()),
            },
            None => {
                let status = response.status().as_u16();
                Error::new(
                    ErrorKind::Unexpected,
                    "an answer that no document describes",
                )
                .with_status(status)
            }
        },
        Generated::InvalidResponsePayload(body, error) => {
            let text = String::from_utf8_lossy(&body).into_owned();
            let mut converted = Error::new(
                ErrorKind::Decode,
                format!("the answer is not understood: {error}"),
            )
            .with_source(error)
            .with_body(text);
            if let Some(status) = facts.status {
                converted = converted.with_status(status);
            }
            converted
        }
        Generated::Custom(message) => Error::new(ErrorKind::Unexpected, message),
        Generated::CommunicationError(error)
        | Generated::InvalidUpgrade(error)
        | Generated::ResponseBodyError(error) => {
            Error::new(ErrorKind::Connection, error.to_string()).with_source(error)
        }
    };
    converted.in_call(facts.call())
}

/// What an operation answered, and what is known about the call.
pub struct Answer<T> {
    value: T,
    facts: Facts,
}

impl<T> Answer<T> {
    /// The answer itself.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.facts.status.unwrap_or_default()
    }

    /// The id of the request, which support asks for.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.facts.request_id.as_deref()
    }

    /// How often the request was sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.facts.attempts
    }

    /// How long the call took, all attempts together.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.facts.elapsed
    }

    /// The body as it came; empty when the operation answers without one.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.facts.body.as_ref().map_or(&[], Bytes::as_ref)
    }

    /// What could not be understood and was left out of lists.
    #[must_use]
    pub fn dropped(&self) -> &Dropped {
        &self.facts.dropped
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Sets up a [`Client`].
///
/// Needed are an endpoint or a region, a project id, and credentials.
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    endpoint: Option<String>,
    region: Option<String>,
    project_id: Option<String>,
    credentials: Option<Arc<dyn ProvideCredentials>>,
    roots: Vec<Vec<u8>>,
    clock: Arc<dyn Clock>,
    retry: RetryPolicy,
    connect_timeout: Duration,
    timeout: Duration,
    user_agent: Option<String>,
    language: Option<types::Language>,
    problem: Option<String>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            endpoint: None,
            region: None,
            project_id: None,
            credentials: None,
            roots: Vec::new(),
            clock: Arc::new(SystemClock),
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            user_agent: None,
            language: None,
            problem: None,
        }
    }
}

/// The variables that are read, for each setting the first that is not empty.
/// The names are those of the official SDKs and of the `OpenStack` tools.
const ENDPOINT: &[&str] = &["MODELARTS_ENDPOINT"];
const REGION: &[&str] = &[
    "MODELARTS_REGION",
    "HUAWEICLOUD_SDK_REGION",
    "OS_REGION_NAME",
];
const PROJECT: &[&str] = &["HUAWEICLOUD_SDK_PROJECT_ID", "OS_PROJECT_ID"];
const ACCESS_KEY: &[&str] = &["HUAWEICLOUD_SDK_AK", "OS_ACCESS_KEY"];
const SECRET_KEY: &[&str] = &["HUAWEICLOUD_SDK_SK", "OS_SECRET_KEY"];
const SECURITY_TOKEN: &[&str] = &["HUAWEICLOUD_SDK_SECURITY_TOKEN", "OS_SECURITY_TOKEN"];
const TOKEN: &[&str] = &["OS_AUTH_TOKEN", "OS_TOKEN"];

impl ClientBuilder {
    /// Reads the environment:
    ///
    /// | setting | variables, the first that is set wins |
    /// |---|---|
    /// | endpoint | `MODELARTS_ENDPOINT` |
    /// | region, when there is no endpoint | `MODELARTS_REGION`, `HUAWEICLOUD_SDK_REGION`, `OS_REGION_NAME` |
    /// | project id | `HUAWEICLOUD_SDK_PROJECT_ID`, `OS_PROJECT_ID` |
    /// | access key, secret key | `HUAWEICLOUD_SDK_AK` and `HUAWEICLOUD_SDK_SK`, or `OS_ACCESS_KEY` and `OS_SECRET_KEY` |
    /// | security token | `HUAWEICLOUD_SDK_SECURITY_TOKEN`, `OS_SECURITY_TOKEN` |
    /// | token, when there are no keys | `OS_AUTH_TOKEN`, `OS_TOKEN` |
    ///
    /// What is set on the builder afterwards wins.
    pub fn from_env() -> Self {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// As [`from_env`](Self::from_env), with another source of variables.
    pub fn from_vars(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        };
        let mut builder = Self {
            endpoint: first(ENDPOINT),
            region: first(REGION),
            project_id: first(PROJECT),
            ..Self::default()
        };
        match (first(ACCESS_KEY), first(SECRET_KEY)) {
            (Some(access_key), Some(secret_key)) => {
                builder = builder.credentials(match first(SECURITY_TOKEN) {
                    Some(token) => Credentials::temporary_keys(access_key, secret_key, token),
                    None => Credentials::keys(access_key, secret_key),
                });
            }
            (None, None) => {
                if let Some(token) = first(TOKEN) {
                    builder = builder.credentials(Credentials::token(token));
                }
            }
            (Some(_), None) => {
                builder.problem = Some(format!(
                    "an access key is set but no secret key; set {}",
                    SECRET_KEY.join(" or ")
                ));
            }
            (None, Some(_)) => {
                builder.problem = Some(format!(
                    "a secret key is set but no access key; set {}",
                    ACCESS_KEY.join(" or ")
                ));
            }
        }
        builder
    }

    /// The address of the service, such as
    /// `https://modelarts.eu-de.otc.t-systems.com`. It wins over the region.
    /// `http` is admitted for this machine only.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// The region, such as `eu-de` or `cn-north-4`.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// The id of the project, 32 hexadecimal digits.
    pub fn project_id(mut self, project_id: impl Into<String>) -> Self {
        self.project_id = Some(project_id.into());
        self
    }

    /// What requests are authenticated with: [`Credentials`], or a provider.
    pub fn credentials(mut self, credentials: impl ProvideCredentials) -> Self {
        self.credentials = Some(Arc::new(credentials));
        self.problem = None;
        self
    }

    /// Trusts one more root certificate (PEM), beside those of the platform.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Where time comes from.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How often and for how long calls are tried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// How long a connection may take to be made. Default 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a call may take, all attempts together. Default 2 minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The language of the service's messages. Default: the service's own.
    pub fn language(mut self, language: types::Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Names the calling program in the header `User-Agent`.
    pub fn user_agent(mut self, program: impl Into<String>) -> Self {
        self.user_agent = Some(program.into());
        self
    }

    /// Makes the client. Nothing is sent.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn build(self) -> Result<Client, Error> {
        let endpoint = self.find_endpoint()?;
        let loopback = is_loopback(&endpoint);
        let secure = match endpoint.scheme() {
            "https" => true,
            "http" if loopback => false,
            "http" => {
                return Err(Error::config(format!(
                    "the endpoint {endpoint} is not https; over http every secret of a request \
                     can be read on the way, so that is only for this machine"
                )));
            }
            other => {
                return Err(Error::config(format!(
                    "the endpoint has the scheme {other}; it must be https"
                )));
            }
        };
        let project_id = self.project_id.as_deref().unwrap_or_default();
        if project_id.is_empty() {
            return Err(Error::config(format!(
                "no project id; call project_id(), or set {}",
                PROJECT.join(" or ")
            )));
        }
        let project_id: types::ProjectId = project_id.parse().map_err(|_| {
            Error::config(format!(
                "the project id {project_id:?} is wrong; it has 1 to 64 letters, digits and hyphens"
            ))
        })?;
        if let Some(problem) = self.problem {
            return Err(Error::config(problem));
        }
        let credentials = self.credentials.ok_or_else(|| {
            Error::config(format!(
                "no credentials; call credentials(), or set {} and {}, or {}",
                ACCESS_KEY[0], SECRET_KEY[0], TOKEN[0]
            ))
        })?;
        credentials.check()?;

        let mut agent = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(program) = self.user_agent {
            agent = format!("{program} {agent}");
        }
        let mut http = reqwest::Client::builder()
            // A redirect would take the credentials to another place.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(self.connect_timeout)
            .user_agent(agent);
        if loopback {
            http = http.no_proxy();
        }
        let http = tls::configure(http, secure, &self.roots)?
            .build()
            .map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))?;
        let sender = Sender {
            endpoint,
            project_id: project_id.to_string(),
            credentials,
            clock: self.clock,
            shared: Arc::new(Common::new(&self.retry)),
            retry: self.retry,
            timeout: self.timeout,
            language: self.language,
        };
        Ok(Client::assemble(http, sender, project_id))
    }

    fn find_endpoint(&self) -> Result<Url, Error> {
        let text = match (&self.endpoint, &self.region) {
            (Some(endpoint), _) => endpoint.trim().to_owned(),
            (None, Some(region)) => region::endpoint(region).ok_or_else(|| {
                Error::config(format!(
                    "the region {region:?} is not known; use one of {}, or set the endpoint",
                    region::known()
                ))
            })?,
            (None, None) => {
                return Err(Error::config(format!(
                    "no endpoint; call endpoint() or region(), or set {} or {}",
                    ENDPOINT[0], REGION[0]
                )));
            }
        };
        let text = if text.contains("://") {
            text
        } else {
            format!("https://{text}")
        };
        let url = Url::parse(&text)
            .map_err(|error| Error::config(format!("the endpoint {text:?} is wrong: {error}")))?;
        if url.host_str().is_none_or(str::is_empty)
            || !matches!(url.path(), "" | "/")
            || url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return Err(Error::config(
                "the endpoint must be only a scheme and a host, such as \
                 https://modelarts.eu-de.otc.t-systems.com",
            ));
        }
        Ok(url)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("project_id", &self.project_id)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
