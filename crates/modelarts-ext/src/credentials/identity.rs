//! Look-up of projects and of the user in IAM.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Request, StatusCode};
use serde::Deserialize;
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

/// Looks up the id of a project in IAM: that of the project with this name, or of the only project.
pub(crate) async fn find_project(
    iam: &str,
    context: &ProviderContext,
    credentials: &Credentials,
    signing: &SigningScheme,
    name: Option<&str>,
) -> Result<String, Error> {
    let iam = &AuthServer::new("IAM", iam);
    iam.check()?;
    let list = async |name| list_projects(iam, context, credentials, signing, name).await;
    let (mut found, mask) = list(name).await?;
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
    let (all, mask) = list(None).await?;
    Err(Error::config(if all.is_empty() {
        format!("{none}, {name:?} neither")
    } else {
        format!(
            "{iam} knows no project named {name:?} that these credentials may use, only {}; set \
             the project id or another project name",
            describe(&all, &mask)
        )
    }))
}

fn describe(projects: &[Project], mask: &Mask) -> String {
    let mut texts: Vec<_> =
        projects.iter().map(|project| format!("{} ({})", project.name, project.id)).collect();
    texts.sort();
    let text = texts.join(", ");
    mask.text(&text).unwrap_or(text)
}

async fn list_projects(
    iam: &AuthServer,
    context: &ProviderContext,
    credentials: &Credentials,
    signing: &SigningScheme,
    name: Option<&str>,
) -> Result<(Vec<Project>, Mask), Error> {
    let request = || {
        let mut url = iam.url("/v3/projects")?;
        if let Some(name) = name {
            let query = [("name".to_owned(), name.to_owned())];
            url.set_query(Some(&signing::canonical_query(&query, false)));
        }
        Ok(Request::new(Method::GET, url))
    };
    let reply = send(iam, context, credentials, signing, request).await?;
    if reply.status != StatusCode::OK {
        return Err(refusal(iam, credentials, &reply, "does not list the projects"));
    }
    let list: ProjectList = serde_json::from_slice(&reply.body)
        .map_err(|_| iam.unexpected("that is no list of projects"))?;
    Ok((list.projects, reply.mask))
}

pub(crate) struct User {
    pub(crate) id: String,
    /// The name, which IAM returns only for a token.
    pub(crate) name: Option<String>,
}

/// Looks up the user of an access key or of a token. IAM has no such operation for temporary keys.
pub(crate) async fn find_user(
    iam: &str,
    context: &ProviderContext,
    credentials: &Credentials,
    signing: &SigningScheme,
) -> Result<User, Error> {
    let iam = &AuthServer::new("IAM", iam);
    iam.check()?;
    let request = || match &*credentials.0 {
        CredentialKind::Keys(keys) => {
            // Keys come from variables and files, and may contain any characters.
            let key = utf8_percent_encode(keys.access_key.expose(), NON_ALPHANUMERIC);
            let url = iam.url(&format!("/v3.0/OS-CREDENTIAL/credentials/{key}"))?;
            Ok(Request::new(Method::GET, url))
        }
        CredentialKind::Token(token) => {
            let mut url = iam.url("/v3/auth/tokens")?;
            url.set_query(Some("nocatalog=1"));
            let mut request = Request::new(Method::GET, url);
            let token = secret_header("token", token.expose())?;
            request.headers_mut().insert("x-subject-token", token);
            Ok(request)
        }
    };
    let is_temporary = matches!(
        &*credentials.0,
        CredentialKind::Keys(keys) if keys.security_token.is_some()
    );
    if is_temporary {
        return Err(Error::new(
            ErrorKind::Credentials,
            "the credentials are temporary keys, whose user IAM does not return; it must be given \
             by name or id",
        ));
    }
    let reply = send(iam, context, credentials, signing, request).await?;
    if reply.status != StatusCode::OK {
        return Err(refusal(iam, credentials, &reply, "does not state the user"));
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let text = |pointer: &str| {
        let text = body.pointer(pointer).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let id = text("/credential/user_id").or_else(|| text("/token/user/id"));
    Ok(User {
        id: id.ok_or_else(|| iam.unexpected("without the id of the user"))?,
        name: text("/token/user/name"),
    })
}

async fn send(
    iam: &AuthServer,
    context: &ProviderContext,
    credentials: &Credentials,
    signing: &SigningScheme,
    request: impl Fn() -> Result<Request, Error>,
) -> Result<AuthReply, Error> {
    let send = async |now| {
        let mut request = request()?;
        authenticate(&mut request, credentials, signing, None, now)?;
        iam.send(context, request, TIMEOUT, &credentials.secrets()).await
    };
    let reply = send(context.clock.now()).await?;
    // As in calls, a rejected time is corrected once to that of the gateway.
    match rejection::parse(reply.status, &reply.body) {
        Some(Rejection::Clock { server }) => send(server).await,
        _ => Ok(reply),
    }
}

fn refusal(iam: &AuthServer, credentials: &Credentials, reply: &AuthReply, what: &str) -> Error {
    let error = iam.response_error(reply, what);
    let rejected = reply.status == StatusCode::UNAUTHORIZED;
    let message = rejection::message(&reply.body);
    let advice = rejected.then(|| rejection::kind_advice(credentials, &message));
    error.with_advice(advice)
}
