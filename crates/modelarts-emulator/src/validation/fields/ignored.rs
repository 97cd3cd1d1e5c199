//! Fields without effect. A response header names them, and a strict emulator rejects them.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::HeaderValue;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::fields::{
        CREATION,
        field::{Field, Format, Handling},
    },
};

pub(crate) const HEADER: &str = "x-emulator-ignored";
/// Maximum size of the header in bytes. Servers and clients limit the total size of headers.
const MAX_HEADER_LENGTH: usize = 2048;
/// String that replaces the paths beyond the maximum size.
const ELLIPSIS: &str = "...";
/// Bytes of a path that are percent-encoded in the header.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'%');

/// Paths of fields that have an effect on the service only; `true` if documents describe them.
type IgnoredPaths = BTreeMap<String, bool>;

pub(crate) fn ignored_paths(body: &Value) -> BTreeSet<String> {
    paths_of_creation(body).into_keys().collect()
}

pub(crate) fn ignored_header(body: &Value) -> Option<HeaderValue> {
    header(&ignored_paths(body))
}

/// Returns the header for a body of this type. A strict emulator rejects documented fields.
pub(crate) fn ignored_header_of(
    body_field: &Field,
    body: &Value,
    strict: bool,
) -> Result<Option<HeaderValue>, ApiError> {
    let mut paths = IgnoredPaths::new();
    add_ignored(body_field, body, "", &mut paths);
    if strict {
        refuse_documented(&paths)?;
    }
    Ok(header(&paths.into_keys().collect()))
}

/// Fields of `spec` that have no effect beside `tasks`, whose elements contain these fields.
const REPLACED_BY_TASKS: [&str; 3] = ["spec.resource", "spec.volumes", "spec.log_export_path"];

fn paths_of_creation(body: &Value) -> IgnoredPaths {
    let mut paths = IgnoredPaths::new();
    add_ignored(&CREATION, body, "", &mut paths);
    let asks = |pointer: &str| body.pointer(pointer).is_some_and(|value| !is_empty(value));
    if asks("/tasks") {
        for field in REPLACED_BY_TASKS {
            if asks(&format!("/{}", field.replace('.', "/"))) {
                paths.retain(|path, _| !path.starts_with(field));
                paths.insert(field.to_owned(), true);
            }
        }
    }
    paths.extend(unused_entry(body).map(|name| (format!("algorithm.{name}"), true)));
    paths
}

/// Returns the field that has no effect in a job with both `boot_file` and `command`. A custom
/// image runs the command, and an engine of the platform runs the boot file.
pub(crate) fn unused_entry(body: &Value) -> Option<&'static str> {
    let has = |name: &str| {
        let value = body.pointer(&format!("/algorithm/{name}"));
        value.is_some_and(|value| !is_empty(value))
    };
    let custom = has("engine/image_url") && !has("engine/engine_id") && !has("engine/engine_name");
    (has("boot_file") && has("command")).then_some(if custom { "boot_file" } else { "command" })
}

pub(crate) fn refuse_ignored(body: &Value) -> Result<(), ApiError> {
    refuse_documented(&paths_of_creation(body))
}

fn refuse_documented(paths: &IgnoredPaths) -> Result<(), ApiError> {
    let documented = paths.iter().filter(|(_, documented)| **documented);
    let paths: Vec<&str> = documented.map(|(path, _)| path.as_str()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(ApiError::not_modelled(format!(
        "the request fields {} (without --strict it accepts and stores them)",
        paths.join(", ")
    )))
}

/// Adds the ignored paths of the value of a field, which is located at `path` in the body.
fn add_ignored(field: &Field, value: &Value, path: &str, paths: &mut IgnoredPaths) {
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(_, value)| !is_empty(value)) {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                match field.member(name) {
                    None if field.is_free() => {}
                    None => {
                        paths.insert(path, false);
                    }
                    Some(member) if is_ignored(member, &path, value) => {
                        paths.insert(path, true);
                    }
                    Some(member) => {
                        if matches!(member.handling, Handling::Acted | Handling::Echoed) {
                            add_ignored(member, value, &path, paths);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            let path = format!("{path}[]");
            for item in items.iter().filter(|item| !is_empty(item)) {
                match field.element() {
                    Some(element) => add_ignored(element, item, &path, paths),
                    None if field.is_free() => {}
                    None => {
                        paths.insert(path.clone(), false);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Returns `true` if a value has an effect on the service only. A documented default has none.
fn is_ignored(field: &Field, path: &str, value: &Value) -> bool {
    match (field.handling, &field.format) {
        (_, Format::Effective(known)) if !known.iter().any(|known| value == known) => true,
        (Handling::Stored | Handling::Unshown, _) => match (path, value.as_str()) {
            ("spec.runtime_type", Some(text)) => text != "production",
            ("metadata.annotations.job_template", Some(text)) => text != "Template DL",
            (path, Some(text)) if path.starts_with("metadata.annotations.") => text != "false",
            _ => *value != false,
        },
        _ => false,
    }
}

/// Returns `true` for a value that has no effect.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Joins the paths. If they exceed the maximum size, the last element is `...`.
pub(super) fn header(paths: &BTreeSet<String>) -> Option<HeaderValue> {
    let mut list = String::new();
    for path in paths {
        let path = utf8_percent_encode(path, ENCODED).to_string();
        let comma = if list.is_empty() { "" } else { "," };
        if list.len() + 1 + path.len() + 1 + ELLIPSIS.len() > MAX_HEADER_LENGTH {
            list = list + comma + ELLIPSIS;
            break;
        }
        list = list + comma + &path;
    }
    HeaderValue::try_from(list).ok().filter(|list| !list.is_empty())
}
