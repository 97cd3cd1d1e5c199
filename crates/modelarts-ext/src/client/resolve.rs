//! Resolution of the settings of a client from the builder and the environment.

use std::{sync::Arc, time::Duration};

use modelarts_api::types;
use reqwest::{Url, header::HeaderValue};

use crate::{
    client::{Client, Location, builder::ClientBuilder},
    clock::{ShortPauses, SystemClock},
    config::{
        cloud::Cloud,
        endpoints::{self, ProjectRef, Service},
        environment::Environment,
    },
    credentials::{
        HttpClients, ProviderContext, chain,
        source::{Hints, Lookup},
    },
    error::Error,
    http::url::{is_base, is_loopback, require_encryption, with_scheme, without_secrets},
    list_position::DetectedOffsets,
    spelling::nearest,
    transport::{Access, HttpTransport, Shared, connector::ReqwestConnector, deadline::RateLimit},
};

/// Environment variables of each setting. The first variable that is not empty applies. Most names
/// come from the official SDKs, the Terraform provider and the `OpenStack` tools.
const ENDPOINT: &[&str] = &["MODELARTS_ENDPOINT"];
const REGION: &[&str] =
    &["MODELARTS_REGION", "HUAWEICLOUD_SDK_REGION", "HW_REGION_NAME", "OS_REGION_NAME"];
const PROJECT: &[&str] = &["HUAWEICLOUD_SDK_PROJECT_ID", "HW_PROJECT_ID", "OS_PROJECT_ID"];
const PROJECT_NAME: &[&str] = &["HW_PROJECT_NAME", "OS_PROJECT_NAME", "OS_TENANT_NAME"];
const IAM: &[&str] = &["HUAWEICLOUD_SDK_IAM_ENDPOINT"];
/// Environment variable of the tool `modelarts`, which the SDK does not read.
pub(super) const CONTEXT: &str = "MODELARTS_CONTEXT";
const MAX_PAUSE: &str = "MODELARTS_MAX_PAUSE_MS";
/// Environment variables with the endpoint of IAM if the source of the credentials contains none.
const DEFAULT_IAM: &[&str] = &["HW_AUTH_URL", "OS_AUTH_URL"];

impl Client {
    /// Creates a builder without settings.
    ///
    /// ```
    /// # fn main() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::{Client, Credentials};
    ///
    /// let client = Client::builder()
    ///     .region("eu-de")
    ///     .project_id("0123456789abcdef0123456789abcdef")
    ///     .credentials(Credentials::keys("access-key", "secret-key"))
    ///     .build()?;
    /// assert_eq!(client.endpoint(), "https://modelarts.eu-de.otc.t-systems.com/");
    /// # Ok(()) }
    /// ```
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client with the settings in the environment; see [`ClientBuilder::from_env`].
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::Client;
    ///
    /// // MODELARTS_REGION, HW_PROJECT_ID, HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK are set.
    /// let client = Client::from_env()?;
    /// println!("project {} at {}", client.project_id(), client.endpoint());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a setting is missing or invalid. The message names the variables.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().build()
    }

    /// Creates a client as [`from_env`](Self::from_env) does, and looks up the id of the project if
    /// the environment does not contain the id; see [`ClientBuilder::connect`].
    ///
    /// # Errors
    /// Returns the errors of [`from_env`](Self::from_env), and an error if the look-up fails.
    pub async fn connect_from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().connect().await
    }
}

impl ClientBuilder {
    /// Creates the client without sending a request. The id of the project must be set.
    ///
    /// ```
    /// use modelarts_ext::Client;
    ///
    /// // The region has an endpoint. Project and credentials are missing.
    /// if let Err(error) = Client::builder().region("eu-de").build() {
    ///     eprintln!("{error}");
    /// #   assert_eq!(error.kind(), modelarts_ext::ErrorKind::Config);
    /// }
    /// # assert!(Client::builder().region("eu-de").build().is_err());
    /// ```
    ///
    /// # Errors
    /// Returns an error if a setting is invalid or missing. The message lists all missing settings.
    pub fn build(self) -> Result<Client, Error> {
        let config = self.resolve(true)?;
        let id = config.project.id.clone().ok_or_else(no_project_id)?;
        config.into_client(&id)
    }

