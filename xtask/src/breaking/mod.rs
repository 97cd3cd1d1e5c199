//! `cargo xtask breaking`: finds changes of the description that break existing clients.
//!
//! The command compares operations, schemas and extensions. For example, a request schema must not
//! reject values that were valid, and a required property of a response schema must not become
//! optional. Operations, schemas, properties and enum values must not be removed, because client
//! generators derive names and types from them. Breaking changes are permitted only with the
//! necessary change of the version.
//!
//! Limits of response schemas, such as maximum lengths, are not compared, because generated clients
//! do not enforce them.

mod base;
mod change;
mod extensions;
mod json;
mod operations;
mod schemas;
mod usage;
mod version;

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use serde_json::Value;
#[cfg(test)]
use serde_json::json;

use self::change::Break;
use crate::{codegen, regenerate, workspace};

/// Compares the working description with that of a revision, or with the committed base. Fails if
/// it contains breaking changes without the necessary change of its version.
pub fn run(revision: Option<&str>) -> Result<ExitCode> {
    let (name, before) = match revision {
        Some(revision) => {
            let before = codegen::parse(&base::revision(revision)?)
                .with_context(|| format!("the description of {revision}"))?;
            (revision, before)
        }
        None => (BASE, base::read(&workspace::base())?),
    };
    let after = regenerate::read(&workspace::description())?;
    let breaks = between(&before, &after);
    for found in &breaks {
        println!("{found}");
    }
    let versions = version::Versions::new(&before, &after)?;
    println!(
        "{} changes since {name} break clients; version {versions}",
        breaks.len()
    );
    let objection = if revision.is_none() {
        refused(&breaks, &versions).or_else(|| outdated(&versions))
    } else {
        refused(&breaks, &versions)
    };
    let Some(objection) = objection else {
        return Ok(ExitCode::SUCCESS);
    };
    println!("{objection}");
    Ok(ExitCode::FAILURE)
}

/// Writes the working description to the base, unless it contains breaking changes without the
/// necessary change of its version.
pub fn accept() -> Result<ExitCode> {
    let after = regenerate::read(&workspace::description())?;
    if let Some(objection) = accept_into(&workspace::base(), &after)? {
        println!("{objection}");
        return Ok(ExitCode::FAILURE);
    }
    println!("{BASE} was replaced by the description");
    Ok(ExitCode::SUCCESS)
}

/// The name of the committed base in messages.
const BASE: &str = "openapi/base.json";

/// Writes the base. Returns the reason if the base must not be replaced; a missing base is always
/// written.
fn accept_into(file: &Path, after: &Value) -> Result<Option<String>> {
    if file.exists() {
        let before = base::read(file)?;
        let breaks = between(&before, after);
        let versions = version::Versions::new(&before, after)?;
        if let Some(objection) = refused(&breaks, &versions) {
            let breaks: String = breaks.iter().map(|found| format!("{found}\n")).collect();
            return Ok(Some(breaks + &objection));
        }
    }
    base::write(file, after)?;
    Ok(None)
}

fn refused(breaks: &[Break], versions: &version::Versions) -> Option<String> {
    (!breaks.is_empty() && !versions.admit_breaks()).then(|| {
        format!(
            "raise the version of the workspace and info.version to {}, or revert the changes",
            versions.needed()
        )
    })
}

/// Returns a message if the version of the base differs from that of the description. A comparison
/// with such a base would also accept later breaking changes. Additions within a version need not
/// be in the base.
fn outdated(versions: &version::Versions) -> Option<String> {
    versions.differ().then(|| {
        format!("{BASE} is of another version; run `cargo xtask breaking --accept` and commit")
    })
}

/// Returns all changes that break clients of `before`.
pub fn between(before: &Value, after: &Value) -> Vec<Break> {
    let mut breaks = Vec::new();
    operations::compare(before, after, &mut breaks);
    schemas::compare_all(before, after, &mut breaks);
    extensions::compare(before, after, &mut breaks);
    breaks
}

