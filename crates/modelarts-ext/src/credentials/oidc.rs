//! Temporary keys of STS, issued for the identity token of another provider (`OpenID Connect`).

use std::{path::PathBuf, time::Duration};

use modelarts_api::{BoxFuture, Secret};
use serde::Serialize;
use serde_json::json;

use crate::{
    config::environment::read_text,
    credentials::{
        ProviderContext,
        auth_server::{AuthServer, json_request},
        cache::{FetchCredentials, Fetched},
    },
    error::{Error, ErrorKind},
};

const SESSION_NAME: &str = "oidc-sts-session";
const DURATION_SECONDS: u64 = 3600;

const LOGIN_ADVICE: &str = "check the URNs of provider and agency, that the trust policy of the \
                            agency admits the identity token, and that the token has not expired";

/// Exchanges an identity token (`OpenID Connect`), such as that of a pod or of a CI job, for
/// temporary keys of STS. They are renewed five minutes before they expire.
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
    /// Read at each renewal, because its owner replaces the token before it expires.
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
    /// the address of STS; `provider` and `agency` are URNs of IAM.
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

    /// Creates a source for a token as text, after whose end the keys cannot be renewed.
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

    /// Sets the name of the session in the logs of the cloud. Default `oidc-sts-session`.
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.request.agency_session_name = name.into();
        self
    }

    /// Sets the lifetime of the keys, in whole seconds. Default one hour.
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
