//! Handlers of experiments, which are named groups of jobs.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        response::{ApiResponse, Reply, ok},
    },
    database::documents::Document,
    handlers::{
        call::{ApiCall, bad_param},
        document_list::ListQuery,
    },
};

/// Id of the default workspace.
const DEFAULT: &str = "0";

/// Returns the key of an experiment that is unique in a project, from its workspace and its name.
fn unique_name(workspace: &str, name: &str) -> String {
    match workspace {
        DEFAULT => name.to_owned(),
        workspace => format!("{workspace}\n{name}"),
    }
}

fn render(call: &ApiCall<'_>, record: &Document) -> Result<Value, ApiError> {
    let store = &call.state.store;
    let jobs = store.count_of_experiment(&record.project, &record.id)?;
    Ok(json!({"metadata": record.value, "statistic": {"job_count": jobs}}))
}

fn not_found(id: &str) -> ApiError {
    ApiError::of(2842, &[id])
}

fn find(call: &ApiCall<'_>, id: &str) -> Result<Document, ApiError> {
    let found = call.state.records.experiments.find(&call.user.project_id, id)?;
    found.ok_or_else(|| not_found(id))
}

pub(super) fn create(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let metadata = JsonField::root(&body).required("metadata")?;
    let name = metadata.required("name")?.text_up_to(64)?;
    let description = metadata.get("description")?;
    let description = description.map(|field| field.text_up_to(256)).transpose()?;
    let workspace = metadata.text_of("workspace_id")?.unwrap_or(DEFAULT);
    let now = call.now().millis();
    let id = call.state.ids.next().to_string();
    let record = Document {
        project: call.user.project_id.clone(),
        name: unique_name(workspace, name),
        value: json!({
            "id": id,
            "name": name,
            "description": description.unwrap_or_default(),
            "workspace_id": workspace,
            "create_time": now,
            "update_time": now,
        }),
        id,
    };
    if !call.state.records.experiments.insert(&record)? {
        return Err(ApiError::of(2841, &[name]));
    }
    let shown = render(call, &record)?;
    Ok(ApiResponse::json(StatusCode::CREATED, shown))
}

pub(super) fn show(call: &ApiCall<'_>) -> Reply {
    ok(render(call, &find(call, call.id("experiment_id"))?)?)
}

pub(super) fn change(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let root = JsonField::root(&body);
    let mut changed = Map::new();
    for member in ["name", "description"] {
        if let Some(field) = root.get(member)? {
            let text = field.text_up_to(256)?;
            if text.is_empty() && member == "name" {
                return Err(field.must("have 1 to 256 characters"));
            }
            changed.insert(member.to_owned(), text.into());
        }
    }
    let mut record = find(call, call.id("experiment_id"))?;
    for (member, text) in &changed {
        record.value[member] = text.clone();
    }
    record.value["update_time"] = call.now().millis().into();
    let text = |member: &str| record.value[member].as_str().unwrap_or_default();
    record.name = unique_name(text("workspace_id"), text("name"));
    if !call.state.records.experiments.replace(&record)? {
        let name = record.value["name"].as_str().unwrap_or_default();
        return Err(ApiError::of(2841, &[name]));
    }
    ok(changed.into())
}

pub(super) fn delete(call: &ApiCall<'_>) -> Reply {
    let id = call.id("experiment_id");
    if !call.state.records.experiments.remove(&call.user.project_id, id)? {
        return Err(not_found(id));
    }
    Ok(ApiResponse::empty(StatusCode::ACCEPTED))
}

pub(super) fn list(call: &ApiCall<'_>) -> Reply {
    let query = ListQuery::read(call, &["update_time", "name", "create_time"])?;
    let mut documents = call.state.records.experiments.all(&call.user.project_id)?;
    let total = documents.len();
    documents.retain(|document| query.is_in_workspace(&document.value));
    documents.sort_by(|a, b| match query.sort_by {
        "name" => a.value["name"].as_str().cmp(&b.value["name"].as_str()),
        time => a.value[time].as_i64().cmp(&b.value[time].as_i64()),
    });
    ok(query.response(total, documents, |document| render(call, &document))?)
}

pub(super) fn check(call: &ApiCall<'_>) -> Reply {
    let name = call.required_param("experiment_name")?;
    if name.chars().count() > 64 {
        return Err(bad_param("experiment_name"));
    }
    let workspace = call.param("workspace_id")?;
    let asked = unique_name(workspace.as_deref().unwrap_or(DEFAULT), &name);
    let all = call.state.records.experiments.all(&call.user.project_id)?;
    ok(json!({"is_duplicate": all.iter().any(|record| record.name == asked)}))
}
