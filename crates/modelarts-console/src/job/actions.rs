//! Actions on a job: stop, deletion, change of the description.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State as Shared},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};

use modelarts_ext::types::{CreateTrainJobTagsRequest, DeleteTrainJobTagsRequest};
use serde_json::json;

use crate::{
    action::Action,
    display,
    facts::MAX_TAGS,
    page::{Layout, Page, Section},
    problem::Problem,
    site::{State, UserRequest},
};

/// Confirmation page of an action, which is shown if JavaScript is disabled.
#[derive(Template)]
#[template(path = "job/confirm.html")]
struct ConfirmPage {
    layout: Layout,
    id: String,
    name: String,
    action: Action,
}

pub(crate) fn routes() -> Router<State> {
    let confirm_stop = |id, request| confirm(id, request, Action::Stop);
    let confirm_delete = |id, request| confirm(id, request, Action::Delete);
    Router::new()
        .route("/jobs/{id}/stop", get(confirm_stop).post(stop))
        .route("/jobs/{id}/delete", get(confirm_delete).post(delete))
        .route("/jobs/{id}/description", post(describe))
        .route("/jobs/{id}/priority", post(prioritize))
        .route("/jobs/{id}/tags", post(tag))
}

async fn confirm(
    Path(id): Path<String>,
    UserRequest { state, visitor, .. }: UserRequest,
    action: Action,
) -> Result<Page<ConfirmPage>, Problem> {
    state.check_writable()?;
    let job = state.job(&id).await?;
    let name = display::name(&job).to_owned();
    let title = format!("{} {name}", action.verb());
    Ok(Page(ConfirmPage {
        layout: Layout::new(&state, &visitor, Section::Jobs, &title),
        id: job.id().to_owned(),
        name,
        action,
    }))
}

async fn stop(Shared(state): Shared<State>, Path(id): Path<String>) -> Result<Redirect, Problem> {
    let job = state.job(&id).await?;
    job.terminate().await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id())))
}

async fn prioritize(Path(id): Path<String>, request: UserRequest) -> Result<Redirect, Problem> {
    let UserRequest { state, fields, .. } = request;
    let given = fields.get("priority").unwrap_or_default();
    let priority = given.parse().map_err(|_| Problem::invalid("priority must be 1, 2 or 3"))?;
    let job = state.handle(&id)?;
    job.set_priority(priority).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id())))
}

/// Makes the tags of a job those of the field `tags`, as `KEY=VALUE, KEY=VALUE`.
async fn tag(Path(id): Path<String>, request: UserRequest) -> Result<Redirect, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = state.handle(&id)?;
    let given = fields.get("tags").unwrap_or_default().split(',').map(str::trim);
    let given = given.filter(|tag| !tag.is_empty()).map(|tag| {
        let (key, value) = tag.split_once('=').unwrap_or((tag, ""));
        (key.trim().to_owned(), value.trim().to_owned())
    });
    let wanted: BTreeMap<String, String> = given.collect();
    let known = job.tags().collect(MAX_TAGS).await?.into_iter();
    let known = known.filter_map(|tag| Some((tag.key?, tag.value.unwrap_or_default())));
    let known: BTreeMap<String, String> = known.collect();
    let body = |tags: Vec<(&String, &String)>| {
        let tags = tags.into_iter().map(|(key, value)| json!({ "key": key, "value": value }));
        json!({ "tags": tags.collect::<Vec<_>>() })
    };
    let internal = |error| Problem::invalid(format!("the tags cannot be sent: {error}"));
    let (client, project) = (&state.client, state.client.project_id());
    let removed: Vec<_> = known.iter().filter(|(key, _)| !wanted.contains_key(*key)).collect();
    if !removed.is_empty() {
        let body: DeleteTrainJobTagsRequest =
            serde_json::from_value(body(removed)).map_err(internal)?;
        let delete = client.call(|api| {
            let call = api.delete_train_job_tags().project_id(project);
            call.training_job_id(job.id()).body(body).send()
        });
        delete.await?;
    }
    let added: Vec<_> =
        wanted.iter().filter(|(key, value)| known.get(*key) != Some(value)).collect();
    if !added.is_empty() {
        let body: CreateTrainJobTagsRequest =
            serde_json::from_value(body(added)).map_err(internal)?;
        let create = client.call(|api| {
            let call = api.create_train_job_tags().project_id(project);
            call.training_job_id(job.id()).body(body).send()
        });
        create.await?;
    }
    state.cached.facts.forget_tags(&job);
    Ok(Redirect::to(&format!("/jobs/{}", job.id())))
}

async fn delete(Shared(state): Shared<State>, Path(id): Path<String>) -> Result<Redirect, Problem> {
    let job = state.job(&id).await?;
    job.delete().await?;
    Ok(Redirect::to("/jobs"))
}

/// Page after another user has changed the description in the meantime.
#[derive(Template)]
#[template(path = "job/description.html")]
struct DescriptionPage {
    layout: Layout,
    id: String,
    /// Description that the service has.
    current: String,
    /// Text of this user.
    text: String,
}

async fn describe(Path(id): Path<String>, request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = state.job(&id).await?;
    // Browsers submit a line break as CRLF.
    let field =
        |name| fields.all(name).next().map(|text| text.replace("\r\n", "\n").trim().to_owned());
    let text = field("description").unwrap_or_default();
    let metadata = job.details().metadata.as_deref();
    let current = metadata.and_then(|metadata| metadata.description.clone()).unwrap_or_default();
    if field("before").is_some_and(|before| before != current.trim()) && text != current {
        let layout = Layout::new(&state, &visitor, Section::Jobs, "Description");
        let page = DescriptionPage { layout, id: job.id().to_owned(), current, text };
        return Ok((StatusCode::CONFLICT, Page(page)).into_response());
    }
    job.set_description(&text).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id())).into_response())
}
