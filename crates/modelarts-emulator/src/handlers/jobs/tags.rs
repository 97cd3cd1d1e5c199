//! Handlers of the tags of jobs.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        response::{ApiResponse, Reply, ok},
    },
    handlers::call::ApiCall,
    store::tags::TagQuery,
};

/// Maximum number of tags of a request, and of values of a tag in a search.
const MAX_TAGS: usize = 10;

/// Reads `least` to 10 tags of a body. `values` reads the members of a tag other than its key.
fn read_tags<'a, T>(
    root: &JsonField<'a>,
    least: usize,
    values: impl Fn(&JsonField<'a>) -> Result<T, ApiError>,
) -> Result<Vec<(&'a str, T)>, ApiError> {
    let list = root.items_of("tags")?;
    if !(least..=MAX_TAGS).contains(&list.len()) {
        return Err(root.must(format!("have {least} to {MAX_TAGS} tags")));
    }
    let mut read = Vec::new();
    for tag in list {
        let key = tag.required("key")?;
        let text = key.text_up_to(128)?;
        if text.is_empty() {
            return Err(key.must("have 1 to 128 characters"));
        }
        read.push((text, values(&tag)?));
    }
    Ok(read)
}

fn render_tags(tags: &BTreeMap<String, String>) -> Value {
    let tags = tags.iter();
    tags.map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// Adds tags to a job, or replaces the values of existing keys. Responds with 204, without a body.
pub(crate) fn create(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let given = read_tags(&JsonField::root(&body), 1, |tag| tag.text_of("value"))?;
    let keys: BTreeSet<&str> = given.iter().map(|(key, _)| *key).collect();
    if keys.len() < given.len() {
        return Err(ApiError::invalid_parameter("tags must have different keys"));
    }
    call.update(|job| {
        for (key, value) in &given {
            let value = value.unwrap_or_default().to_owned();
            job.settings.tags.insert((*key).to_owned(), value);
        }
    })?;
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

pub(crate) fn delete(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let given = read_tags(&JsonField::root(&body), 0, |tag| tag.text_of("value"))?;
    call.update(|job| {
        for (key, value) in &given {
            let fits = |own: &String| value.is_none_or(|value| value == own);
            if job.settings.tags.get(*key).is_some_and(fits) {
                job.settings.tags.remove(*key);
            }
        }
    })?;
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

pub(crate) fn show(call: &ApiCall<'_>) -> Reply {
    ok(json!({"tags": call.read(|job| render_tags(&job.settings.tags))?}))
}

/// Lists all tag keys of a project with all their values. `limit` and `offset` count keys.
pub(crate) fn list(call: &ApiCall<'_>) -> Reply {
    let limit = call.number("limit", 1..=1000, 1000)?;
    let offset = call.number("offset", 0..=usize::MAX, 0)?;
    let store = &call.state.store;
    let found = store.tag_keys(&call.user.project_id, offset, limit)?;
    let rows = found.iter().map(|(key, values)| json!({"key": key, "values": values}));
    ok(json!({"tags": rows.collect::<Value>()}))
}

pub(super) fn tag_filters<'a>(
    root: &JsonField<'a>,
) -> Result<Vec<(&'a str, Vec<&'a str>)>, ApiError> {
    read_tags(root, 0, |tag| {
        let values = tag.items_of("values")?;
        if values.len() > MAX_TAGS {
            return Err(tag.must(format!("have at most {MAX_TAGS} values")));
        }
        values.iter().map(|value| value.text()).collect()
    })
}

/// Finds jobs by tags, workspace and name, or only counts them. A tag without values matches any.
pub(crate) fn find(call: &ApiCall<'_>, with_jobs: bool) -> Reply {
    let limit = call.number("limit", 1..=1000, 1000)?;
    let offset = call.number("offset", 0..=usize::MAX, 0)?;
    let body = call.json()?;
    let root = JsonField::root(&body);
    let wanted = tag_filters(&root)?;
    let workspace = root.text_of("workspace_id")?;
    let untagged = root.get("without_any_tag")?;
    let untagged = untagged.is_some_and(|field| *field.value() == true);
    let mut name = None;
    for item in root.items_of("matches")? {
        let key = item.required("key")?;
        if key.text()? != "resource_name" {
            return Err(key.must("be resource_name"));
        }
        name = item.text_of("value")?;
    }
    let wanted = TagQuery { tags: wanted, untagged, workspace, name };
    let store = &call.state.store;
    let (total, found) = store.jobs_with_tags(&call.user.project_id, &wanted, offset, limit)?;
    if !with_jobs {
        return ok(json!({"total_count": total}));
    }
    let rows = found.iter().map(|job| {
        json!({
            "resource_detail": {},
            "workspace_id": job.workspace,
            "resource_id": job.id,
            "resource_name": job.name,
            "tags": render_tags(&job.tags),
        })
    });
    ok(json!({"resources": rows.collect::<Value>(), "total_count": total}))
}
