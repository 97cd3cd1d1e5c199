//! Temporary keys: from IAM for a token, and from STS for an identity token (`OpenID Connect`).

use std::{path::PathBuf, sync::Arc, time::Duration};

use modelarts_api::{BoxFuture, Secret};
use serde::Serialize;
use serde_json::json;

use crate::{
    config::environment::read_text,
    credentials::{
        Credentials, ProvideCredentials, ProviderContext,
        auth_server::{AuthServer, json_request},
        authenticate::authenticate,
        cache::{FetchCredentials, Fetched},
    },
    error::{Error, ErrorKind},
    http::signing::SigningScheme,
};

/// Default lifetime of keys, which are renewed before they expire, for example during an upload.
const DURATION: Duration = Duration::from_secs(60 * 60);
const DURATION_RANGE: std::ops::RangeInclusive<u64> = 15 * 60..=24 * 60 * 60;

const TOKEN_ADVICE: &str = "check that the token has not expired, and that it was issued by this \
                            IAM for a user who may have access keys";

/// Source of temporary keys from IAM, for the token of a provider ([`Password`](super::Password)).
///
/// The keys sign requests to services that do not accept tokens, such as OBS. They have the
/// permissions of the token, and are renewed before they expire.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
/// # #[tokio::main]
/// # async fn main() -> Result {
/// # let emulator = Emulator::builder().token("my-token").start().await?;
/// # let iam = emulator.url();
/// use modelarts_ext::{
///     Credentials,
///     clock::SystemClock,
///     credentials::{FetchCredentials, ProvideCredentials, ProviderContext, TemporaryKeys},
/// };
///
/// let provider = TemporaryKeys::new(iam, Credentials::token("my-token")).into_provider();
/// let context = ProviderContext::new(SystemClock)?;
/// let credentials = provider.credentials(&context).await?;
/// assert!(credentials.access_keys().is_some_and(|keys| keys.security_token.is_some()));
/// # emulator.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct TemporaryKeys {
    iam: AuthServer,
    token: Arc<dyn ProvideCredentials>,
    duration: Duration,
}

impl TemporaryKeys {
    /// Creates a source of keys for the token of a provider. `iam` is the endpoint of IAM, such as
    /// `https://iam.eu-de.otc.t-systems.com`. Only loopback addresses may have the scheme `http`.
    pub fn new(iam: impl Into<String>, token: impl ProvideCredentials) -> Self {
        Self { iam: AuthServer::new("IAM", iam), token: Arc::new(token), duration: DURATION }
    }

    /// Sets the lifetime of the keys: 15 minutes to 24 hours, in whole seconds. Default: one hour.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    async fn exchange(
        &self,
        context: &ProviderContext,
        token: &Credentials,
    ) -> Result<Fetched, Error> {
        if token.access_keys().is_some() {
            return Err(Error::new(
                ErrorKind::Credentials,
                "temporary keys are issued for a token, and the provider returned keys",
            )
            .with_advice("use the keys of the provider directly".to_owned()));
        }
        let url = self.iam.url("/v3.0/OS-CREDENTIAL/securitytokens")?;
        let body = json!({"auth": {"identity": {
            "methods": ["token"],
            "token": {"duration_seconds": self.duration.as_secs()},
        }}});
        let mut request = json_request(url, &body);
        let scheme = SigningScheme::default();
        authenticate(&mut request, token, &scheme, None, context.clock.now())?;
        let failure = "gives no temporary keys for the token";
        let reply = self.iam.post(context, request, None, failure).await;
        let reply = reply.map_err(|error| error.with_login_advice(TOKEN_ADVICE))?;
        self.iam.keys(&reply)
    }
}

impl FetchCredentials for TemporaryKeys {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            self.check()?;
            let token = self.token.credentials(context).await?;
            match self.exchange(context, &token).await {
                // The token may be revoked, or the clock of this machine may be wrong.
                Err(error) if error.status() == Some(401) && self.token.renew(&token) => {
                    let token = self.token.credentials(context).await?;
                    self.exchange(context, &token).await
                }
                result => result,
            }
        })
    }

    fn advice(&self) -> Option<String> {
        Some(format!(
            "the temporary keys were issued by {} for a token; check that the endpoint belongs to \
             the same cloud, and the clock",
            self.iam
        ))
    }

    fn check(&self) -> Result<(), Error> {
        self.iam.check()?;
        self.token.check()?;
        if !DURATION_RANGE.contains(&self.duration.as_secs()) {
            return Err(Error::config(format!(
                "the duration of temporary keys is {:?}; it must be 15 minutes to 24 hours",
                self.duration
            )));
        }
        Ok(())
    }
}

const SESSION_NAME: &str = "oidc-sts-session";
const DURATION_SECONDS: u64 = 3600;

const LOGIN_ADVICE: &str = "check the URNs of provider and agency, that the trust policy of the \
                            agency admits the identity token, and that the token has not expired";

