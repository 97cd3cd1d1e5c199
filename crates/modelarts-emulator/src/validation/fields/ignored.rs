//! Fields of a creation that the emulator accepts without acting on them. A response header names
//! them, and a strict emulator refuses them.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::HeaderValue;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::fields::{
        field_spec::{FieldSpec, Handling},
        field_tree::{CREATION, Node},
    },
};

/// The header with the paths, in the response to a creation.
pub(crate) const HEADER: &str = "x-emulator-ignored";
/// Maximum size in bytes of the header: servers and clients limit the size of all headers.
const MAX_HEADER_LENGTH: usize = 2048;
/// Replaces the paths beyond the limit.
const ELLIPSIS: &str = "...";
/// Bytes of a path that are encoded in the header's list.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'%');

/// The paths of fields whose values would have an effect on the service and have none here:
/// documented fields, and fields that no document has in a creation.
pub(crate) fn ignored_paths(body: &Value) -> BTreeSet<String> {
    paths(body).into_keys().collect()
}

/// The header with these paths.
pub(crate) fn ignored_header(body: &Value) -> Option<HeaderValue> {
    header(&ignored_paths(body))
}

/// The header for another body, whose table is `lines`. A strict emulator refuses documented
/// fields.
pub(crate) fn ignored_header_of(
    lines: &'static [FieldSpec],
    body: &Value,
    strict: bool,
) -> Result<Option<HeaderValue>, ApiError> {
    let mut paths = BTreeMap::new();
    visit_ignored(&Node::of(lines), body, "", &mut |path, documented| {
        paths.insert(path, documented);
    });
    if strict {
        refuse_documented(&paths)?;
    }
    Ok(header(&paths.into_keys().collect()))
}

/// Fields of `spec` without an effect beside `tasks`, whose elements have their own.
const REPLACED_BY_TASKS: [&str; 3] = ["spec.resource", "spec.volumes", "spec.log_export_path"];

/// The path of each ignored field, with `true` if it is documented.
fn paths(body: &Value) -> BTreeMap<String, bool> {
    let mut paths = BTreeMap::new();
    visit_ignored(&CREATION, body, "", &mut |path, documented| {
        paths.insert(path, documented);
    });
    if body.get("tasks").is_some_and(|tasks| !is_empty(tasks)) {
        for field in REPLACED_BY_TASKS {
            let given = body.pointer(&format!("/{}", field.replace('.', "/")));
            if given.is_some_and(|value| !is_empty(value)) {
                paths.retain(|path, _| !path.starts_with(field));
                paths.insert(field.to_owned(), true);
            }
        }
    }
    paths.extend(unused_entry(body).map(|name| (format!("algorithm.{name}"), true)));
    paths
}

/// The one of `boot_file` and `command` that does not run, in a job with both: a custom image runs
/// its command, an engine of the platform the boot file.
pub(crate) fn unused_entry(body: &Value) -> Option<&'static str> {
    let has = |name: &str| {
        let value = body.pointer(&format!("/algorithm/{name}"));
        value.is_some_and(|value| !is_empty(value))
    };
    let custom = has("engine/image_url") && !has("engine/engine_id") && !has("engine/engine_name");
    (has("boot_file") && has("command")).then_some(if custom { "boot_file" } else { "command" })
}

/// Refuses documented fields without an effect, with 501.
pub(crate) fn refuse_ignored(body: &Value) -> Result<(), ApiError> {
    refuse_documented(&paths(body))
}

fn refuse_documented(paths: &BTreeMap<String, bool>) -> Result<(), ApiError> {
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

/// Reports the path of each ignored field, with `true` if it is documented.
fn visit_ignored(node: &Node, value: &Value, path: &str, report: &mut impl FnMut(String, bool)) {
    let mut visit = |name: &str, path: String, value: &Value| {
        let below = node.below.get(name);
        if is_empty(value) || below.is_none() && node.is_free() {
            return;
        }
        match below.map(|node| (node, node.handling())) {
            None => report(path, false),
            Some((node, _)) if node.has_no_effect(value) => report(path, true),
            Some((node, Handling::Stored | Handling::Unshown)) => {
                if node.line.is_none_or(|line| asks_for_more(line, value)) {
                    report(path, true);
                }
            }
            Some((node, Handling::Acted | Handling::Echoed)) => {
                visit_ignored(node, value, &path, report)
            }
            Some((_, Handling::Silent | Handling::ReadOnly | Handling::Refused)) => {}
        }
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                visit(name, path, member);
            }
        }
        Value::Array(items) => {
            for item in items {
                visit("[]", format!("{path}[]"), item);
            }
        }
        _ => {}
    }
}

/// True for a value that requests no effect.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// True unless the value is the documented default, which needs no effect.
fn asks_for_more(line: &FieldSpec, value: &Value) -> bool {
    match (line.0, value.as_str()) {
        ("spec.runtime_type", Some(text)) => text != "production",
        ("metadata.annotations.job_template", Some(text)) => text != "Template DL",
        (path, Some(text)) if path.starts_with("metadata.annotations.") => text != "false",
        _ => *value != false,
    }
}

/// The paths for the header, separated by commas. If they are too long, the last is `...`.
pub(super) fn header(paths: &BTreeSet<String>) -> Option<HeaderValue> {
    let mut list = String::new();
    for path in paths {
        let path = utf8_percent_encode(path, ENCODED).to_string();
        let comma = if list.is_empty() { "" } else { "," };
        if list.len() + 1 + path.len() + 1 + ELLIPSIS.len() > MAX_HEADER_LENGTH {
            list.push_str(comma);
            list.push_str(ELLIPSIS);
            break;
        }
        list.push_str(comma);
        list.push_str(&path);
    }
    (!list.is_empty())
        .then(|| HeaderValue::try_from(list).ok())
        .flatten()
}
