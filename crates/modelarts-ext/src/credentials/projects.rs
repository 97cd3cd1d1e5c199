//! Look-up of projects in IAM.

use reqwest::{Method, Request, StatusCode};
use serde::Deserialize;

use crate::{
    credentials::{
        Credentials, ProviderContext,
        auth_server::{AuthServer, TIMEOUT},
        authenticate::authenticate,
        rejection::{self, Rejection},
    },
    error::{Error, mask::Mask},
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

/// Returns the masked names and ids of projects, for messages.
fn describe(projects: &[Project], mask: &Mask) -> String {
    let mut texts: Vec<_> = projects
        .iter()
        .map(|project| format!("{} ({})", project.name, project.id))
        .collect();
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
    let send = async |now| {
        let mut url = iam.url("/v3/projects")?;
        if let Some(name) = name {
            let query = [("name".to_owned(), name.to_owned())];
            url.set_query(Some(&signing::canonical_query(&query, false)));
        }
        let mut request = Request::new(Method::GET, url);
        authenticate(&mut request, credentials, signing, None, now)?;
        iam.send(context, request, TIMEOUT, &credentials.secrets())
            .await
    };
    let mut reply = send(context.clock.now()).await?;
    // As in calls, a rejected time is corrected once to that of the gateway.
    if let Some(Rejection::Clock { server }) = rejection::parse(reply.status, &reply.body) {
        reply = send(server).await?;
    }
    if reply.status != StatusCode::OK {
        let error = iam.response_error(&reply, "does not list the projects");
        let rejected = reply.status == StatusCode::UNAUTHORIZED;
        let message = rejection::message(&reply.body);
        let advice = rejected.then(|| rejection::kind_advice(credentials, &message));
        return Err(error.with_advice(advice));
    }
    let list: ProjectList = serde_json::from_slice(&reply.body)
        .map_err(|_| iam.unexpected("that is no list of projects"))?;
    Ok((list.projects, reply.mask))
}
