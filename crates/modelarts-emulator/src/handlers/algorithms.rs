//! Stored algorithms, and jobs created from them.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use walkdir::WalkDir;

use crate::{
    api::{error::ApiError, response::ApiResponse},
    database::documents::Document,
    files::obs_path::ObsPath,
    handlers::call::{ApiCall, ApiResult, bad_param, ok, with_ignored_fields},
    validation::{
        self, body_shape,
        creation::Creation,
        fields::{
            field_spec::{
                Handling::{Acted, Echoed, ReadOnly},
                Need::{Optional, Required},
                Type::{self, Any, Bool, List, Name, Object, OneOf, Text, UpTo},
            },
            ignored, visible,
        },
    },
};

/// Keys of `resource_requirements`.
const REQUIREMENTS: &[&str] = &[
    "flavor_type",
    "device_distributed_mode",
    "host_distributed_mode",
];

/// The body of an algorithm. Fields of `job_config` have the rules of a job as well.
#[rustfmt::skip]
const ALGORITHM: Type = Object(&[
    (&["metadata"], Required, Acted, Object(&[
        (&["name"], Required, Acted, Name),
        (&["description"], Optional, Echoed, UpTo(256)),
        (&["workspace_id"], Optional, Echoed, Text),
        (&["ai_project"], Optional, Echoed, Any),
        (&["tags"], Optional, Echoed, List(&Object(&[
            (&["key"], Required, Echoed, Text),
            (&["value"], Optional, Echoed, Any),
        ]))),
        (&[
            "id", "create_time", "user_name", "domain_id", "source", "api_version", "is_valid",
            "state", "size", "attr_list", "version_num", "update_time",
        ], Optional, ReadOnly, Any),
    ])),
    (&["job_config"], Required, Acted, Object(&[
        (&["code_dir", "boot_file", "command"], Optional, Acted, Any),
        (&["code_tree"], Optional, ReadOnly, Any),
        (&["engine"], Optional, Acted, Object(&[
            (&["engine_id", "engine_name", "engine_version", "image_url"], Optional, Acted, Any),
        ])),
        (&["parameters"], Optional, Acted, List(&Object(&[
            (&["name", "value"], Optional, Acted, Any),
            (&["description"], Optional, Echoed, Any),
            (&["constraint"], Optional, Acted, Any),
            (&["i18n_description"], Optional, Echoed, Any),
        ]))),
        (&["parameters_customization"], Optional, Acted, Bool),
        (&["inputs"], Optional, Acted, List(&Object(&[
            (&["name"], Optional, Acted, Name),
            (&["access_method"], Optional, Acted, OneOf(&["parameter", "env"])),
            (&["description"], Optional, Echoed, Any),
            (&["remote_constraints"], Optional, Acted, Any),
        ]))),
        (&["outputs"], Optional, Acted, List(&Object(&[
            (&["name"], Required, Acted, Name),
            (&["access_method"], Optional, Acted, OneOf(&["parameter", "env"])),
            (&["description"], Optional, Echoed, Any),
            (&["prefetch_to_local"], Optional, Acted, Any),
        ]))),
    ])),
    (&["resource_requirements"], Optional, Acted, List(&Object(&[
        (&["key"], Required, Acted, OneOf(REQUIREMENTS)),
        (&["operator"], Optional, Echoed, OneOf(&["in"])),
        (&["values", "value"], Optional, Acted, Any),
    ]))),
    (&["advanced_config"], Optional, Echoed, Object(&[
        (&["auto_search"], Optional, Echoed, Object(&[
            (&[
                "skip_search_params", "reward_attrs", "search_params", "algo_configs",
            ], Optional, Echoed, Any),
        ])),
    ])),
]);

/// Returns the algorithm with this id in the user's project.
pub(super) fn find(call: &ApiCall<'_>, id: &str) -> Result<Option<Value>, ApiError> {
    let record = call.state.algorithms.find(&call.user.project_id, id)?;
    Ok(record.map(|record| record.value))
}

