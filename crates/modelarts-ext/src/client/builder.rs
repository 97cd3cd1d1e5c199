//! Builder of a client, with all settings.

use std::{fmt, sync::Arc, time::Duration};

use modelarts_api::types;

use crate::{
    clock::Clock,
    config::{cloud::Cloud, endpoints::ProjectRef, environment::Environment},
    credentials::{ProvideCredentials, metadata::Metadata, source::FoundCredentials},
    http::{
        connection::{HttpSettings, ProxyUrl},
        observer::{Attempt, Observer},
        signing::SigningScheme,
        url,
    },
    transport::{connector::HttpConnector, retry::RetryPolicy},
};

/// Builder of a [`Client`](crate::client::Client), with the settings of the client.
///
/// A client requires an endpoint or a region, credentials, and a project id, which
/// [`connect`](Self::connect) can look up. Settings of the builder take precedence over the
/// [environment](Self::from_env).
#[derive(Clone, Default)]
#[must_use]
pub struct ClientBuilder {
    pub(super) environment: Option<Environment>,
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) project: ProjectRef,
    pub(super) iam: Option<String>,
    pub(super) credentials: Option<FoundCredentials>,
    pub(super) metadata: Option<Metadata>,
    pub(super) cloud: Option<Cloud>,
    pub(super) http: HttpSettings,
    pub(super) calls: CallSettings,
}

#[derive(Clone)]
pub(super) struct CallSettings {
    pub(super) signing: SigningScheme,
    /// Clock; `None` for the system clock.
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) max_pause: Option<Duration>,
    pub(super) retry: RetryPolicy,
    pub(super) timeout: Duration,
    pub(super) overall_timeout: Duration,
    pub(super) language: Option<types::Language>,
    pub(super) connector: Option<Arc<dyn HttpConnector>>,
    pub(super) calls_per_second: Option<f64>,
    pub(super) observer: Observer,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            signing: SigningScheme::default(),
            clock: None,
            max_pause: None,
            retry: RetryPolicy::default(),
            timeout: Duration::from_secs(120),
            overall_timeout: Duration::from_secs(300),
            language: None,
            connector: None,
            calls_per_second: None,
            observer: Observer::default(),
        }
    }
}

impl ClientBuilder {
    /// Creates a builder that takes missing settings from the environment of the process: from the
    /// variables and files that [`guide::environment`](crate::guide::environment) lists.
    ///
    /// Logs a warning with `tracing` if other users can access a file with secrets.
    pub fn from_env() -> Self {
        Self::default().environment(Environment::of_process())
    }

    /// Creates a builder as [`from_env`](Self::from_env) does, but from these variables and the
    /// files that the variables name.
    pub fn from_vars(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::default().environment(Environment::new(variable))
    }

    /// Sets the environment for missing settings; see [`from_env`](Self::from_env).
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets the endpoint of the service, such as `https://modelarts.eu-de.otc.t-systems.com`,
    /// instead of the endpoint of the region. Default scheme: `https`. For a loopback address, a
    /// scheme is required and may be `http`.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets the region, such as `eu-de` or `cn-north-4`.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the id of the project, which has 1 to 64 letters, digits and hyphens.
    pub fn project_id(mut self, project_id: impl Into<String>) -> Self {
        self.project.id = Some(project_id.into());
        self
    }

    /// Sets the name of the project, such as `eu-de_team`. [`connect`](Self::connect) looks up the
    /// id of the project. Default: the project with the name of the region.
    pub fn project_name(mut self, name: impl Into<String>) -> Self {
        self.project.name = Some(name.into());
        self
    }

