//! Look-ups of the project and of the user of credentials in IAM.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Request, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    credentials::{
        CredentialKind, Credentials, ProviderContext,
        auth_server::{AuthReply, AuthServer, TIMEOUT},
        authenticate::{authenticate, secret_header},
        rejection::{self, Rejection},
    },
    error::{Error, ErrorKind, mask::Mask},
    http::signing::{self, SigningScheme},
};

#[derive(Deserialize)]
struct ProjectList {
    projects: Vec<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
    #[serde(default)]
    name: String,
}

/// User of IAM that [`Client::current_user`](crate::Client::current_user) returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CurrentUser {
    /// Id of the user, for [`Filter::user_id`](crate::Filter::user_id).
    pub id: String,
    /// Name of the user. IAM returns the name only for a token, not for an access key.
    pub name: Option<String>,
}

/// Client for look-ups in IAM.
pub(crate) struct Identity<'a> {
    iam: AuthServer,
    context: &'a ProviderContext,
    credentials: &'a Credentials,
    signing: &'a SigningScheme,
}

impl<'a> Identity<'a> {
    pub(crate) fn new(
        iam: &str,
        context: &'a ProviderContext,
        credentials: &'a Credentials,
        signing: &'a SigningScheme,
    ) -> Result<Self, Error> {
        let iam = AuthServer::new("IAM", iam);
        iam.check()?;
        Ok(Self { iam, context, credentials, signing })
    }

    /// Returns the id of the project with this name, or of the only project if `name` is `None`.
    pub(crate) async fn find_project(&self, name: Option<&str>) -> Result<String, Error> {
        let iam = &self.iam;
        let (mut found, mask) = self.list_projects(name).await?;
        if let Some(name) = name {
            found.retain(|project| project.name == name);
        }
        if found.len() > 1 {
            let named = name.map_or_else(String::new, |name| format!(" named {name:?}"));
            return Err(Error::config(format!(
                "{iam} says that there are several projects{named}: {}; set the project id",
                describe(&found, &mask)
            )));
        }
        if let Some(project) = found.pop() {
            return Ok(project.id);
        }
        let none = format!("{iam} knows no project that these credentials may use");
        let Some(name) = name else {
            return Err(Error::config(none));
        };
        let (all, mask) = self.list_projects(None).await?;
        Err(Error::config(if all.is_empty() {
            format!("{none}, {name:?} neither")
        } else {
            format!(
                "{iam} knows no project named {name:?} that these credentials may use, only {}; \
                 set the project id or another project name",
                describe(&all, &mask)
            )
        }))
    }

    async fn list_projects(&self, name: Option<&str>) -> Result<(Vec<Project>, Mask), Error> {
        let request = || {
            let mut url = self.iam.url("/v3/projects")?;
            if let Some(name) = name {
                let query = [("name".to_owned(), name.to_owned())];
                url.set_query(Some(&signing::canonical_query(&query, false)));
            }
            Ok(Request::new(Method::GET, url))
        };
        let reply = self.send(request, "does not list the projects").await?;
        let list: ProjectList = serde_json::from_slice(&reply.body)
            .map_err(|_| self.iam.unexpected("that is no list of projects"))?;
        Ok((list.projects, reply.mask))
    }

    /// Returns the user of an access key or a token. For temporary keys, returns an error.
    pub(crate) async fn find_user(&self) -> Result<CurrentUser, Error> {
        let request = || match &*self.credentials.0 {
            CredentialKind::Keys(keys) => {
                // Access keys come from variables and files, and may contain any characters.
                let key = utf8_percent_encode(keys.access_key.expose(), NON_ALPHANUMERIC);
                let url = self.iam.url(&format!("/v3.0/OS-CREDENTIAL/credentials/{key}"))?;
                Ok(Request::new(Method::GET, url))
            }
            CredentialKind::Token(token) => {
                let mut url = self.iam.url("/v3/auth/tokens")?;
                url.set_query(Some("nocatalog=1"));
                let mut request = Request::new(Method::GET, url);
                let token = secret_header("token", token.expose())?;
                request.headers_mut().insert("x-subject-token", token);
                Ok(request)
            }
        };
        let keys = self.credentials.access_keys();
        if keys.is_some_and(|keys| keys.security_token.is_some()) {
            return Err(Error::new(
                ErrorKind::Credentials,
                "the credentials are temporary keys, whose user IAM does not return; it must be \
                 given by name or id",
            ));
        }
        let reply = self.send(request, "does not state the user").await?;
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let text = |pointer: &str| {
            let text = body.pointer(pointer).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let id = text("/credential/user_id").or_else(|| text("/token/user/id"));
        Ok(CurrentUser {
            id: id.ok_or_else(|| self.iam.unexpected("without the id of the user"))?,
            name: text("/token/user/name"),
        })
    }

    /// Sends a request. Any status except 200 is an error, whose message contains `refusal`.
    async fn send(
        &self,
        request: impl Fn() -> Result<Request, Error>,
        refusal: &str,
    ) -> Result<AuthReply, Error> {
        let Self { iam, context, credentials, signing } = self;
        let send = async |now| {
            let mut request = request()?;
            authenticate(&mut request, credentials, signing, None, now)?;
            iam.send(context, request, TIMEOUT, &credentials.secrets()).await
        };
        let mut reply = send(context.clock.now()).await?;
        // If IAM rejects the time, the request is sent once more with the time of the gateway.
        if let Some(Rejection::Clock { server }) = rejection::parse(reply.status, &reply.body) {
            reply = send(server).await?;
        }
        if reply.status == StatusCode::OK {
            return Ok(reply);
        }
        let error = iam.response_error(&reply, refusal);
        let rejected = reply.status == StatusCode::UNAUTHORIZED;
        let message = rejection::message(&reply.body);
        Err(error.with_advice(rejected.then(|| rejection::kind_advice(credentials, &message))))
    }
}

fn describe(projects: &[Project], mask: &Mask) -> String {
    let mut texts: Vec<_> =
        projects.iter().map(|project| format!("{} ({})", project.name, project.id)).collect();
    texts.sort();
    let text = texts.join(", ");
    mask.text(&text).unwrap_or(text)
}