    /// Creates the client, and looks up the id of the project if it is not set: in the token of a
    /// [`Password`](crate::credentials::Password), otherwise in IAM, by the name of the project or,
    /// without a name, of the region. Without either, IAM must return a single project.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::ClientBuilder;
    ///
    /// let client = ClientBuilder::from_env().project_name("eu-de_vision").connect().await?;
    /// println!("the id of the project is {}", client.project_id());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`build`](Self::build), and an error if the look-up fails.
    pub async fn connect(self) -> Result<Client, Error> {
        let config = self.resolve(false)?;
        let id = match &config.project.id {
            Some(id) => id.clone(),
            None => config.look_up_project().await?,
        };
        config.into_client(&id)
    }

    /// Completes and checks the settings. `requires_project` makes a missing project id an error.
    fn resolve(self, requires_project: bool) -> Result<ResolvedConfig, Error> {
        let environment = self.environment.clone();
        let environment = environment.unwrap_or_else(|| Environment::new(|_| None));
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
        let region = hints.region.clone().or_else(|| found?.region.clone());
        let endpoint = self.find_endpoint(&environment, region.as_deref())?;
        let of_source = found.map(|found| found.project.clone());
        let project = hints.project.clone().or(of_source.unwrap_or_default());
        let source: Option<Arc<str>> = found.and_then(|found| found.origin.clone());
        let origin_of = |call: Option<&str>, variables: &[&'static str]| -> Option<Arc<str>> {
            let variable = || Some(environment.first(variables)?.0);
            call.or_else(variable).map(Into::into)
        };
        let project_origin = match (&self.project.id, &hints.project.id, &project.id) {
            (Some(_), ..) => "project_id()".into(),
            (None, Some(_), _) => origin_of(None, PROJECT).unwrap_or_else(|| PROJECT[0].into()),
            (None, None, Some(_)) => {
                source.clone().unwrap_or_else(|| "the source of the credentials".into())
            }
            (None, None, None) => "the look-up in IAM".into(),
        };
        let endpoint_origin = origin_of(self.endpoint.as_ref().map(|_| "endpoint()"), ENDPOINT);
        let region_origin = origin_of(self.region.as_ref().map(|_| "region()"), REGION);
        let region_origin = region_origin.or(source.filter(|_| region.is_some()));
        let lacks_project = requires_project && project.id.is_none();
        let ((endpoint, place), found) = match (endpoint, search) {
            (Some(endpoint), Lookup::Found(found)) if !lacks_project => (endpoint, found),
            (endpoint, search) => {
                let no_credentials = match search {
                    Lookup::Found(_) => None,
                    Lookup::NotFound(reason) => Some(Error::config(reason)),
                };
                let error = missing_settings([
                    endpoint.is_none().then(no_endpoint),
                    lacks_project.then(no_project_id),
                    no_credentials,
                ]);
                return Err(match environment.variable(CONTEXT) {
                    Some(name) => error.with_advice(Some(context_advice(&name))),
                    None => error,
                });
            }
        };
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
        let calls = self.calls;
        calls.signing.check()?;
        let max_pause = match (calls.max_pause, &calls.clock) {
            // A service on another machine must not get requests without pauses.
            (None, None) if is_loopback(&endpoint) => max_pause(&environment)?,
            (max, _) => max,
        };
        let mut clock = calls.clock.unwrap_or_else(|| Arc::new(SystemClock));
        if let Some(max_pause) = max_pause {
            clock = Arc::new(ShortPauses { clock, max_pause });
        }
        let cloud = match self.cloud {
            Some(cloud) => Some(cloud),
            None => Cloud::from_environment(&environment, endpoint.as_str())?,
        };
        let given = found.iam.clone().or_else(|| environment.value(DEFAULT_IAM));
        let cloud = cloud.unwrap_or_else(|| {
            let iam = hints.iam.as_deref().or(given.as_deref());
            Cloud::detect(endpoint.as_str(), region.as_deref(), iam)
        });
        let rate_limit = calls.calls_per_second.map(|rate| RateLimit::new(rate, 1)).transpose()?;
        let rate_limit = rate_limit.map(Arc::new);
        let loopback = is_loopback(&endpoint);
        let http = self.http.client(secure, loopback)?;
        // IAM may be on another machine even if the service is on this machine.
        let is_outside = loopback && !(found.fixed && project.id.is_some());
        // If the platform has no certificates, only loopback addresses can be reached.
        let outside = is_outside.then(|| self.http.client(true, false).ok()).flatten();
        let context = ProviderContext {
            http: outside.unwrap_or_else(|| http.clone()),
            clock: Arc::clone(&clock),
            is_secure: !loopback,
            others: Arc::new(HttpClients::new(self.http.clone())),
            observer: calls.observer.clone(),
        };
        let connector = calls.connector.unwrap_or_else(|| {
            let connector = ReqwestConnector::new(http.clone(), self.http, secure, loopback);
            Arc::new(connector)
        });
        let region = region.or_else(|| endpoints::region_of(&endpoint));
        let of_endpoint = region.is_some().then(|| "the endpoint".into());
        let shared = Shared::new(&calls.retry, calls.overall_timeout, clock.now());
        Ok(ResolvedConfig {
            location: Location {
                cloud,
                region,
                iam: hints.iam.or(given),
                endpoint_origin: endpoint_origin.unwrap_or_else(|| "the region".into()),
                region_origin: region_origin.or(of_endpoint),
                environment,
            },
            transport: HttpTransport {
                endpoint,
                access: Access {
                    project_id: HeaderValue::from_static(""),
                    project_origin,
                    credentials: found.credentials,
                    credentials_origin: found.origin,
                    context,
                    signing: calls.signing,
                },
                connector,
                clock,
                retry: calls.retry,
                timeout: calls.timeout,
                language: calls.language,
                shared: Arc::new(shared),
                progress: None,
                rate_limit,
                observer: calls.observer,
            },
            http,
            project,
        })
    }