    /// Sets the endpoint of IAM, such as `https://iam.eu-de.otc.t-systems.com`. Default: the
    /// endpoint of IAM in the region. The scheme `http` is allowed only for loopback addresses.
    pub fn iam_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.iam = Some(endpoint.into());
        self
    }

    /// Sets the credentials: fixed [`Credentials`](crate::credentials::Credentials), or a provider.
    pub fn credentials(mut self, credentials: impl ProvideCredentials) -> Self {
        self.credentials = Some(FoundCredentials::unchecked(credentials));
        self
    }

    /// Enables the metadata service as the last source of credentials.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Sets the scheme with which requests are signed. Default: [`SigningScheme::Access`].
    pub fn signing(mut self, signing: SigningScheme) -> Self {
        self.calls.signing = signing;
        self
    }

    /// Adds a trusted root certificate (PEM) to the root certificates of the platform.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.http.roots.push(pem.into());
        self
    }

    /// Sets the clock of the client. Default: the system clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.calls.clock = Some(Arc::new(clock));
        self
    }

    /// Shortens each pause between two requests to `max`, for tests: those of retries, also for
    /// `Retry-After`, of polls, and of rate limits. Default: the milliseconds in
    /// `MODELARTS_MAX_PAUSE_MS`, which an emulator without delays sets, if the endpoint is on this
    /// machine and the client has no [`clock`](Self::clock) of its own; otherwise no maximum.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, _| {
    /// use std::time::Duration;
    /// use modelarts_emulator::faults::{Fault, FaultRule};
    ///
    /// let client = ClientBuilder::from_vars(emulator.vars())
    ///     .max_pause(Duration::from_millis(5))
    ///     .build()?;
    /// // Three responses with `Retry-After: 20` take milliseconds.
    /// let storm = FaultRule::times(3, "ListTrainingJobs", Fault::retry_after(429, 20));
    /// emulator.faults().add(storm)?;
    /// client.training_jobs().list().collect(10).await?;
    /// # Ok(()) }) }
    /// ```
    pub fn max_pause(mut self, max: Duration) -> Self {
        self.calls.max_pause = Some(max);
        self
    }

    /// Sets the connector that sends the requests of the client. Default: reqwest. The settings for
    /// certificates, proxy, connect timeout and the header `User-Agent` do not apply to the
    /// connector. [`http_client`](Self::http_client) also sends the requests for credentials and to
    /// OBS.
    pub fn connector(mut self, connector: impl HttpConnector) -> Self {
        self.calls.connector = Some(Arc::new(connector));
        self
    }

    /// Sets the HTTP client for all requests: to the service, for credentials, and to OBS. The
    /// settings for certificates, proxy, connect timeout and the header `User-Agent` do not apply.
    ///
    /// The client must not follow redirects, because that would forward the credentials, must not
    /// retry, because that would send a creation twice, and must not decompress bodies, because OBS
    /// returns files as they are stored. Its connections are those of the runtime that opened them,
    /// so use another client for the module `blocking`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, _| {
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// let http = reqwest::Client::builder()
    ///     .redirect(reqwest::redirect::Policy::none())
    ///     .pool_max_idle_per_host(64)
    ///     .build()?;
    /// let client = ClientBuilder::from_vars(emulator.vars()).http_client(http).build()?;
    /// client.training_jobs().list().collect(10).await?;
    /// # Ok(()) }) }
    /// ```
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http.given = Some(http);
        self
    }

    /// Sets the proxy for all requests, such as `http://proxy.example.com:3128`, instead of
    /// `HTTPS_PROXY`. `NO_PROXY` still applies. Requests to loopback addresses use no proxy. The
    /// URL may contain a user and a password.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.http.proxy = Some(ProxyUrl(url.into()));
        self
    }

    /// Limits the requests to the service, including retries, in requests per second, above 0. All
    /// calls of the client and its clones share the limit, in the order of their arrival. By
    /// default, there is no limit. A [wait](crate::jobs::wait::WaitAll::rate_limit) keeps this limit
    /// beside its own, which then holds on average. Requests for credentials and to OBS are not
    /// limited.
    ///
    /// [`timeout`](Self::timeout) excludes the time for which a call waits for the limit, and
    /// [`overall_timeout`](Self::overall_timeout) includes it.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::ClientBuilder;
    ///
    /// // Five programs with this limit send at most ten requests per second together.
    /// let client = ClientBuilder::from_env().rate_limit(2.0).build()?;
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    pub fn rate_limit(mut self, requests_per_second: f64) -> Self {
        self.calls.calls_per_second = Some(requests_per_second);
        self
    }

    /// Sets a function that receives each attempt of a request when the attempt has ended: to the
    /// service, for credentials, and to OBS. The function must not block. An attempt that is
    /// dropped, such as by a time limit of the program, does not end, and is not received.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, _| {
    /// use std::sync::{Arc, Mutex};
    ///
    /// let attempts = Arc::new(Mutex::new(Vec::new()));
    /// let log = Arc::clone(&attempts);
    /// let client = ClientBuilder::from_vars(emulator.vars())
    ///     .on_attempt(move |attempt| {
    ///         let line = format!("{} {:?}", attempt.operation, attempt.result);
    ///         log.lock().expect("no thread panics").push(line);
    ///     })
    ///     .build()?;
    /// client.training_jobs().list().collect(10).await?;
    /// assert_eq!(*attempts.lock().expect("no thread panics"), ["ListTrainingJobs Ok(200)"]);
    /// # Ok(()) }) }
    /// ```
    pub fn on_attempt(mut self, observe: impl Fn(&Attempt<'_>) + Send + Sync + 'static) -> Self {
        self.calls.observer = Observer::new(observe);
        self
    }

    /// Sets the retry policy.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use std::time::Duration;
    /// use modelarts_ext::{ClientBuilder, RetryPolicy};
    ///
    /// // For a user who waits for the answer: one retry, and none after five seconds.
    /// let policy = RetryPolicy::default().max_attempts(2).max_elapsed(Duration::from_secs(5));
    /// let client = ClientBuilder::from_env().retry(policy).build()?;
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.calls.retry = policy;
        self
    }

    /// Sets the time limit for opening a connection. Default: 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.http.connect_timeout = timeout;
        self
    }

    /// Sets the time limit of a call, including all attempts. Default: 2 minutes.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use std::time::Duration;
    /// use modelarts_ext::ClientBuilder;
    ///
    /// // A call with all its attempts and pauses takes at most 20 seconds.
    /// let client = ClientBuilder::from_env().timeout(Duration::from_secs(20)).build()?;
    /// # drop(client);
    /// # Ok(()) }
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.calls.timeout = timeout;
        self
    }

    /// Sets the time limit of a method with several calls, such as
    /// [`CreateJob::submit`](crate::jobs::create::CreateJob::submit). Default: 5 minutes. The
    /// decoding of a response that arrived in time is limited only by [`timeout`](Self::timeout).
    pub fn overall_timeout(mut self, timeout: Duration) -> Self {
        self.calls.overall_timeout = timeout;
        self
    }

    /// Sets the cloud whose rules apply to [checks of jobs](crate::jobs::create::CreateJob::check).
    /// Default: `MODELARTS_CLOUD` in the [environment](Self::from_env), otherwise the cloud of the
    /// endpoint, of the region or of the endpoint of IAM, otherwise Huawei Cloud. Logs a warning if
    /// the variable contradicts the endpoint.
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = Some(cloud);
        self
    }

    /// Sets the language of messages of the service. Default: the default language of the service.
    pub fn language(mut self, language: types::Language) -> Self {
        self.calls.language = Some(language);
        self
    }

    /// Sets the name of the calling program in the header `User-Agent`.
    pub fn user_agent(mut self, program: impl Into<String>) -> Self {
        self.http.program = Some(program.into());
        self
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("endpoint", &self.endpoint.as_deref().map(url::without_secrets))
            .field("region", &self.region)
            .field("project", &self.project)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}
