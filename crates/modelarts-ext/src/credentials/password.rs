//! Login to IAM with a user and a password.

use std::time::Duration;

use modelarts_api::{BoxFuture, Secret};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    credentials::{
        Credentials, ProviderContext,
        auth_server::{AuthServer, json_request},
        cache::{FetchCredentials, Fetched},
    },
    error::Error,
    timestamp::Timestamp,
};

const LOGIN_ADVICE: &str = "check user, password, domain (the name of the account) and project; a \
                            user with multi-factor authentication cannot log in with a password \
                            alone and needs keys";

/// Source of tokens of IAM for one project, requested with a user name and a password.
///
/// A token is valid for 24 hours. A new login renews the token half an hour before it expires.
///
/// ```
/// use modelarts_ext::{Client, credentials::{FetchCredentials, Password}};
///
/// # fn main() -> Result<(), modelarts_ext::Error> {
/// let login = Password::new("https://iam.eu-de.otc.t-systems.com", "alice", "…")
///     .domain("OTC00000000001000000001")
///     .project("eu-de");
/// let builder = Client::builder().region("eu-de").credentials(login.into_provider());
/// // builder.connect().await? takes the id of the project from the token.
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Password {
    pub(super) iam: AuthServer,
    pub(super) user: Named,
    pub(super) password: Secret,
    pub(super) domain: Option<Named>,
    pub(super) project: Option<Named>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Named {
    Id(String),
    Name(String),
}

impl Named {
    pub(super) fn choose(id: Option<String>, name: Option<String>) -> Option<Self> {
        id.map(Self::Id).or(name.map(Self::Name))
    }

    fn text(&self) -> &str {
        match self {
            Self::Id(text) | Self::Name(text) => text,
        }
    }
}

impl Password {
    /// Creates a login at an endpoint of IAM, such as `https://iam.eu-de.otc.t-systems.com`. Also
    /// set the [`domain`](Self::domain) and the [`project`](Self::project), which are required.
    pub fn new(
        iam: impl Into<String>,
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Self {
        Self {
            iam: AuthServer::new("IAM", iam),
            user: Named::Name(user.into()),
            password: Secret::new(password),
            domain: None,
            project: None,
        }
    }

    /// Sets the id of the user instead of the name. A login with an id does not require a domain.
    pub fn user_id(mut self, id: impl Into<String>) -> Self {
        self.user = Named::Id(id.into());
        self
    }

    /// Sets the name of the account of the user, such as `OTC00000000001000000001`.
    pub fn domain(mut self, name: impl Into<String>) -> Self {
        self.domain = Some(Named::Name(name.into()));
        self
    }

    /// Sets the id of the account of the user.
    pub fn domain_id(mut self, id: impl Into<String>) -> Self {
        self.domain = Some(Named::Id(id.into()));
        self
    }

    /// Sets the name of the project, such as `eu-de` or `eu-de_team`.
    pub fn project(mut self, name: impl Into<String>) -> Self {
        self.project = Some(Named::Name(name.into()));
        self
    }

    /// Sets the id of the project.
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.project = Some(Named::Id(id.into()));
        self
    }

    fn body(&self) -> Value {
        let mut user = json!(self.user);
        user["password"] = json!(self.password);
        if let Some(domain) = &self.domain {
            user["domain"] = json!(domain);
        }
        json!({"auth": {
            "identity": { "methods": ["password"], "password": { "user": user } },
            "scope": { "project": self.project },
        }})
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Token,
}

#[derive(Deserialize)]
struct Token {
    expires_at: Option<String>,
    issued_at: Option<String>,
    project: Option<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

impl FetchCredentials for Password {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            self.check()?;
            let iam = &self.iam;
            let mut url = iam.url("/v3/auth/tokens")?;
            // Without the service catalog, the response is some hundred kilobytes shorter.
            url.set_query(Some("nocatalog=true"));
            let sent_at = context.clock.now();
            let failure = format!("gives the user {:?} no token", self.user.text());
            let request = json_request(url, &self.body());
            let reply = iam
                .post(context, request, Some(self.password.expose()), &failure)
                .await
                .map_err(|error| error.with_login_advice(LOGIN_ADVICE))?;
            let token = reply.headers.get("x-subject-token");
            let Some(token) = token.and_then(|token| token.to_str().ok()) else {
                return Err(iam.unexpected("without a token in X-Subject-Token"));
            };
            let mut fetched = Fetched::new(Credentials::token(token));
            let TokenResponse { token } = serde_json::from_slice(&reply.body)
                .map_err(|_| iam.unexpected("that does not describe the token"))?;
            let time = |text: Option<String>| Timestamp::parse(&text?);
            fetched = match (time(token.expires_at), time(token.issued_at)) {
                // This time is correct even if the clock of this machine is wrong.
                (Some(end), Some(start)) if end > start => {
                    let life = end.duration_since(start);
                    fetched.expires_at(sent_at.checked_add(life).unwrap_or(sent_at))
                }
                (Some(end), _) => fetched.expires_at(end),
                (None, _) => fetched,
            };
            Ok(match token.project {
                Some(project) => fetched.project_id(project.id),
                None => fetched,
            })
        })
    }

    fn advice(&self) -> Option<String> {
        Some(format!(
            "the token was issued by {} for the user {:?}; check that the endpoint belongs to the \
             same region, and the project of the client to the token",
            self.iam,
            self.user.text()
        ))
    }

    fn margin(&self) -> Duration {
        Duration::from_secs(30 * 60)
    }

    fn check(&self) -> Result<(), Error> {
        self.iam.check()?;
        if self.user.text().trim().is_empty() {
            return Err(Error::config("the user of IAM is empty"));
        }
        if self.password.expose().is_empty() {
            return Err(Error::config("the password is empty"));
        }
        if self.domain.is_none() && matches!(self.user, Named::Name(_)) {
            return Err(Error::config(format!(
                "the domain of the user {:?} is missing; it is the name of the account, such as \
                 OTC00000000001000000001",
                self.user.text()
            )));
        }
        if self.project.is_none() {
            return Err(Error::config(
                "a token must be for a project, as ModelArts takes no other; set the project or \
                 the region",
            ));
        }
        Ok(())
    }
}
