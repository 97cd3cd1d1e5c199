//! The builder of a client, with its settings.

use std::{fmt, sync::Arc, time::Duration};

use modelarts_api::types;

use crate::{
    clock::{Clock, SystemClock},
    config::{cloud::Cloud, endpoints::ProjectRef, environment::Environment},
    credentials::{ProvideCredentials, metadata::Metadata, source::FoundCredentials},
    http::{signing::SigningScheme, url},
    transport::{connector::HttpConnector, retry::RetryPolicy},
};

/// The settings of a [`Client`](crate::client::Client), and its builder.
///
/// Needed are an endpoint or a region, credentials, and a project, of which
/// [`connect`](Self::connect) finds out the id. What is set here wins over what the
/// [environment](Self::from_env) says.
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    pub(super) environment: Option<Environment>,
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) project: ProjectRef,
    pub(super) iam: Option<String>,
    pub(super) credentials: Option<FoundCredentials>,
    pub(super) metadata: Option<Metadata>,
    pub(super) signing: SigningScheme,
    pub(super) roots: Vec<Vec<u8>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) retry: RetryPolicy,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) overall_timeout: Duration,
    pub(super) user_agent: Option<String>,
    pub(super) language: Option<types::Language>,
    pub(super) cloud: Option<Cloud>,
    pub(super) connector: Option<Arc<dyn HttpConnector>>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            environment: None,
            endpoint: None,
            region: None,
            project: ProjectRef::default(),
            iam: None,
            credentials: None,
            metadata: None,
            signing: SigningScheme::default(),
            roots: Vec::new(),
            clock: Arc::new(SystemClock),
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            overall_timeout: Duration::from_secs(300),
            user_agent: None,
            language: None,
            cloud: None,
            connector: None,
        }
    }
}

impl ClientBuilder {
    /// Takes what is not set here from the environment of the process:
    ///
    /// | setting | variables, the first that is set wins |
    /// |---|---|
    /// | endpoint | `MODELARTS_ENDPOINT` |
    /// | [cloud](Self::cloud) | `MODELARTS_CLOUD`: `huawei` or `otc` |
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
    /// 1. an identity token ([`Oidc`](crate::credentials::Oidc)):
    ///    `HUAWEICLOUD_OIDC_PROVIDER_URN`, `…_AGENCY_URN`, `…_ID_TOKEN` or `…_TOKEN_FILE`, and `…_SESSION_NAME`,
    ///    `…_DURATION_SECONDS`, `…_POLICY`, `…_POLICY_IDS`; STS is at
    ///    `HUAWEICLOUD_SDK_STS_ENDPOINT` or in the region
    /// 2. keys: `HUAWEICLOUD_SDK_AK`, `HUAWEICLOUD_SDK_SK`, and
    ///    `HUAWEICLOUD_SDK_SECURITY_TOKEN` when they are temporary
    /// 3. the variables of the `OpenStack` tools: keys in `OS_ACCESS_KEY` and
    ///    `OS_SECRET_KEY` (or `OS_AK` and `OS_SK`, or `OS_ACCESS_KEY_ID` and
    ///    `OS_ACCESS_KEY_SECRET`), and `OS_SECURITY_TOKEN` or `OS_AKSK_SECURITY_TOKEN`;
    ///    a token in `OS_AUTH_TOKEN` or `OS_TOKEN`; a user and a
    ///    [`Password`](crate::credentials::Password) in `OS_USERNAME` (or `OS_USER_ID`),
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

    /// Like [`from_env`](Self::from_env), with these variables and without looking for
    /// files.
    pub fn from_vars(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::default().environment(Environment::new(variable))
    }

    /// Like [`from_env`](Self::from_env), with another environment than that of the process.
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

    /// The credentials of requests: [`Credentials`](crate::credentials::Credentials),
    /// or a provider. Nothing else is looked for then.
    pub fn credentials(mut self, credentials: impl ProvideCredentials) -> Self {
        self.credentials = Some(FoundCredentials::unchecked(credentials));
        self
    }

    /// Asks the metadata service when no credentials are found otherwise.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// How requests are signed with keys. Default [`SigningScheme::Access`].
    pub fn signing(mut self, signing: SigningScheme) -> Self {
        self.signing = signing;
        self
    }

    /// Trusts one more root certificate (PEM), beside those of the platform.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// The clock of the client. Default: that of the machine.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sends the requests of the client with this connector instead of reqwest's. What is
    /// set here for connections (certificates, the time that a connection may take to be
    /// made, the header `User-Agent`) is then the concern of the connector.
    pub fn connector(mut self, connector: impl HttpConnector) -> Self {
        self.connector = Some(Arc::new(connector));
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

    /// How long a method may take that makes several calls, all of them together, such as
    /// [`CreateJob::submit`](crate::jobs::create::CreateJob::submit), which looks up the algorithm
    /// and looks for a job whose create was lost. Default 5 minutes. An answer that is there when the
    /// time is over is decoded within the [time limit of its call](Self::timeout). Waits and
    /// streams have limits of their own.
    pub fn overall_timeout(mut self, timeout: Duration) -> Self {
        self.overall_timeout = timeout;
        self
    }

    /// The cloud that the endpoint belongs to:
    /// [jobs are checked](crate::jobs::create::CreateJob::check) by its rules, and
    /// [logs are followed](crate::jobs::logs::Logs::follow) by the operations that it has.
    /// Default: the one that `MODELARTS_CLOUD` names in the
    /// [environment](Self::from_env), else the one that the endpoint belongs to; if that is
    /// in neither cloud's domain, such as an emulator on this machine, the one that the
    /// region, or else the address of IAM belongs to; else Huawei Cloud. A variable that names
    /// another cloud than that of the endpoint is logged as a warning.
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
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field(
                "endpoint",
                &self.endpoint.as_deref().map(url::without_secrets),
            )
            .field("region", &self.region)
            .field("project", &self.project)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}
