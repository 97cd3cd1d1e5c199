//! Stored algorithms, and jobs created from them.

use std::path::Path;

use axum::http::StatusCode;
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        response::{ApiResponse, Reply, ok},
    },
    database::documents::Document,
    files::obs_path::ObsPath,
    handlers::{
        call::{ApiCall, bad_param, with_ignored_fields},
        document_list::ListQuery,
    },
    validation::{
        self, body_shape,
        creation::Creation,
        fields::{ALGORITHM, ignored, visible},
    },
};

pub(super) fn find(call: &ApiCall<'_>, id: &str) -> Result<Value, ApiError> {
    let record = call.state.records.algorithms.find(&call.user.project_id, id)?;
    Ok(record.ok_or_else(ApiError::algorithm_not_found)?.value)
}

fn check(call: &ApiCall<'_>, body: &Value) -> Result<(), ApiError> {
    body_shape::check_against(&ALGORITHM, body)?;
    let config = &body["job_config"];
    // The code and the parameters must satisfy the rules for a job without inputs and outputs.
    let job = json!({
        "kind": "job",
        "metadata": {"name": body["metadata"]["name"]},
        "algorithm": {
            "code_dir": config["code_dir"],
            "boot_file": config["boot_file"],
            "command": config["command"],
            "engine": config["engine"],
            "parameters": config["parameters"],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    });
    let draft = Creation {
        body: &job,
        offer: &call.state.offer,
        stored: None,
        is_algorithm: true,
        may_prioritise: true,
    };
    validation::check(&draft).map_err(|error| error.renamed("algorithm.", "job_config."))
}

/// Returns `value`, or null for an empty list.
fn non_empty(value: &Value) -> Value {
    let is_empty = value.as_array().is_some_and(Vec::is_empty);
    if is_empty { Value::Null } else { value.clone() }
}

/// Returns `advanced_config`. An `auto_search` with only empty members becomes an empty object.
fn advanced_config(body: &Value) -> Value {
    let mut config = body["advanced_config"].clone();
    if let Some(Value::Object(search)) = config.get_mut("auto_search")
        && search.values().all(|member| non_empty(member).is_null())
    {
        search.clear();
    }
    if config.is_null() { json!({}) } else { config }
}

/// Returns the code directory as a tree of names, and its size in bytes, if it exists.
fn tree(call: &ApiCall<'_>, code_dir: &str) -> Option<(Value, u64)> {
    let path = ObsPath::parse(code_dir).ok()?;
    let root = call.state.offer.obs.resolve(&path.relative()).ok()?;
    fn below(directory: &Path) -> Value {
        let entries = WalkDir::new(directory).min_depth(1).max_depth(1).sort_by_file_name();
        let shown = entries.into_iter().flatten().map(|entry| {
            let name = entry.file_name().to_string_lossy();
            match entry.file_type().is_dir() {
                true => json!({"name": format!("{name}/"), "children": below(entry.path())}),
                false => json!({"name": name}),
            }
        });
        shown.collect()
    }
    let files = WalkDir::new(&root).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    let size = files.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    let name = format!("{}/", path.last());
    Some((json!({"name": name, "children": below(&root)}), size))
}

fn render(call: &ApiCall<'_>, id: &str, body: &Value, created: i64, updated: i64) -> Value {
    let body = &visible::visible_part_of(&ALGORITHM, body);
    let given = &body["job_config"];
    let mut config = given.as_object().cloned().unwrap_or_default();
    config.retain(|_, value| !value.is_null());
    let code_dir = given["code_dir"].as_str().unwrap_or_default();
    let mut size = 0;
    if let Some((tree, bytes)) = tree(call, code_dir) {
        config.insert("code_tree".into(), tree);
        size = bytes;
    }
    for (name, default) in [
        ("command", json!("")),
        ("parameters_customization", json!(false)),
        ("parameters", json!([])),
        ("inputs", json!([])),
        ("outputs", json!([])),
    ] {
        config.entry(name).or_insert(default);
    }
    let metadata = &body["metadata"];
    let text = |name: &str, default| metadata[name].as_str().unwrap_or(default).to_owned();
    json!({
        "metadata": {
            "id": id,
            "name": text("name", ""),
            "description": text("description", ""),
            "create_time": created,
            "workspace_id": text("workspace_id", "0"),
            "ai_project": text("ai_project", "default-ai-project"),
            "user_name": call.user.name,
            "domain_id": call.user.domain,
            "source": "custom",
            "api_version": "",
            "is_valid": true,
            "state": "",
            "size": size,
            "tags": non_empty(&metadata["tags"]),
            "attr_list": null,
            "version_num": 0,
            "update_time": updated,
        },
        "job_config": config,
        "resource_requirements": non_empty(&body["resource_requirements"]),
        "advanced_config": advanced_config(body),
    })
}

pub(super) fn create(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    check(call, &body)?;
    let ignored = ignored::ignored_header_of(&ALGORITHM, &body, call.state.offer.strict)?;
    let id = call.state.ids.next().to_string();
    let value = render(call, &id, &body, call.now().millis(), 0);
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    let added = call.state.records.algorithms.insert(&Document {
        id,
        project: call.user.project_id.clone(),
        name: name.to_owned(),
        value: value.clone(),
    })?;
    if !added {
        return Err(ApiError::of(2821, &[name]));
    }
    with_ignored_fields(StatusCode::CREATED, value, ignored)
}

pub(super) fn show(call: &ApiCall<'_>) -> Reply {
    ok(find(call, call.id("algorithm_id"))?)
}

/// Replaces an algorithm and responds with 201 (SOURCES D-31). Always keeps the name, and keeps the
/// tags if the body lacks them. A body without `job_config` changes only the metadata.
pub(super) fn change(call: &ApiCall<'_>) -> Reply {
    let id = call.id("algorithm_id");
    let before = find(call, id)?;
    let mut body = call.json()?;
    let given = body.clone();
    if let Some(body) = body.as_object_mut()
        && body.get("job_config").is_none_or(Value::is_null)
    {
        for member in ["job_config", "resource_requirements", "advanced_config"] {
            body.insert(member.to_owned(), before[member].clone());
        }
    }
    check(call, &body)?;
    let ignored = ignored::ignored_header_of(&ALGORITHM, &given, call.state.offer.strict)?;
    if body["metadata"]["tags"].is_null() {
        body["metadata"]["tags"] = before["metadata"]["tags"].clone();
    }
    body["metadata"]["name"] = before["metadata"]["name"].clone();
    let created = before["metadata"]["create_time"].as_i64().unwrap_or(0);
    let value = render(call, id, &body, created, call.now().millis());
    let changed = call.state.records.algorithms.replace(&Document {
        id: id.to_owned(),
        project: call.user.project_id.clone(),
        name: before["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        value: value.clone(),
    })?;
    if !changed {
        return Err(ApiError::algorithm_not_found());
    }
    with_ignored_fields(StatusCode::CREATED, value, ignored)
}

pub(super) fn delete(call: &ApiCall<'_>) -> Reply {
    let id = call.id("algorithm_id");
    if !call.state.records.algorithms.remove(&call.user.project_id, id)? {
        return Err(ApiError::algorithm_not_found());
    }
    Ok(ApiResponse::json(StatusCode::ACCEPTED, Value::Null))
}

/// Stores a record of a new version of an asset, because the emulator has no gallery. A request
/// without a `content_id` creates the asset.
pub(super) fn publish(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let body = JsonField::root(&body);
    let content_id = body.text_of("content_id")?;
    let (version, description) = match body.get("content_info")? {
        Some(info) => (info.text_of("version_num")?, info.text_of("desc")?),
        None => (None, None),
    };
    let algorithm = match body.get("algorithm")? {
        Some(algorithm) => algorithm.required_text("id")?,
        None => return Err(ApiError::invalid_parameter("algorithm.id is required")),
    };
    find(call, algorithm)?;
    let new_id = || call.state.ids.next().to_string();
    let id = new_id();
    let shown = json!({
        "content_id": content_id.map_or_else(new_id, str::to_owned),
        "version_id": id,
        "version_num": version.unwrap_or("1.0.0"),
        "content_uri": "",
    });
    let mut value = shown.clone();
    value["algorithm_id"] = algorithm.into();
    value["desc"] = description.unwrap_or_default().into();
    call.state.records.publications.insert(&Document {
        project: call.user.project_id.clone(),
        name: id.clone(),
        value,
        id,
    })?;
    Ok(ApiResponse::json(StatusCode::ACCEPTED, shown))
}

/// Lists algorithms. `offset` counts pages, not items (openapi/SOURCES.md, D-94).
pub(super) fn list(call: &ApiCall<'_>) -> Reply {
    let query = ListQuery::read(call, &["create_time", "name"])?;
    let part = match call.param("searches")? {
        None => String::new(),
        Some(searches) => match searches.strip_prefix("name:") {
            Some(part) => part.to_owned(),
            None => return Err(bad_param("searches")),
        },
    };
    let mut documents = call.state.records.algorithms.all(&call.user.project_id)?;
    let total = documents.len();
    documents.retain(|document| {
        query.is_in_workspace(&document.value["metadata"]) && document.name.contains(&part)
    });
    // Other lists are in the order of creation, which does not depend on the clock.
    if query.sort_by == "name" {
        documents.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let mut shown = query.response(total, documents, |document| Ok(document.value))?;
    shown["group_by"] = call.param("group_by")?.unwrap_or_default().into();
    ok(shown)
}

/// Validates the body of a job, and adds the members of its stored algorithm. The body is validated
/// as received and, with these members, again.
pub(super) fn checked_body(call: &ApiCall<'_>, body: Value) -> Result<Value, ApiError> {
    let named = body.pointer("/algorithm/id").and_then(Value::as_str);
    let stored = named.map(|id| call.state.records.algorithms.find(&call.user.project_id, id));
    let stored = stored.transpose()?.flatten().map(|record| record.value);
    let mut draft = Creation {
        body: &body,
        offer: &call.state.offer,
        stored: stored.as_ref(),
        is_algorithm: false,
        may_prioritise: call.user.may_set_high_priority,
    };
    validation::check(&draft)?;
    let Some(stored) = &stored else {
        return Ok(body);
    };
    let filled = filled_in_body(&body, stored);
    let mut unnamed = filled.clone();
    for name in ["id", "subscription_id", "item_version_id"] {
        unnamed["algorithm"][name] = Value::Null;
    }
    draft.stored = None;
    draft.body = &unnamed;
    validation::check(&draft)?;
    Ok(filled)
}

/// Adds missing members from a stored algorithm. A boot file or command of the job replaces both.
fn filled_in_body(body: &Value, stored: &Value) -> Value {
    let mut filled = body.clone();
    let config = &stored["job_config"];
    let algorithm = &mut filled["algorithm"];
    let given = |value: &Value| !value.is_null() && *value != "" && *value != json!({});
    let starts = given(&algorithm["boot_file"]) || given(&algorithm["command"]);
    for name in ["code_dir", "boot_file", "command", "engine"] {
        let replaced = starts && matches!(name, "boot_file" | "command");
        if given(&config[name]) && !given(&algorithm[name]) && !replaced {
            algorithm[name] = config[name].clone();
        }
    }
    algorithm["name"] = stored["metadata"]["name"].clone();
    // The parameters of the algorithm come first, with the values of the job.
    let own = items(&algorithm["parameters"]);
    let known = items(&config["parameters"]);
    let mut parameters = known.clone();
    for parameter in &mut parameters {
        if let Some(value) = named(&own, parameter).and_then(|own| own.get("value")) {
            parameter["value"] = value.clone();
        }
    }
    parameters.extend(own.into_iter().filter(|own| named(&known, own).is_none()));
    algorithm["parameters"] = parameters.into();
    for list in ["inputs", "outputs"] {
        let known = items(&config[list]);
        for channel in algorithm[list].as_array_mut().into_iter().flatten() {
            for member in ["access_method", "description", "prefetch_to_local"] {
                let value = named(&known, channel).and_then(|known| known.get(member));
                if let Some(value) = value.filter(|_| channel.get(member).is_none()) {
                    channel[member] = value.clone();
                }
            }
        }
    }
    filled
}

fn items(list: &Value) -> Vec<Value> {
    list.as_array().cloned().unwrap_or_default()
}

fn named<'a>(list: &'a [Value], other: &Value) -> Option<&'a Value> {
    list.iter().find(|one| one["name"] == other["name"])
}
