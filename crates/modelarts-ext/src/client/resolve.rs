//! Resolution of the configuration: completes the settings of the builder from the environment.

use std::{sync::Arc, time::SystemTime};

use modelarts_api::types;
use reqwest::{Url, header::HeaderValue};

use crate::{
    client::{Client, Location, builder::ClientBuilder},
    clock::since,
    config::{
        cloud::Cloud,
        endpoints::{self, ProjectRef, Service},
        environment::Environment,
    },
    credentials::{
        ProviderContext, SecureHttp, chain, identity,
        source::{Hints, Lookup},
    },
    error::Error,
    http::{
        connection::{self, AGENT},
        url::{is_base, is_loopback, require_encryption, with_scheme, without_secrets},
    },
    list_position::DetectedOffsets,
    transport::{
        HttpTransport, Shared,
        connector::{Reach, ReqwestConnector},
    },
    validation::recommendations::nearest,
};

/// Variables of each setting; the first one that is not empty applies. The names are those of the
/// official SDKs, of the Terraform provider and of the `OpenStack` tools.
const ENDPOINT: &[&str] = &["MODELARTS_ENDPOINT"];
const REGION: &[&str] = &[
    "MODELARTS_REGION",
    "HUAWEICLOUD_SDK_REGION",
    "HW_REGION_NAME",
    "OS_REGION_NAME",
];
const PROJECT: &[&str] = &[
    "HUAWEICLOUD_SDK_PROJECT_ID",
    "HW_PROJECT_ID",
    "OS_PROJECT_ID",
];
const PROJECT_NAME: &[&str] = &["HW_PROJECT_NAME", "OS_PROJECT_NAME", "OS_TENANT_NAME"];
const IAM: &[&str] = &["HUAWEICLOUD_SDK_IAM_ENDPOINT"];
/// Environment variables with the address of IAM, read if the source of the credentials has none.
const DEFAULT_IAM: &[&str] = &["HW_AUTH_URL", "OS_AUTH_URL"];

impl Client {
    /// Creates a builder of a client, without settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client with the settings of the environment; see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    /// Returns an error for a missing or invalid setting, with the names of its variables.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().build()
    }

    /// Creates a client like [`from_env`](Self::from_env), and looks up the id of the project if
    /// the environment does not have it; see [`ClientBuilder::connect`].
    ///
    /// # Errors
    /// Returns an error for a missing or invalid setting, with the names of its variables, and for
    /// a failed look-up in IAM.
    pub async fn connect_from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().connect().await
    }
}

impl ClientBuilder {
    /// Creates the client. Nothing is sent, so the id of the project must be known.
    ///
    /// # Errors
    /// Returns an error for an invalid setting, or one that lists all missing settings, each with
    /// the call and the variables that set it.
    pub fn build(self) -> Result<Client, Error> {
        let config = self.resolve(true)?;
        let id = config.project.id.clone().ok_or_else(no_project_id)?;
        config.into_client(&id)
    }

    /// Creates the client, and looks up the id of the project if no setting has it. A token belongs
    /// to one project. For keys, the client searches IAM for the project of the configured name,
    /// else for that of the region, else for the only project.
    ///
    /// # Errors
    /// Returns an error for an invalid setting, one that lists all missing settings, and one for a
    /// project that does not exist.
    pub async fn connect(self) -> Result<Client, Error> {
        let config = self.resolve(false)?;
        let id = match &config.project.id {
            Some(id) => id.clone(),
            None => config.look_up_project().await?,
        };
        config.into_client(&id)
    }