fn check(call: &ApiCall<'_>, body: &Value) -> Result<(), ApiError> {
    body_shape::check_against(&ALGORITHM, body)?;
    let config = |names: &[&str]| -> Map<String, Value> {
        names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), body["job_config"].get(*name)?.clone())))
            .collect()
    };
    // Checked as a job of this algorithm without its data: the rules on code and parameters are the
    // same.
    let job = json!({
        "kind": "job",
        "metadata": {"name": body["metadata"]["name"]},
        "algorithm": config(&["code_dir", "boot_file", "command", "engine", "parameters"]),
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

/// A member of the body. Empty lists are returned as null.
fn non_empty(value: &Value) -> Value {
    match value.as_array() {
        Some(items) if items.is_empty() => Value::Null,
        _ => value.clone(),
    }
}

/// `advanced_config`; an empty search is returned as an empty object.
fn advanced_config(body: &Value) -> Value {
    let mut config = body.get("advanced_config").cloned().unwrap_or_default();
    if let Some(search) = config.get_mut("auto_search")
        && let Some(members) = search.as_object()
        && members.values().all(|member| non_empty(member).is_null())
    {
        *search = json!({});
    }
    match config {
        Value::Null => json!({}),
        config => config,
    }
}

/// The code directory as a tree of names, and its size in bytes.
fn tree(call: &ApiCall<'_>, code_dir: &str) -> Option<(Value, u64)> {
    let path = ObsPath::parse(code_dir).ok()?;
    let root = call.state.offer.obs.resolve(&path.relative()).ok()?;
    fn below(directory: &std::path::Path) -> Vec<Value> {
        let entries = WalkDir::new(directory)
            .min_depth(1)
            .max_depth(1)
            .sort_by_file_name();
        entries
            .into_iter()
            .flatten()
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.file_type().is_dir() {
                    json!({"name": format!("{name}/"), "children": below(entry.path())})
                } else {
                    json!({"name": name})
                }
            })
            .collect()
    }
    let files = WalkDir::new(&root).into_iter().flatten();
    let size = files
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    let name = format!("{}/", path.last());
    Some((json!({"name": name, "children": below(&root)}), size))
}

/// The documented form of an algorithm.
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
    ] {
        config.entry(name).or_insert(default);
    }
    for list in ["parameters", "inputs", "outputs"] {
        config.entry(list).or_insert_with(|| json!([]));
    }
    let text = |name: &str, default: &str| {
        body["metadata"][name]
            .as_str()
            .unwrap_or(default)
            .to_owned()
    };
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
            "tags": non_empty(&body["metadata"]["tags"]),
            "attr_list": null,
            "version_num": 0,
            "update_time": updated,
        },
        "job_config": config,
        "resource_requirements": non_empty(&body["resource_requirements"]),
        "advanced_config": advanced_config(body),
    })
}

pub(super) fn create(call: &ApiCall<'_>) -> ApiResult {
    let body = call.json()?;
    check(call, &body)?;
    let ignored = ignored::ignored_header_of(&ALGORITHM, &body, call.state.offer.strict)?;
    let id = call.state.ids.next().to_string();
    let value = render(call, &id, &body, call.now().millis(), 0);
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    let added = call.state.algorithms.insert(&Document {
        id,
        project: call.user.project_id.clone(),
        name: name.to_owned(),
        value: value.clone(),
    })?;
    if !added {
        return Err(ApiError::of(2821, &[name]));
    }
    Ok(with_ignored_fields(
        ApiResponse::json(StatusCode::CREATED, value),
        ignored,
    ))
}

pub(super) fn show(call: &ApiCall<'_>) -> ApiResult {
    let found = find(call, call.id("algorithm_id"))?;
    ok(found.ok_or_else(ApiError::algorithm_not_found)?)
}

