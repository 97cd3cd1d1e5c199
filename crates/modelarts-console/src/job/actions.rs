//! Changes of a job: stop, deletion, description, priority, tags; and its algorithm.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State as Shared},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use modelarts_ext::{
    masking::mask,
    types::{AlgorithmRequest, CreateTrainJobTagsRequest, DeleteTrainJobTagsRequest},
};
use serde_json::{Value, json};

use crate::{
    action::Action,
    display,
    page::{Layout, Page, Section},
    problem::Problem,
    site::{State, UserRequest},
};

/// Maximum number of tags in a request.
const TAGS_PER_REQUEST: usize = 10;

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
        .route("/jobs/{id}/algorithm", post(save_algorithm))
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

/// Creates an algorithm with the code, the engine, the parameters and the channels of a job.
async fn save_algorithm(Path(id): Path<String>, request: UserRequest) -> Result<Redirect, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = state.job(&id).await?;
    let mut body = job.copy_as(job.name()).await?.body();
    let algorithm = body["algorithm"].take();
    let list = |name: &str| algorithm[name].as_array().cloned().unwrap_or_default().into_iter();
    // A stored secret would reach each user of the algorithm.
    let parameters = list("parameters").filter(|one| mask(&mut one.clone()) == 0).map(|one| {
        json!({ "name": one["name"], "value": one["value"],
                "constraint": { "type": "String", "editable": true, "required": false } })
    });
    let channel =
        |one: Value| json!({ "name": one["name"], "access_method": one["access_method"] });
    let mut config = json!({
        "parameters": parameters.collect::<Vec<_>>(),
        "parameters_customization": true,
        "inputs": list("inputs").map(channel).collect::<Vec<_>>(),
        "outputs": list("outputs").map(channel).collect::<Vec<_>>(),
    });
    for name in ["code_dir", "boot_file", "command", "engine"] {
        config[name] = algorithm[name].clone();
    }
    let mut algorithm = json!({
        "metadata": { "name": fields.get("name").unwrap_or_default() },
        "job_config": config,
        "resource_requirements": [],
    });
    remove_nulls(&mut algorithm);
    let invalid = |error| Problem::invalid(format!("the algorithm cannot be sent: {error}"));
    let body: AlgorithmRequest = serde_json::from_value(algorithm).map_err(invalid)?;
    let (client, project) = (&state.client, state.client.project_id());
    let create = client.call(|api| api.create_algorithm().project_id(project).body(body).send());
    let created = create.await?;
    let id = created.metadata.as_deref().and_then(|metadata| metadata.id.clone());
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query =
        query.append_pair("mode", "stored").append_pair("algorithm", &id.unwrap_or_default());
    Ok(Redirect::to(&format!("/create?{}", query.finish())))
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// Parses tags as `KEY=VALUE, KEY=VALUE`.
fn parse_tags(text: &str) -> BTreeMap<&str, &str> {
    let tags = text.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    let tags = tags.map(|tag| tag.split_once('=').unwrap_or((tag, "")));
    tags.map(|(key, value)| (key.trim(), value.trim())).collect()
}

/// Makes the tags of a job those of the field `tags`. Tags that are not in the field `before`, which
/// the user saw, stay.
async fn tag(Path(id): Path<String>, request: UserRequest) -> Result<Redirect, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = state.handle(&id)?;
    let wanted = parse_tags(fields.get("tags").unwrap_or_default());
    let before = parse_tags(fields.get("before").unwrap_or_default());
    let body = |tags: &[(&&str, &&str)]| {
        let tags = tags.iter().map(|(key, value)| json!({ "key": key, "value": value }));
        json!({ "tags": tags.collect::<Vec<_>>() })
    };
    let invalid = |error| Problem::invalid(format!("the tags cannot be sent: {error}"));
    let (client, project) = (&state.client, state.client.project_id());
    // New tags are sent first: if one is refused, none has been removed.
    let added: Vec<_> =
        wanted.iter().filter(|(key, value)| before.get(*key) != Some(value)).collect();
    for part in added.chunks(TAGS_PER_REQUEST) {
        let body: CreateTrainJobTagsRequest =
            serde_json::from_value(body(part)).map_err(invalid)?;
        let create = client.call(|api| {
            let call = api.create_train_job_tags().project_id(project);
            call.training_job_id(job.id()).body(body).send()
        });
        create.await?;
    }
    let removed: Vec<_> = before.iter().filter(|(key, _)| !wanted.contains_key(*key)).collect();
    for part in removed.chunks(TAGS_PER_REQUEST) {
        let body: DeleteTrainJobTagsRequest =
            serde_json::from_value(body(part)).map_err(invalid)?;
        let delete = client.call(|api| {
            let call = api.delete_train_job_tags().project_id(project);
            call.training_job_id(job.id()).body(body).send()
        });
        delete.await?;
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
    let current = current.replace("\r\n", "\n").trim().to_owned();
    if field("before").is_some_and(|before| before != current) && text != current {
        let layout = Layout::new(&state, &visitor, Section::Jobs, "Description");
        let page = DescriptionPage { layout, id: job.id().to_owned(), current, text };
        return Ok((StatusCode::CONFLICT, Page(page)).into_response());
    }
    job.set_description(&text).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id())).into_response())
}