    /// Completes the settings from the environment, and checks them. The id of the project may be
    /// missing unless `requires_project` is set.
    fn resolve(self, requires_project: bool) -> Result<ResolvedConfig, Error> {
        let environment = self
            .environment
            .clone()
            .unwrap_or_else(|| Environment::new(|_| None));
        let hints = Hints {
            region: self
                .region
                .clone()
                .or_else(|| environment.value(REGION))
                .map(endpoints::canonical_region),
            project: self.project.clone().or(ProjectRef {
                id: environment.value(PROJECT),
                name: environment.value(PROJECT_NAME),
            }),
            iam: self.iam.clone().or_else(|| environment.value(IAM)),
            metadata: self.metadata.clone(),
        };
        let search = match &self.credentials {
            Some(found) => Lookup::Found(found.clone()),
            None if self.environment.is_some() || self.metadata.is_some() => {
                chain::find(&environment, &hints)?
            }
            None => Lookup::NotFound(
                "no credentials; call credentials(), or begin with from_env()".to_owned(),
            ),
        };
        let found = match &search {
            Lookup::Found(found) => Some(found),
            Lookup::NotFound(_) => None,
        };
        let found_region = || found?.region.clone();
        let region = hints.region.clone().or_else(found_region);
        let endpoint = self.find_endpoint(&environment, region.as_deref())?;
        let of_source = found.map(|found| found.project.clone());
        let project = hints.project.clone().or(of_source.unwrap_or_default());
        let project_origin = match (&self.project.id, &hints.project.id) {
            (Some(_), _) => "project_id()".into(),
            (None, Some(_)) => environment
                .first(PROJECT)
                .map_or(PROJECT[0], |(name, _)| name)
                .into(),
            (None, None) if project.id.is_some() => found
                .and_then(|found| found.origin.clone())
                .unwrap_or_else(|| "the source of the credentials".into()),
            (None, None) => "the look-up in IAM".into(),
        };
        let endpoint_origin = match (&self.endpoint, environment.first(ENDPOINT)) {
            (Some(_), _) => "endpoint()",
            (None, Some((name, _))) => name,
            (None, None) => "the region",
        };
        let region_origin: Option<Arc<str>> = match (&self.region, environment.first(REGION)) {
            (Some(_), _) => Some("region()".into()),
            (None, Some((name, _))) => Some(name.into()),
            (None, None) if region.is_some() => found.and_then(|found| found.origin.clone()),
            (None, None) => None,
        };
        let lacks_project = requires_project && project.id.is_none();
        let ((endpoint, place), found) = match (endpoint, search) {
            (Some(endpoint), Lookup::Found(found)) if !lacks_project => (endpoint, found),
            (endpoint, search) => {
                let no_credentials = match search {
                    Lookup::Found(_) => None,
                    Lookup::NotFound(reason) => Some(Error::config(reason)),
                };
                return Err(missing_settings([
                    endpoint.is_none().then(no_endpoint),
                    lacks_project.then(no_project_id),
                    no_credentials,
                ]));
            }
        };
        let loopback = is_loopback(&endpoint);
        let secure = match endpoint.scheme() {
            "https" | "http" => require_encryption(&endpoint, &place)?,
            other => {
                return Err(Error::config(format!(
                    "the endpoint {place} has the scheme {other}; it must be https, or http for a \
                     server on this machine"
                )));
            }
        };
        found.credentials.check()?;
        self.signing.check()?;
        let cloud = match self.cloud {
            Some(cloud) => Some(cloud),
            None => Cloud::from_environment(&environment, endpoint.as_str())?,
        };
        let given = found.iam.clone().or_else(|| environment.value(DEFAULT_IAM));
        let cloud = cloud.unwrap_or_else(|| {
            let iam = hints.iam.as_deref().or(given.as_deref());
            Cloud::detect(endpoint.as_str(), region.as_deref(), iam)
        });
        let agent = match &self.user_agent {
            Some(program) => format!("{program} {AGENT}"),
            None => AGENT.to_owned(),
        };
        let (connect_timeout, roots) = (self.connect_timeout, self.roots);
        let settings = Arc::new(move |secure: bool, direct: bool| {
            connection::builder(secure, direct, connect_timeout, &roots, &agent)
        });
        let secure_settings = Arc::clone(&settings);
        let make_http =
            move |secure: bool, direct: bool| connection::build(settings(secure, direct)?);
        let http = make_http(secure, loopback)?;
        // IAM may be on another machine although the service is on this one.
        let outside = loopback && !(found.fixed && project.id.is_some());
        let provider_context = ProviderContext {
            http: match outside.then(|| make_http(true, false)) {
                Some(Ok(outside)) => outside,
                // Without the certificates of the platform, only this machine can be reached.
                Some(Err(_)) | None => http.clone(),
            },
            clock: Arc::clone(&self.clock),
            is_secure: !loopback,
            secure: Arc::new(SecureHttp::new(move |direct| secure_settings(true, direct))),
        };
        let connector = self.connector.unwrap_or_else(|| {
            let make = Box::new(move |reach| match reach {
                Reach::Service => make_http(secure, loopback),
                Reach::Outside => make_http(true, false),
            });
            Arc::new(ReqwestConnector::new(http.clone(), secure, make))
        });
        let region = region.or_else(|| endpoints::region_of(&endpoint));
        let of_endpoint = region.is_some().then(|| "the endpoint".into());
        Ok(ResolvedConfig {
            location: Location {
                cloud,
                region,
                iam: hints.iam.or(given),
                environment,
                endpoint_origin: endpoint_origin.into(),
                region_origin: region_origin.or(of_endpoint),
            },
            transport: HttpTransport {
                endpoint,
                project_id: HeaderValue::from_static(""),
                credentials: found.credentials,
                credentials_origin: found.origin,
                project_origin,
                provider_context,
                connector,
                shared: Arc::new(Shared::new(&self.retry, self.clock.now())),
                clock: self.clock,
                signing: self.signing,
                retry: self.retry,
                timeout: self.timeout,
                overall_timeout: self.overall_timeout,
                progress: None,
                rate_limit: None,
                language: self.language,
            },
            http,
            project,
        })
    }