/// Returns a description with one operation, as the starting point of tests.
#[cfg(test)]
fn sample() -> Value {
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let body = |name: &str| json!({ "application/json": { "schema": schema(name) } });
    json!({
        "info": { "version": "0.1.0" },
        "security": [{ "Token": [] }, { "AkSk": [] }],
        "x-events": {
            "kinds": [{ "kind": "Started", "texts": { "guide": ["[{task}] started."], "api": [] } }],
            "placeholders": [{ "name": "task", "example": "worker-0" }],
        },
        "x-waiters": [{
            "name": "JobRunning", "operation": "ShowJob", "field": "phase",
            "outcomes": [
                { "value": "Running", "outcome": "success" },
                { "error": "ModelArts.2775", "outcome": "gone" },
            ],
        }],
        "paths": { "/jobs": {
            "parameters": [{ "$ref": "#/components/parameters/Project" }],
            "post": {
                "operationId": "CreateJob",
                "tags": ["Jobs"],
                "x-effect": "create",
                "x-clouds": ["huawei", "otc"],
                "x-pagination": { "offset": "record" },
                "parameters": [
                    { "name": "limit", "in": "query", "schema": { "type": "integer", "maximum": 50 } },
                ],
                "requestBody": { "required": false, "content": body("JobRequest") },
                "responses": {
                    "201": { "content": body("Job") },
                    "4XX": { "content": body("ApiError") },
                },
            },
        } },
        "components": {
            "parameters": { "Project": {
                "name": "project", "in": "path", "required": true, "schema": { "type": "string" },
            } },
            "securitySchemes": {
                "Token": { "type": "apiKey", "in": "header", "name": "X-Auth-Token" },
                "AkSk": { "type": "apiKey", "in": "header", "name": "Authorization" },
            },
            "schemas": {
                "JobRequest": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^a" },
                        "nodes": { "type": "integer", "format": "int32", "minimum": 1, "nullable": true },
                        "order": schema("Order"),
                        "labels": { "type": "array", "items": { "type": "string" } },
                    },
                },
                "Order": { "type": "string", "enum": ["asc", "desc"] },
                "Job": {
                    "type": "object",
                    "required": ["id"],
                    "properties": {
                        "id": { "type": "string" },
                        "phase": { "allOf": [schema("Phase")], "description": "Phase." },
                        "sizes": { "type": "object", "additionalProperties": { "type": "integer" } },
                    },
                },
                "KnownPhase": { "type": "string", "enum": ["Running", "Failed"] },
                "Phase": { "anyOf": [schema("KnownPhase"), { "type": "string" }] },
                "ApiError": { "type": "object", "properties": { "error_code": { "type": "string" } } },
            },
        },
    })
}

/// Returns the breaks after a change of the sample: the value at the JSON pointer `place` is set to
/// `value`, or removed if `value` is null.
#[cfg(test)]
fn after(place: &str, value: Value) -> Vec<String> {
    let mut after = sample();
    let (parent, key) = place.rsplit_once('/').unwrap_or_default();
    match (after.pointer_mut(parent), value) {
        (Some(Value::Object(parent)), Value::Null) => drop(parent.remove(key)),
        (Some(Value::Object(parent)), value) => drop(parent.insert(key.replace("~1", "/"), value)),
        _ => {}
    }
    assert_ne!(after, sample(), "{place} changes nothing");
    between(&sample(), &after)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_description_breaks_nothing() {
        assert_eq!(between(&sample(), &sample()), []);
    }

    #[test]
    fn the_base_takes_breaks_only_of_a_higher_version() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("base.json");
        assert_eq!(accept_into(&file, &sample()).unwrap(), None);
        let first = base::read(&file).unwrap();
        assert_eq!(first, base::of(&sample()));

        let mut broken = sample();
        let schemas = broken["components"]["schemas"].as_object_mut().unwrap();
        schemas.remove("ApiError").unwrap();
        let objection = accept_into(&file, &broken).unwrap().unwrap();
        assert_eq!(
            objection,
            "schema ApiError: is gone\n\
             raise the version of the workspace and info.version to 0.2.0, or revert the changes"
        );
        assert_eq!(base::read(&file).unwrap(), first, "untouched");

        broken["info"]["version"] = json!("0.2.0");
        assert_eq!(accept_into(&file, &broken).unwrap(), None);
        assert_eq!(base::read(&file).unwrap(), base::of(&broken));
    }

    #[test]
    fn a_base_of_another_version_is_outdated() {
        let mut raised = sample();
        raised["info"]["version"] = json!("0.2.0");
        let versions = version::Versions::new(&sample(), &raised).unwrap();
        assert_eq!(refused(&[], &versions), None);
        assert_eq!(
            outdated(&versions).unwrap(),
            "openapi/base.json is of another version; \
             run `cargo xtask breaking --accept` and commit"
        );
        let versions = version::Versions::new(&sample(), &sample()).unwrap();
        assert_eq!(outdated(&versions), None);
    }

    #[test]
    fn a_break_passes_only_with_a_higher_version() {
        let versions = |before: &str, after: &str| {
            let description = |version: &str| json!({ "info": { "version": version } });
            version::Versions::new(&description(before), &description(after)).unwrap()
        };
        assert!(!versions("0.1.0", "0.1.0").admit_breaks());
        assert!(!versions("0.1.0", "0.1.1").admit_breaks());
        assert!(versions("0.1.0", "0.2.0").admit_breaks());
        assert!(versions("0.1.9", "1.0.0").admit_breaks());
        assert!(!versions("1.1.0", "1.2.0").admit_breaks());
        assert!(versions("1.1.0", "2.0.0").admit_breaks());
        assert!(!versions("0.2.0", "0.1.0").admit_breaks());
        assert_eq!(versions("0.1.7", "0.1.8").needed(), "0.2.0");
        assert_eq!(versions("1.1.0", "1.2.0").needed(), "2.0.0");
    }

    #[test]
    fn an_invalid_version_is_an_error() {
        let description = json!({ "info": { "version": "1.0" } });
        let error = version::Versions::new(&description, &description)
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "info.version is \"1.0\"; write three numbers with dots"
        );
    }
}
