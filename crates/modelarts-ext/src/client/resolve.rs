//! From what a builder and the environment say to a client.

use std::sync::Arc;

use modelarts_api::types;
use reqwest::{Url, header::HeaderValue};

use crate::{
    client::{Client, builder::ClientBuilder},
    clock::since,
    config::{
        cloud::Cloud,
        endpoints::{self, Project, Service},
        environment::Environment,
    },
    credentials::{
        ProviderContext,
        auth_server::{self, AuthServer},
        chain::{self, Hints, Search},
    },
    error::Error,
    http::tls,
    pagination::offset::DetectedOffsets,
    transport::{Common, HttpTransport, connector::ReqwestConnector, retry::pause},
};

/// The variables that are read, for each setting the first that is not empty.
/// The names are those of the official SDKs and of the `OpenStack` tools.
const ENDPOINT: &[&str] = &["MODELARTS_ENDPOINT"];
const REGION: &[&str] = &[
    "MODELARTS_REGION",
    "HUAWEICLOUD_SDK_REGION",
    "OS_REGION_NAME",
];
pub(crate) const PROJECT: &[&str] = &["HUAWEICLOUD_SDK_PROJECT_ID", "OS_PROJECT_ID"];
const PROJECT_NAME: &[&str] = &["OS_PROJECT_NAME", "OS_TENANT_NAME"];
const IAM: &[&str] = &["HUAWEICLOUD_SDK_IAM_ENDPOINT"];
const IAM_OF_OPENSTACK: &[&str] = &["OS_AUTH_URL"];

impl ClientBuilder {
    /// Brings together what is set here and what the environment says.
    pub(crate) fn settle(self) -> Result<ResolvedConfig, Error> {
        let environment = self
            .environment
            .clone()
            .unwrap_or_else(|| Environment::new(|_| None));
        let wishes = Hints {
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
        let cloud = match self.cloud {
            Some(cloud) => Some(cloud),
            None => Cloud::named(&environment, endpoint.as_str())?,
        };
        let project = wishes.project.clone().or(found.project.clone());
        let given = found
            .iam
            .clone()
            .or_else(|| environment.value(IAM_OF_OPENSTACK));
        let cloud = cloud.unwrap_or_else(|| {
            let iam = wishes.iam.as_deref().or(given.as_deref());
            Cloud::of(endpoint.as_str(), region.as_deref(), iam)
        });
        // Only a look-up needs IAM here, and then it is missed.
        let iam = match project.id {
            Some(_) => None,
            None => wishes.iam(&environment, given, region.as_deref())?,
        };

        let mut agent = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(program) = &self.user_agent {
            agent = format!("{program} {agent}");
        }
        let (connect_timeout, roots) = (self.connect_timeout, self.roots);
        let connection = move |secure: bool, direct: bool| {
            let mut http = reqwest::Client::builder()
                // A redirect would take the credentials to another place.
                .redirect(reqwest::redirect::Policy::none())
                // This crate decides, counts and pays from the budget what is sent again. With
                // none to keep for itself, reqwest does not copy each request either.
                .retry(reqwest::retry::never().max_retries_per_request(0))
                .connect_timeout(connect_timeout)
                .user_agent(&agent);
            if direct {
                http = http.no_proxy();
            }
            tls::configure(http, secure, &roots)?
                .build()
                .map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))
        };
        let http = connection(secure, loopback)?;
        // IAM may be far away when the service is on this machine.
        let outside = loopback && !(found.fixed && project.id.is_some());
        let tools = ProviderContext {
            http: match outside.then(|| connection(true, false)) {
                Some(Ok(outside)) => outside,
                // Without the certificates of the platform nothing far away is reached.
                Some(Err(_)) | None => http.clone(),
            },
            clock: Arc::clone(&self.clock),
        };
        let connector = self.connector.unwrap_or_else(|| {
            let make = Box::new(move || connection(secure, loopback));
            Arc::new(ReqwestConnector::new(http.clone(), make))
        });
        Ok(ResolvedConfig {
            cloud,
            sender: HttpTransport {
                endpoint,
                project_id: HeaderValue::from_static(""),
                credentials: found.credentials,
                tools,
                connector,
                shared: Arc::new(Common::new(&self.retry, self.clock.now())),
                clock: self.clock,
                signing: self.signing,
                retry: self.retry,
                timeout: self.timeout,
                overall_timeout: self.overall_timeout,
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
                let found = endpoints::endpoint(Service::ModelArts, region, Some(environment))?;
                found.ok_or_else(|| {
                    Error::config(format!(
                        "the region {region:?} is not known; use one of {}, or set the endpoint",
                        endpoints::known()
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

/// All of a client but the id of its project.
pub(crate) struct ResolvedConfig {
    cloud: Cloud,
    sender: HttpTransport,
    http: reqwest::Client,
    pub(crate) project: Project,
    region: Option<String>,
    iam: Option<String>,
}

impl ResolvedConfig {
    pub(crate) fn finish(self, id: &str) -> Result<Client, Error> {
        let project_id: types::ProjectId = id.parse().map_err(|_| {
            Error::config(format!(
                "the project id {id:?} is wrong; it has 1 to 64 letters, digits and hyphens"
            ))
        })?;
        let sender = HttpTransport {
            project_id: HeaderValue::from_str(&project_id)
                .map_err(|error| Error::config(format!("the project id {id:?}: {error}")))?,
            ..self.sender
        };
        Ok(Client::assemble(
            self.http,
            sender,
            project_id,
            self.cloud,
            DetectedOffsets::default(),
        ))
    }

    /// Asks for the project within the time limit of several calls.
    pub(crate) async fn look_up_project(&self) -> Result<String, Error> {
        let doing = "the project was being looked up";
        let deadline = self.sender.deadline();
        let found = self.find_project();
        deadline.limit(&*self.sender.clock, doing, found).await
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
                endpoints::known()
            )));
        };
        let iam = AuthServer::new("IAM", address)?;
        let name = self.project.name.as_deref().or(self.region.as_deref());
        auth_server::find_project(&iam, &sender.tools, &credentials, &sender.signing, name).await
    }
}

/// An endpoint without what may be secret in it, for a human.
pub(crate) fn presentable(endpoint: &str) -> &str {
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