    /// Returns the endpoint, and its text and setting for messages; `None` if neither the endpoint
    /// nor the region is set.
    fn find_endpoint(
        &self,
        environment: &Environment,
        region: Option<&str>,
    ) -> Result<Option<(Url, String)>, Error> {
        let own = self.endpoint.clone().map(|text| (text, String::new()));
        let endpoint = own.or_else(|| {
            let (name, text) = environment.first(ENDPOINT)?;
            Some((text, format!(" from {name}")))
        });
        let (given, origin) = match (endpoint, region) {
            (Some(endpoint), _) => endpoint,
            (None, Some(region)) => {
                let found = endpoints::endpoint(Service::ModelArts, region, environment)?;
                let found = found.ok_or_else(|| {
                    let near = nearest(region, endpoints::regions());
                    let near = near.map(|near| format!("did you mean {near}? Otherwise "));
                    Error::config(format!(
                        "the region {region:?} is not known; {}use one of {}, or set the endpoint",
                        near.unwrap_or_default(),
                        endpoints::known_regions()
                    ))
                })?;
                (found, format!(" of the region {region:?}"))
            }
            (None, None) => return Ok(None),
        };
        let text = with_scheme(&given);
        let place = format!("{:?}{origin}", without_secrets(&text));
        let url = Url::parse(&text)
            .map_err(|error| Error::config(format!("the endpoint {place} is wrong: {error}")))?;
        // A server on this machine is usually reached over http, which the default scheme is not.
        if !given.contains("://") && is_loopback(&url) {
            let address = without_secrets(given.trim());
            return Err(Error::config(format!(
                "the endpoint {address:?}{origin} has no scheme; it must begin with http:// or \
                 https:// on this machine, such as http://{address}"
            )));
        }
        if !is_base(&url) || !matches!(url.path(), "" | "/") {
            return Err(Error::config(format!(
                "the endpoint {place} must be only a scheme and a host, without user, path and \
                 query, such as https://modelarts.eu-de.otc.t-systems.com"
            )));
        }
        Ok(Some((url, place)))
    }
}

fn no_endpoint() -> Error {
    Error::config(format!(
        "no endpoint; call endpoint() or region(), or set {} or {}",
        ENDPOINT[0], REGION[0]
    ))
}