/// Source of temporary keys from STS for an identity token (`OpenID Connect`), for example of a
/// pod or a CI job. The keys are renewed before they expire.
///
/// ```
/// use modelarts_ext::{Client, credentials::{FetchCredentials, Oidc}};
///
/// let keys = Oidc::from_file(
///     "https://sts.cn-north-4.myhuaweicloud.com",
///     "iam::0123456789abcdef:oidcProvider:ci",
///     "iam::0123456789abcdef:agency:training",
///     "/var/run/secrets/tokens/oidc-token",
/// );
/// let builder = Client::builder().region("cn-north-4").credentials(keys.into_provider());
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Oidc {
    sts: AuthServer,
    token: Token,
    request: KeyRequest,
}

#[derive(Clone, Debug)]
enum Token {
    Text(Secret),
    /// File that is read at each renewal, because its owner replaces the token before it expires.
    File(PathBuf),
}

#[derive(Clone, Debug, Serialize)]
struct KeyRequest {
    provider_urn: String,
    agency_urn: String,
    agency_session_name: String,
    duration_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_ids: Vec<String>,
}

impl Oidc {
    /// Creates a source for the identity token in a file, which is read at each renewal. `sts` is
    /// the endpoint of STS. `provider` and `agency` are URNs of IAM.
    pub fn from_file(
        sts: impl Into<String>,
        provider: impl Into<String>,
        agency: impl Into<String>,
        file: impl Into<PathBuf>,
    ) -> Self {
        let mut keys = Self::from_token(sts, provider, agency, "");
        keys.token = Token::File(file.into());
        keys
    }

    /// Creates a source for an identity token. After the token expires, keys cannot be renewed.
    pub fn from_token(
        sts: impl Into<String>,
        provider: impl Into<String>,
        agency: impl Into<String>,
        token: impl Into<String>,
    ) -> Self {
        Self {
            sts: AuthServer::new("STS", sts),
            token: Token::Text(Secret::new(token)),
            request: KeyRequest {
                provider_urn: provider.into(),
                agency_urn: agency.into(),
                agency_session_name: SESSION_NAME.to_owned(),
                duration_seconds: DURATION_SECONDS,
                policy: None,
                policy_ids: Vec::new(),
            },
        }
    }

    /// Sets the session name that the logs of the cloud contain. Default: `oidc-sts-session`.
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.request.agency_session_name = name.into();
        self
    }

    /// Sets the lifetime of the keys, in whole seconds. Default: one hour.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.request.duration_seconds = duration.as_secs();
        self
    }

    /// Sets a policy that restricts the permissions of the keys.
    pub fn policy(mut self, policy: impl Into<String>) -> Self {
        self.request.policy = Some(policy.into());
        self
    }

    /// Sets the ids of policies that restrict the permissions of the keys.
    pub fn policy_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.request.policy_ids = ids.into_iter().map(Into::into).collect();
        self
    }

    fn token(&self) -> Result<String, Error> {
        let failed = |problem: &str| {
            let message = format!("the OIDC identity token {problem}");
            Error::new(ErrorKind::Credentials, message)
        };
        let (text, file) = match &self.token {
            Token::Text(text) => (text.expose().to_owned(), String::new()),
            Token::File(path) => {
                let file = format!("file {} ", path.display());
                let text = read_text(path)
                    .map_err(|error| failed(&format!("file {error}")))?
                    .ok_or_else(|| failed(&format!("{file}does not exist")))?;
                (text, file)
            }
        };
        match text.trim() {
            "" => Err(failed(&format!("{file}is empty"))),
            text => Ok(text.to_owned()),
        }
    }
}

impl FetchCredentials for Oidc {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            self.check()?;
            let url = self.sts.url("/v5/agencies/assume-with-oidc")?;
            let token = self.token()?;
            let mut body = json!(self.request);
            body["id_token"] = token.as_str().into();
            let failure = format!("gives no keys for the agency {}", self.request.agency_urn);
            let reply = self.sts.post(context, json_request(url, &body), Some(&token), &failure);
            let reply = reply.await.map_err(|error| error.with_login_advice(LOGIN_ADVICE))?;
            self.sts.keys(&reply)
        })
    }

    fn advice(&self) -> Option<String> {
        Some(format!(
            "the temporary keys were issued by {} for the agency {}; check that the agency belongs \
             to the account of the project, and the clock",
            self.sts, self.request.agency_urn
        ))
    }

    fn check(&self) -> Result<(), Error> {
        self.sts.check()?;
        let urns = [&self.request.provider_urn, &self.request.agency_urn];
        for (name, urn) in ["provider", "agency"].iter().zip(urns) {
            if urn.trim().is_empty() {
                return Err(Error::config(format!("the OIDC {name} URN is empty")));
            }
        }
        Ok(())
    }
}