/// Replaces an algorithm, with 201 (SOURCES D-31). Its name cannot be changed. The body replaces
/// all members but tags, which only an empty list removes. A body with `metadata` alone changes
/// nothing else.
pub(super) fn change(call: &ApiCall<'_>) -> ApiResult {
    let id = call.id("algorithm_id");
    let before = find(call, id)?.ok_or_else(ApiError::algorithm_not_found)?;
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
    let changed = call.state.algorithms.replace(&Document {
        id: id.to_owned(),
        project: call.user.project_id.clone(),
        name: value["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        value: value.clone(),
    })?;
    if !changed {
        return Err(ApiError::algorithm_not_found());
    }
    Ok(with_ignored_fields(
        ApiResponse::json(StatusCode::CREATED, value),
        ignored,
    ))
}

pub(super) fn delete(call: &ApiCall<'_>) -> ApiResult {
    let id = call.id("algorithm_id");
    if !call.state.algorithms.remove(&call.user.project_id, id)? {
        return Err(ApiError::algorithm_not_found());
    }
    Ok(ApiResponse::json(StatusCode::ACCEPTED, Value::Null))
}

/// Lists algorithms. `offset` is the number of a page (SOURCES.md, D-94).
pub(super) fn list(call: &ApiCall<'_>) -> ApiResult {
    let limit = call.number("limit", 1..=50, 50)?;
    let offset = call.number("offset", 0..=usize::MAX, 0)?;
    let order = call.choice("order", &["asc", "desc"])?.unwrap_or("desc");
    let sort_by = call
        .param("sort_by")?
        .unwrap_or_else(|| "create_time".into());
    if !["create_time", "name"].contains(&sort_by.as_str()) {
        return Err(ApiError::sorting());
    }
    let workspace = call.param("workspace_id")?;
    let part = match call.param("searches")? {
        None => None,
        Some(searches) => match searches.split_once(':') {
            Some(("name", part)) => Some(part.to_owned()),
            _ => return Err(bad_param("searches")),
        },
    };
    let all = call.state.algorithms.all(&call.user.project_id)?;
    let total = all.len();
    let mut matching: Vec<Document> = all
        .into_iter()
        .filter(|record| {
            part.as_ref()
                .is_none_or(|part| record.name.contains(part.as_str()))
        })
        .filter(|record| {
            let own = &record.value["metadata"]["workspace_id"];
            workspace.as_ref().is_none_or(|workspace| own == workspace)
        })
        .collect();
    if sort_by == "name" {
        matching.sort_by(|a, b| a.name.cmp(&b.name));
    }
    if order == "desc" {
        matching.reverse();
    }
    let count = matching.len();
    let page = matching
        .into_iter()
        .skip(offset.saturating_mul(limit))
        .take(limit);
    let items: Vec<Value> = page.map(|record| record.value).collect();
    ok(json!({
        "total": total,
        "count": count,
        "limit": limit,
        "offset": offset,
        "sort_by": sort_by,
        "order": order,
        "group_by": call.param("group_by")?.unwrap_or_default(),
        "items": items,
    }))
}

/// Checks the body of a job's creation and fills in its stored algorithm. The body is checked
/// twice: before, because filling it in depends on its shape, and after.
pub(super) fn checked_body(call: &ApiCall<'_>, body: Value) -> Result<Value, ApiError> {
    let named = body.pointer("/algorithm/id").and_then(Value::as_str);
    let stored = match named {
        Some(id) => find(call, id)?,
        None => None,
    };
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

/// The body of a job with the members of its stored algorithm where the job has none of its own. A
/// boot file or command of the job takes precedence.
fn filled_in_body(body: &Value, stored: &Value) -> Value {
    let mut filled = body.clone();
    let config = &stored["job_config"];
    let algorithm = &mut filled["algorithm"];
    let says = |algorithm: &Value, name: &str| {
        let value = algorithm.get(name);
        value.is_some_and(|value| !value.is_null() && *value != "" && *value != json!({}))
    };
    let starts = says(algorithm, "boot_file") || says(algorithm, "command");
    for name in ["code_dir", "boot_file", "command", "engine"] {
        let is_start = matches!(name, "boot_file" | "command");
        if says(config, name) && !says(algorithm, name) && !(is_start && starts) {
            algorithm[name] = config[name].clone();
        }
    }
    algorithm["name"] = stored["metadata"]["name"].clone();
    let named = |list: &Value, name: &Value| -> Option<Value> {
        let list = list.as_array()?;
        list.iter().find(|one| one["name"] == *name).cloned()
    };
    // Parameters in the order of the algorithm, with the job's values, then the job's own ones.
    let given = algorithm["parameters"].clone();
    let mut parameters: Vec<Value> = Vec::new();
    for known in config["parameters"].as_array().into_iter().flatten() {
        let mut parameter = known.clone();
        if let Some(own) = named(&given, &known["name"])
            && let Some(value) = own.get("value")
        {
            parameter["value"] = value.clone();
        }
        parameters.push(parameter);
    }
    for own in given.as_array().into_iter().flatten() {
        if named(&config["parameters"], &own["name"]).is_none() {
            parameters.push(own.clone());
        }
    }
    algorithm["parameters"] = parameters.into();
    for list in ["inputs", "outputs"] {
        for channel in algorithm[list].as_array_mut().into_iter().flatten() {
            let Some(known) = named(&config[list], &channel["name"]) else {
                continue;
            };
            for member in ["access_method", "description", "prefetch_to_local"] {
                if channel.get(member).is_none()
                    && let Some(value) = known.get(member)
                {
                    channel[member] = value.clone();
                }
            }
        }
    }
    filled
}
