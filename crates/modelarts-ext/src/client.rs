//! The client and how it is set up.

use std::{fmt, future::Future, ops::Deref, sync::Arc, time::Duration};

use bytes::Bytes;
use modelarts_api::{Context, Failure, ResponseValue, lenient::Dropped, types};
use reqwest::Url;

use crate::{
    auth::{ProvideCredentials, Tools},
    chain::{self, Found, Search, Wishes},
    clock::{Clock, SystemClock, since},
    cloud::Cloud,
    environment::Environment,
    error::{Error, ErrorKind},
    iam::{self, Authority},
    job::TrainingJobs,
    learned::Offsets,
    metadata::Metadata,
    mismatch,
    record::{Facts, Record},
    region::{self, Project, Service},
    retry::{RetryPolicy, pause},
    sign::Signing,
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
    cloud: Cloud,
    offsets: Offsets,
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

    /// As [`from_env`](Self::from_env), and the id of the project is looked up when the
    /// environment does not say it; see [`ClientBuilder::connect`].
    ///
    /// # Errors
    /// What is missing or wrong, naming the variables, and why IAM did not say the id.
    pub async fn connect_from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().connect().await
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

    /// The project, checked already.
    pub(crate) fn project(&self) -> &types::ProjectId {
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
        let project_id = self.0.project_id.clone();
        Self::assemble(self.0.http.clone(), sender, project_id, self.0.cloud)
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

    /// Whose service it is.
    pub(crate) fn cloud(&self) -> Cloud {
        self.0.cloud
    }

    /// What was found out about offsets.
    pub(crate) fn offsets(&self) -> &Offsets {
        &self.0.offsets
    }

    pub(crate) fn retry_policy(&self) -> &RetryPolicy {
        &self.0.sender.retry
    }

    fn assemble(
        http: reqwest::Client,
        sender: Sender,
        project_id: types::ProjectId,
        cloud: Cloud,
    ) -> Self {
        let base = sender.endpoint.as_str().trim_end_matches('/').to_owned();
        let context = Context::new(Arc::new(sender.clone()));
        Self(Arc::new(Shared {
            api: modelarts_api::Client::new_with_client(&base, http.clone(), context),
            http,
            sender,
            project_id,
            cloud,
            offsets: Offsets::default(),
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
            error.with_solution(solution).without_token()
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
                format!(
                    "the answer is not understood: {}",
                    unquoted(&error.to_string())
                ),
            )
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

/// serde quotes a text that it did not expect, and that may be a secret.
fn unquoted(text: &str) -> String {
    match (text.find("string \""), text.rfind("\", expected")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}string{}", &text[..start], &text[end + 1..])
        }
        _ => text.to_owned(),
    }
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
/// Needed are an endpoint or a region, credentials, and a project, of which
/// [`connect`](Self::connect) finds out the id. What is set here wins over what the
/// [environment](Self::from_env) says.
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    environment: Option<Environment>,
    endpoint: Option<String>,
    region: Option<String>,
    project: Project,
    iam: Option<String>,
    credentials: Option<Found>,
    metadata: Option<Metadata>,
    signing: Signing,
    roots: Vec<Vec<u8>>,
    clock: Arc<dyn Clock>,
    retry: RetryPolicy,
    connect_timeout: Duration,
    timeout: Duration,
    user_agent: Option<String>,
    language: Option<types::Language>,
    cloud: Option<Cloud>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            environment: None,
            endpoint: None,
            region: None,
            project: Project::default(),
            iam: None,
            credentials: None,
            metadata: None,
            signing: Signing::default(),
            roots: Vec::new(),
            clock: Arc::new(SystemClock),
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            user_agent: None,
            language: None,
            cloud: None,
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
const PROJECT_NAME: &[&str] = &["OS_PROJECT_NAME", "OS_TENANT_NAME"];
const IAM: &[&str] = &["HUAWEICLOUD_SDK_IAM_ENDPOINT"];
const IAM_OF_OPENSTACK: &[&str] = &["OS_AUTH_URL"];

impl ClientBuilder {
    /// Takes what is not set here from the environment of the process:
    ///
    /// | setting | variables, the first that is set wins |
    /// |---|---|
    /// | endpoint | `MODELARTS_ENDPOINT` |
    /// | region | `MODELARTS_REGION`, `HUAWEICLOUD_SDK_REGION`, `OS_REGION_NAME`; else as the source of the credentials says |
    /// | project | its id in `HUAWEICLOUD_SDK_PROJECT_ID`, `OS_PROJECT_ID`; its name in `OS_PROJECT_NAME`, `OS_TENANT_NAME`; else as the source of the credentials says |
    /// | IAM | `HUAWEICLOUD_SDK_IAM_ENDPOINT`; else as the source of the credentials says, `OS_AUTH_URL`; else that of the region |
    ///
    /// The endpoint of a region is that in `HUAWEICLOUD_SDK_REGION_MODELARTS_<REGION>`
    /// (such as `…_EU_DE`), else that in `~/.huaweicloud/regions.yaml` (or
    /// `$HUAWEICLOUD_SDK_REGIONS_FILE`), else the one this crate knows.
    ///
    /// Credentials come from the first of these that is there. One that is there and
    /// is not good is an error; no other is tried then, as it might be somebody else.
    ///
    /// 1. an identity token ([`Oidc`](crate::Oidc)): `HUAWEICLOUD_OIDC_PROVIDER_URN`,
    ///    `…_AGENCY_URN`, `…_ID_TOKEN` or `…_TOKEN_FILE`, and `…_SESSION_NAME`,
    ///    `…_DURATION_SECONDS`, `…_POLICY`, `…_POLICY_IDS`; STS is at
    ///    `HUAWEICLOUD_SDK_STS_ENDPOINT` or in the region
    /// 2. keys: `HUAWEICLOUD_SDK_AK`, `HUAWEICLOUD_SDK_SK`, and
    ///    `HUAWEICLOUD_SDK_SECURITY_TOKEN` when they are temporary
    /// 3. the variables of the `OpenStack` tools: keys in `OS_ACCESS_KEY` and
    ///    `OS_SECRET_KEY` (or `OS_AK` and `OS_SK`, or `OS_ACCESS_KEY_ID` and
    ///    `OS_ACCESS_KEY_SECRET`), and `OS_SECURITY_TOKEN` or `OS_AKSK_SECURITY_TOKEN`;
    ///    a token in `OS_AUTH_TOKEN` or `OS_TOKEN`; a user and a
    ///    [`Password`](crate::Password) in `OS_USERNAME` (or `OS_USER_ID`),
    ///    `OS_PASSWORD`, and `OS_USER_DOMAIN_NAME`, `OS_DOMAIN_NAME`,
    ///    `OS_USER_DOMAIN_ID` or `OS_DOMAIN_ID`
    /// 4. the cloud in `clouds.yaml` that `OS_CLOUD` names
    /// 5. `~/.huaweicloud/credentials`, section `[basic]`: `ak`, `sk`,
    ///    `security_token`, `project_id`, `iam_endpoint`; or the file that
    ///    `HUAWEICLOUD_SDK_CREDENTIALS_FILE` names
    /// 6. the only cloud in `clouds.yaml`
    /// 7. the metadata service, when [`metadata`](Self::metadata) asks for it
    ///
    /// `clouds.yaml` is the file that `OS_CLIENT_CONFIG_FILE` names, else the first of
    /// `./clouds.yaml`, `~/.config/openstack/clouds.yaml` and
    /// `/etc/openstack/clouds.yaml`; `secure.yaml` (or `OS_CLIENT_SECURE_FILE`) from the
    /// same places is laid over it. A cloud has `region_name` and in `auth` either `ak`,
    /// `sk` and `security_token`, or `username`, `password`, `user_domain_name` and
    /// `auth_url`, or `token`; and `project_id` or `project_name`.
    ///
    /// Files with secrets that others can read are warned of, through `tracing`.
    pub fn from_env() -> Self {
        Self::default().environment(Environment::of_process())
    }

    /// As [`from_env`](Self::from_env), with these variables and without looking for
    /// files.
    pub fn from_vars(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::default().environment(Environment::new(variable))
    }

    /// As [`from_env`](Self::from_env), with other surroundings than the process has.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
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
        self.project.id = Some(project_id.into());
        self
    }

    /// The name of the project, such as `eu-de_team`, for [`connect`](Self::connect) to
    /// look up. Default: that of the region, which is called as the region is.
    pub fn project_name(mut self, name: impl Into<String>) -> Self {
        self.project.name = Some(name.into());
        self
    }

    /// The address of IAM, such as `https://iam.eu-de.otc.t-systems.com`. Default: that
    /// of the region. `http` is admitted for this machine only.
    pub fn iam_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.iam = Some(endpoint.into());
        self
    }

    /// What requests are authenticated with: [`Credentials`](crate::Credentials),
    /// or a provider. Nothing else is looked for then.
    pub fn credentials(mut self, credentials: impl ProvideCredentials) -> Self {
        self.credentials = Some(Found::unchecked(credentials));
        self
    }

    /// Asks the metadata service when no credentials are found otherwise.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// How requests are signed with keys. Default [`Signing::Access`].
    pub fn signing(mut self, signing: Signing) -> Self {
        self.signing = signing;
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

    /// Whose service it is. Default: the one that the endpoint belongs to, and of an
    /// endpoint that belongs to neither, Open Telekom Cloud's.
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = Some(cloud);
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

    /// Makes the client. Nothing is sent, so the id of the project must be known.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn build(self) -> Result<Client, Error> {
        let settled = self.settle()?;
        let Some(id) = settled.project.id.clone() else {
            return Err(Error::config(format!(
                "no project id; call project_id(), or set {}, or call connect() instead of \
                 build(), which looks it up",
                PROJECT.join(" or ")
            )));
        };
        settled.finish(&id)
    }

    /// Makes the client, and asks for the id of the project when nothing says it: a
    /// token is for one project; for keys IAM is asked for the project with the name
    /// that is set, else that of the region, else for the only one there is.
    ///
    /// # Errors
    /// What is missing or wrong; why there are no credentials, or no such project.
    pub async fn connect(self) -> Result<Client, Error> {
        let settled = self.settle()?;
        let id = match &settled.project.id {
            Some(id) => id.clone(),
            None => settled.find_project().await?,
        };
        settled.finish(&id)
    }

    /// Brings together what is set here and what the environment says.
    fn settle(self) -> Result<Settled, Error> {
        let environment = self
            .environment
            .clone()
            .unwrap_or_else(|| Environment::new(|_| None));
        let wishes = Wishes {
            region: self.region.clone().or_else(|| environment.value(REGION)),
            project: self.project.clone().or(Project {
                id: environment.value(PROJECT),
                name: environment.value(PROJECT_NAME),
            }),
            iam: self.iam.clone().or_else(|| environment.value(IAM)),
            metadata: self.metadata.clone(),
        };
        let search = match &self.credentials {
            Some(found) => Search::Found(found.clone()),
            None if self.environment.is_some() || self.metadata.is_some() => {
                chain::find(&environment, &wishes)?
            }
            None => Search::Nothing(Error::config(
                "no credentials; call credentials(), or begin with from_env()",
            )),
        };
        let source = match &search {
            Search::Found(found) => Some(found),
            Search::Nothing(_) => None,
        };
        let region = wishes.region.clone().or_else(|| source?.region.clone());
        let endpoint = self.find_endpoint(&environment, region.as_deref())?;
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
        let found = match search {
            Search::Found(found) => found,
            Search::Nothing(error) => return Err(error),
        };
        found.credentials.check()?;
        self.signing.check()?;
        let project = wishes.project.clone().or(found.project.clone());
        let given = found
            .iam
            .clone()
            .or_else(|| environment.value(IAM_OF_OPENSTACK));
        // Only a look-up needs IAM here, and then it is missed.
        let iam = match project.id {
            Some(_) => None,
            None => wishes.iam(&environment, given, region.as_deref())?,
        };

        let mut agent = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(program) = &self.user_agent {
            agent = format!("{program} {agent}");
        }
        let connection = |secure: bool, direct: bool| {
            let mut http = reqwest::Client::builder()
                // A redirect would take the credentials to another place.
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(self.connect_timeout)
                .user_agent(&agent);
            if direct {
                http = http.no_proxy();
            }
            tls::configure(http, secure, &self.roots)?
                .build()
                .map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))
        };
        let http = connection(secure, loopback)?;
        // IAM may be far away when the service is on this machine.
        let outside = loopback && !(found.fixed && project.id.is_some());
        let tools = Tools {
            http: match outside.then(|| connection(true, false)) {
                Some(Ok(outside)) => outside,
                // Without the certificates of the platform nothing far away is reached.
                Some(Err(_)) | None => http.clone(),
            },
            clock: Arc::clone(&self.clock),
        };
        Ok(Settled {
            cloud: self.cloud.unwrap_or_else(|| Cloud::of(endpoint.as_str())),
            sender: Sender {
                endpoint,
                project_id: String::new(),
                credentials: found.credentials,
                tools,
                shared: Arc::new(Common::new(&self.retry, self.clock.now())),
                clock: self.clock,
                signing: self.signing,
                retry: self.retry,
                timeout: self.timeout,
                language: self.language,
            },
            http,
            project,
            region,
            iam,
        })
    }

    fn find_endpoint(&self, environment: &Environment, region: Option<&str>) -> Result<Url, Error> {
        let endpoint = self
            .endpoint
            .clone()
            .or_else(|| environment.value(ENDPOINT));
        let text = match (endpoint, region) {
            (Some(endpoint), _) => endpoint.trim().to_owned(),
            (None, Some(region)) => {
                let found = region::endpoint(Service::ModelArts, region, Some(environment))?;
                found.ok_or_else(|| {
                    Error::config(format!(
                        "the region {region:?} is not known; use one of {}, or set the endpoint",
                        region::known()
                    ))
                })?
            }
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
        let url = Url::parse(&text).map_err(|error| {
            Error::config(format!(
                "the endpoint {:?} is wrong: {error}",
                presentable(&text)
            ))
        })?;
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
            .field("endpoint", &self.endpoint.as_deref().map(presentable))
            .field("region", &self.region)
            .field("project", &self.project)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

/// All of a client but the id of its project.
struct Settled {
    cloud: Cloud,
    sender: Sender,
    http: reqwest::Client,
    project: Project,
    region: Option<String>,
    iam: Option<String>,
}

impl Settled {
    fn finish(self, id: &str) -> Result<Client, Error> {
        let project_id: types::ProjectId = id.parse().map_err(|_| {
            Error::config(format!(
                "the project id {id:?} is wrong; it has 1 to 64 letters, digits and hyphens"
            ))
        })?;
        let sender = Sender {
            project_id: project_id.to_string(),
            ..self.sender
        };
        Ok(Client::assemble(self.http, sender, project_id, self.cloud))
    }

    /// Asks again when that may help, as often and as long as calls are tried.
    async fn find_project(&self) -> Result<String, Error> {
        let (clock, policy) = (&*self.sender.clock, &self.sender.retry);
        let started = clock.now();
        let mut ceilings = policy.ceilings();
        loop {
            let error = match self.ask_project().await {
                Ok(id) => return Ok(id),
                Err(error) => error,
            };
            let wait = ceilings
                .next()
                .filter(|_| error.is_retryable())
                .map(|ceiling| pause(error.retry_after(), ceiling))
                .filter(|wait| since(clock, started).saturating_add(*wait) < policy.max_elapsed);
            let Some(wait) = wait else {
                return Err(error);
            };
            tracing::debug!(%error, ?wait, "asking for the project again");
            clock.sleep(wait).await;
        }
    }

    async fn ask_project(&self) -> Result<String, Error> {
        let sender = &self.sender;
        let credentials = sender.credentials.credentials(&sender.tools).await?;
        if let Some(id) = sender.credentials.project_id() {
            return Ok(id);
        }
        let Some(address) = &self.iam else {
            return Err(Error::config(format!(
                "no project id, and where IAM is to look it up is not known; call project_id(), \
                 or region() with one of {}, or iam_endpoint()",
                region::known()
            )));
        };
        let iam = Authority::new("IAM", address)?;
        let name = self.project.name.as_deref().or(self.region.as_deref());
        iam::find_project(&iam, &sender.tools, &credentials, &sender.signing, name).await
    }
}

/// An endpoint without what may be secret in it, for a human.
fn presentable(endpoint: &str) -> &str {
    let end = endpoint.find(['?', '#']).unwrap_or(endpoint.len());
    let endpoint = &endpoint[..end];
    endpoint.rsplit_once('@').map_or(endpoint, |(_, host)| host)
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