fn no_project_id() -> Error {
    Error::config(format!(
        "no project id; call project_id(), or set {}, or call connect() instead of build(), which \
         looks it up",
        PROJECT.join(" or ")
    ))
}

/// Combines the errors for missing settings into one.
fn missing_settings(missing: [Option<Error>; 3]) -> Error {
    let mut missing: Vec<_> = missing.into_iter().flatten().collect();
    if missing.len() == 1
        && let Some(only) = missing.pop()
    {
        return only;
    }
    let mut message = format!("{} settings are missing:", missing.len());
    for error in missing {
        message.push_str("\n- ");
        message.push_str(&error.to_string().replace('\n', "\n  "));
    }
    Error::config(message)
}

/// The resolved settings of a client, except for the id of its project.
struct ResolvedConfig {
    location: Location,
    transport: HttpTransport,
    http: reqwest::Client,
    project: ProjectRef,
}

impl ResolvedConfig {
    /// Creates the client of a project.
    fn into_client(self, id: &str) -> Result<Client, Error> {
        let project_id: types::ProjectId = id.parse().map_err(|_| {
            Error::config(format!(
                "the project id {id:?} is wrong; it has 1 to 64 letters, digits and hyphens"
            ))
        })?;
        let transport = HttpTransport {
            project_id: HeaderValue::from_str(&project_id)
                .map_err(|error| Error::config(format!("the project id {id:?}: {error}")))?,
            ..self.transport
        };
        Ok(Client::assemble(
            self.http,
            transport,
            project_id,
            self.location,
            DetectedOffsets::default(),
        ))
    }

    /// Looks up the project, within the time limit of several calls.
    async fn look_up_project(&self) -> Result<String, Error> {
        let doing = "the project was being looked up";
        self.transport.require_runtime()?;
        let deadline = self.transport.deadline();
        let found = self.find_project();
        deadline.limit(&*self.transport.clock, doing, found).await
    }

    /// Looks up the project, within the number of attempts and the time of the retry policy.
    async fn find_project(&self) -> Result<String, Error> {
        let mut attempts = IamAttempts::new(&self.transport);
        loop {
            match self.request_project().await {
                Ok(id) => return Ok(id),
                Err(error) => attempts.pause(error).await?,
            }
        }
    }

    async fn request_project(&self) -> Result<String, Error> {
        let transport = &self.transport;
        let credentials = transport
            .credentials
            .credentials(&transport.provider_context)
            .await?;
        if let Some(id) = transport.credentials.project_id() {
            return Ok(id);
        }
        let Some(address) = &self.location.iam_endpoint()? else {
            return Err(Error::config(format!(
                "no project id, and where IAM is to look it up is not known; call project_id(), \
                 or region() with one of {}, or iam_endpoint()",
                endpoints::known_regions()
            )));
        };
        let region = self.location.region.as_deref();
        let name = self.project.name.as_deref().or(region);
        identity::find_project(
            address,
            &transport.provider_context,
            &credentials,
            &transport.signing,
            name,
        )
        .await
    }
}

/// Attempts of a look-up in IAM, within the number and the time of the retry policy.
pub(super) struct IamAttempts<'a> {
    transport: &'a HttpTransport,
    started: SystemTime,
    retries: usize,
}

impl<'a> IamAttempts<'a> {
    pub(super) fn new(transport: &'a HttpTransport) -> Self {
        Self {
            transport,
            started: transport.clock.now(),
            retries: 0,
        }
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// Returns the error if there is no further attempt.
    pub(super) async fn pause(&mut self, error: Error) -> Result<(), Error> {
        let (clock, policy) = (&*self.transport.clock, &self.transport.retry);
        let elapsed = since(clock, self.started);
        let wait = policy.delay(self.retries, error.retry_after(), elapsed);
        let Some(wait) = wait.filter(|_| error.is_retryable()) else {
            return Err(error);
        };
        tracing::debug!(%error, ?wait, "repeating the look-up in IAM");
        clock.sleep(wait).await;
        self.retries += 1;
        Ok(())
    }
}
