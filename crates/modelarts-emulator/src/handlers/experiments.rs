//! Experiments: names that jobs refer to.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField, response::ApiResponse},
    database::documents::Document,
    handlers::call::{ApiCall, ApiResult, bad_param, ok},
};

/// The default workspace.
const DEFAULT: &str = "0";

/// The key that is unique in a project: the name within its workspace.
fn unique_name(workspace: &str, name: &str) -> String {
    match workspace {
        DEFAULT => name.to_owned(),
        workspace => format!("{workspace}\n{name}"),
    }
}

/// The documented form of an experiment, with the number of jobs that refer to it.
fn render(call: &ApiCall<'_>, record: &Document) -> Result<Value, ApiError> {
    let jobs = call
        .state
        .store
        .count_of_experiment(&record.project, &record.id)?;
    Ok(json!({"metadata": record.value, "statistic": {"job_count": jobs}}))
}

fn not_found(id: &str) -> ApiError {
    ApiError::of(2842, &[id])
}

pub(super) fn create(call: &ApiCall<'_>) -> ApiResult {
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
    if !call.state.experiments.insert(&record)? {
        return Err(ApiError::of(2841, &[name]));
    }
    Ok(ApiResponse::json(
        StatusCode::CREATED,
        render(call, &record)?,
    ))
}

pub(super) fn show(call: &ApiCall<'_>) -> ApiResult {
    let id = call.id("experiment_id");
    let found = call.state.experiments.find(&call.user.project_id, id)?;
    ok(render(call, &found.ok_or_else(|| not_found(id))?)?)
}

pub(super) fn change(call: &ApiCall<'_>) -> ApiResult {
    let id = call.id("experiment_id");
    let body = call.json()?;
    let root = JsonField::root(&body);
    let mut members = Vec::new();
    for member in ["name", "description"] {
        if let Some(field) = root.get(member)? {
            let text = field.text_up_to(256)?;
            if text.is_empty() && member == "name" {
                return Err(field.must("have 1 to 256 characters"));
            }
            members.push((member, text));
        }
    }
    let found = call.state.experiments.find(&call.user.project_id, id)?;
    let mut record = found.ok_or_else(|| not_found(id))?;
    for (member, text) in &members {
        record.value[*member] = (*text).into();
    }
    let text = |member: &str| record.value[member].as_str().unwrap_or_default();
    record.name = unique_name(text("workspace_id"), text("name"));
    record.value["update_time"] = call.now().millis().into();
    if !call.state.experiments.replace(&record)? {
        let name = record.value["name"].as_str().unwrap_or_default();
        return Err(ApiError::of(2841, &[name]));
    }
    ok(members
        .into_iter()
        .map(|(member, text)| (member.to_owned(), Value::from(text)))
        .collect())
}

pub(super) fn delete(call: &ApiCall<'_>) -> ApiResult {
    let id = call.id("experiment_id");
    if !call.state.experiments.remove(&call.user.project_id, id)? {
        return Err(not_found(id));
    }
    Ok(ApiResponse::empty(StatusCode::ACCEPTED))
}

/// Lists experiments. `offset` is the number of a page.
pub(super) fn list(call: &ApiCall<'_>) -> ApiResult {
    let limit = call.number("limit", 1..=50, 50)?;
    let offset = call.number("offset", 0..=usize::MAX, 0)?;
    let sort_by = call.choice("sort_by", &["update_time", "name", "create_time"]);
    let sort_by = sort_by
        .map_err(|_| ApiError::sorting())?
        .unwrap_or("create_time");
    let order = call.choice("order", &["asc", "desc"])?.unwrap_or("desc");
    let workspace = call.param("workspace_id")?;
    let all = call.state.experiments.all(&call.user.project_id)?;
    let total = all.len();
    let mut matching: Vec<Document> = all
        .into_iter()
        .filter(|record| {
            let own = &record.value["workspace_id"];
            workspace.as_ref().is_none_or(|workspace| own == workspace)
        })
        .collect();
    matching.sort_by(|a, b| match sort_by {
        "name" => a.value["name"].as_str().cmp(&b.value["name"].as_str()),
        time => a.value[time].as_i64().cmp(&b.value[time].as_i64()),
    });
    if order == "desc" {
        matching.reverse();
    }
    let count = matching.len();
    let page = matching
        .iter()
        .skip(offset.saturating_mul(limit))
        .take(limit);
    let items: Result<Vec<Value>, ApiError> = page.map(|record| render(call, record)).collect();
    ok(json!({
        "total": total,
        "count": count,
        "limit": limit,
        "offset": offset,
        "sort_by": sort_by,
        "order": order,
        "items": items?,
    }))
}

pub(super) fn check(call: &ApiCall<'_>) -> ApiResult {
    let name = call.param("experiment_name")?;
    let name = name.filter(|name| name.chars().count() <= 64);
    let name = name.ok_or_else(|| bad_param("experiment_name"))?;
    let workspace = call.param("workspace_id")?;
    let asked = unique_name(workspace.as_deref().unwrap_or(DEFAULT), &name);
    let all = call.state.experiments.all(&call.user.project_id)?;
    ok(json!({"is_duplicate": all.iter().any(|record| record.name == asked)}))
}
