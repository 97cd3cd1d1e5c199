//! STS: temporary keys for the identity token of another provider (`OpenID Connect`).

use std::{fmt, path::PathBuf, time::Duration};

use modelarts_api::{BoxFuture, Secret};
use serde_json::json;

use crate::{
    config::files,
    credentials::{
        ProviderContext,
        auth_server::{AuthServer, displayable_address},
        cache::{FetchCredentials, Fetched},
    },
    error::{Error, ErrorKind},
};

/// The default name of a session, as in the official SDK.
const SESSION_NAME: &str = "oidc-sts-session";
/// The default lifetime of keys, as in the official SDK.
const DURATION: Duration = Duration::from_secs(3600);

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
#[derive(Clone)]
#[must_use]
pub struct Oidc {
    sts: String,
    provider: String,
    agency: String,
    token: Token,
    session: String,
    duration: Duration,
    policy: Option<String>,
    policy_ids: Vec<String>,
}

#[derive(Clone)]
enum Token {
    Text(Secret),
    /// The file is read at each renewal, because its owner replaces the token before it expires.
    File(PathBuf),
}

impl Oidc {
    /// Uses an identity token in a file, which is read at each renewal. `sts` is the address of
    /// STS; `provider` and `agency` are URNs of IAM.
    pub fn from_file(
        sts: impl Into<String>,
        provider: impl Into<String>,
        agency: impl Into<String>,
        file: impl Into<PathBuf>,
    ) -> Self {
        Self::with_token(sts, provider, agency, Token::File(file.into()))
    }

    /// Uses an identity token as text. The keys cannot be renewed after it has expired.
    pub fn from_token(
        sts: impl Into<String>,
        provider: impl Into<String>,
        agency: impl Into<String>,
        token: impl Into<String>,
    ) -> Self {
        Self::with_token(sts, provider, agency, Token::Text(Secret::new(token)))
    }

    fn with_token(
        sts: impl Into<String>,
        provider: impl Into<String>,
        agency: impl Into<String>,
        token: Token,
    ) -> Self {
        Self {
            sts: sts.into(),
            provider: provider.into(),
            agency: agency.into(),
            token,
            session: SESSION_NAME.to_owned(),
            duration: DURATION,
            policy: None,
            policy_ids: Vec::new(),
        }
    }

    /// Sets the name of the session in the logs of the cloud. Default `oidc-sts-session`.
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.session = name.into();
        self
    }

    /// Sets the lifetime of the keys, in whole seconds. Default one hour.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// Sets a policy that restricts the permissions of the keys.
    pub fn policy(mut self, policy: impl Into<String>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// Sets the ids of policies that restrict the permissions of the keys.
    pub fn policy_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.policy_ids = ids.into_iter().map(Into::into).collect();
        self
    }

    fn token(&self) -> Result<String, Error> {
        let failed = |message: String| Error::new(ErrorKind::Credentials, message);
        let (text, place) = match &self.token {
            Token::Text(text) => (
                text.expose().to_owned(),
                "the OIDC identity token".to_owned(),
            ),
            Token::File(path) => {
                let place = format!("the OIDC identity token file {}", path.display());
                let text = files::read_text(path)
                    .map_err(|error| failed(format!("the OIDC identity token file {error}")))?
                    .ok_or_else(|| failed(format!("{place} does not exist")))?;
                (text, place)
            }
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(failed(format!("{place} is empty")));
        }
        Ok(text.to_owned())
    }
}

impl FetchCredentials for Oidc {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            let sts = AuthServer::new("STS", &self.sts)?;
            let token = self.token()?;
            let mut body = json!({
                "provider_urn": self.provider,
                "agency_urn": self.agency,
                "agency_session_name": self.session,
                "id_token": token,
                "duration_seconds": self.duration.as_secs(),
            });
            if let Some(policy) = &self.policy {
                body["policy"] = policy.as_str().into();
            }
            if !self.policy_ids.is_empty() {
                body["policy_ids"] = self.policy_ids.clone().into();
            }
            let url = sts.url("/v5/agencies/assume-with-oidc");
            let reply = sts.post(context, url, &body, &token).await?;
            if !matches!(reply.status.as_u16(), 200 | 201) {
                let what = format!("gives no keys for the agency {}", self.agency);
                return Err(sts.response_error(&reply, &what));
            }
            let (credentials, end) = sts.keys(&reply)?;
            Ok(Fetched::new(credentials).expires_at(end.into()))
        })
    }

    fn check(&self) -> Result<(), Error> {
        AuthServer::new("STS", &self.sts)?;
        for (name, value) in [("provider", &self.provider), ("agency", &self.agency)] {
            if value.trim().is_empty() {
                return Err(Error::config(format!("the OIDC {name} URN is empty")));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match &self.token {
            Token::Text(_) => None,
            Token::File(path) => Some(path),
        };
        f.debug_struct("Oidc")
            .field("sts", &displayable_address(&self.sts))
            .field("provider", &self.provider)
            .field("agency", &self.agency)
            .field("token_file", &file)
            .finish_non_exhaustive()
    }
}