    /// Returns the endpoint from the settings or of the region, and its description for messages.
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
        // The default scheme is https, but a server on this machine usually uses http.
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

/// Returns the maximum pause from the environment.
fn max_pause(environment: &Environment) -> Result<Option<Duration>, Error> {
    let Some(text) = environment.variable(MAX_PAUSE) else {
        return Ok(None);
    };
    text.parse().map(|max| Some(Duration::from_millis(max))).map_err(|_| {
        Error::config(format!("{MAX_PAUSE} is {text:?}; it must be a number of milliseconds"))
    })
}

fn context_advice(name: &str) -> String {
    format!(
        "{CONTEXT} is read only by the tool `modelarts`; call Client::from_context({name:?}) \
         (feature `contexts`), or set the variables with `eval \"$(modelarts context env {name})\"`"
    )
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

pub(super) struct ResolvedConfig {
    pub(super) location: Location,
    pub(super) transport: HttpTransport,
    http: reqwest::Client,
    pub(super) project: ProjectRef,
}

impl ResolvedConfig {
    fn into_client(self, id: &str) -> Result<Client, Error> {
        let project_id: types::ProjectId = id.parse().map_err(|_| {
            Error::config(format!(
                "the project id {id:?} is wrong; it has 1 to 64 letters, digits and hyphens"
            ))
        })?;
        let mut transport = self.transport;
        transport.access.project_id = HeaderValue::from_str(&project_id)
            .map_err(|error| Error::config(format!("the project id {id:?}: {error}")))?;
        let offsets = DetectedOffsets::default();
        Ok(Client::assemble(self.http, transport, project_id, self.location, offsets))
    }
}
