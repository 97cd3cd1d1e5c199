//! Tests with the requests in `openapi/attested`, most of which were run on the live service.
//!
//! Each body is decoded into its generated type and encoded again. The parameters of each query,
//! and the assertions about responses, are compared with the description.

use std::{collections::BTreeSet, fs, path::PathBuf};

use modelarts_api::decode::Skipped;
use serde_json::{Map, Value};

use crate::{
    comparison,
    description::{Description, Kind},
};

/// Bodies that both the generated types and the service reject, each with the expected error.
const REFUSED: &[(&str, &str)] =
    &[("skill-refused-algorithm-change-without-name", "missing field `name`")];

/// Values that a generated type drops, by body and JSON pointer, each with the reason.
const LOST: &[(&str, &str, &str)] = &[
    ("airflow-algorithm-create", "/job_config/engine/image_info", POSTED_BACK),
    ("airflow-algorithm-create", "/job_config/engine/image_source", POSTED_BACK),
    ("airflow-algorithm-create", "/job_config/engine/run_user", POSTED_BACK),
    ("airflow-algorithm-create", "/job_config/engine/tags", POSTED_BACK),
    ("airflow-algorithm-create", "/job_config/engine/v1_compatible", POSTED_BACK),
    ("agent-job-public-policy", "/spec/resource/policy", POSTED_BACK),
    ("climbmix-job-two-nodes", "/spec/resource/policy", POSTED_BACK),
    ("macli-copied-job", "/metadata/ai_project", POSTED_BACK),
    ("macli-copied-job", "/spec/resource/policy", POSTED_BACK),
    ("macli-copied-job", "/metadata/user_name", POSTED_BACK),
];
const POSTED_BACK: &str = "a field of answers, which does no harm in a request: D-129";

/// Empty lists and maps that a generated type omits, by body and JSON pointer, each with the
/// reason.
const EMPTY: &[(&str, &str, &str)] = &[
    ("algorithm-change-to-nothing", "/advanced_config/auto_search/algo_configs", NO_SEARCH),
    ("algorithm-change-to-nothing", "/advanced_config/auto_search/reward_attrs", NO_SEARCH),
    ("algorithm-change-to-nothing", "/advanced_config/auto_search/search_params", NO_SEARCH),
    ("climbmix-job-two-nodes", "/algorithm/parameters", NEW),
    ("community-job-free-gpu", "/algorithm/parameters", NEW),
    ("macli-copied-job", "/algorithm/environments", NEW),
    ("macli-copied-job", "/metadata/annotations", NEW),
];
const NO_SEARCH: &str = "the empty object that is left means the same: no search";
const NEW: &str = "a new job has nothing that an empty list or map could remove";

/// Returns the JSON of a file in `openapi/attested`.
pub fn read(path: &str) -> Value {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../openapi/attested");
    let text = fs::read_to_string(file.join(path));
    serde_json::from_str(&text.unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

fn entries() -> Vec<Value> {
    read("manifest.json")["entries"].as_array().unwrap().clone()
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_else(|| panic!("{entry}: {key}"))
}

/// Returns the method and the definition of an operation.
pub fn operation<'a>(root: &'a Value, id: &str) -> (&'a str, &'a Value) {
    let paths = root["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|item| item.as_object().unwrap());
    let found = operations.clone().find(|(_, operation)| operation["operationId"] == id);
    let (method, operation) = found.unwrap_or_else(|| panic!("{id}: no such operation"));
    (method, operation)
}

/// Returns the name of the schema of a body.
pub fn schema(content: &Value) -> &str {
    let reference = &content["content"]["application/json"]["schema"]["$ref"];
    let name = reference.as_str().unwrap();
    name.strip_prefix("#/components/schemas/").unwrap()
}

/// Removes nulls, which some clients send for absent fields, and types of requests reject.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

#[test]
fn every_attested_body_is_unchanged_by_its_type() {
    let root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let mut used = BTreeSet::new();
    for entry in entries() {
        let Some(file) = entry["file"].as_str() else {
            continue;
        };
        let (name, mut sent) = (text(&entry, "name"), read(file));
        remove_nulls(&mut sent);
        assert!(used.insert(file.to_owned()), "{name}: {file} twice");
        let (_, operation) = operation(&root, text(&entry, "operation"));
        let sent = serde_json::to_vec(&sent).unwrap();
        let compared = comparison::of(&root, schema(&operation["requestBody"]), &sent);
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            let error = compared.unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
            continue;
        }
        let (findings, skipped) = compared.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(skipped, Skipped::default(), "{name}");
        let lost = LOST.iter().map(|(body, at, _)| (*body, "unknown", *at));
        let empty = EMPTY.iter().map(|(body, at, _)| (*body, "note", *at));
        let expected = lost.chain(empty).filter(|(body, ..)| *body == name);
        let found = findings.iter().map(|it| (name, it.kind, &*it.pointer));
        assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>());
    }
    // Every file in the folder of bodies must have an entry.
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../openapi/attested/bodies");
    let files = fs::read_dir(folder).unwrap().map(|file| {
        let name = file.unwrap().file_name().into_string().unwrap();
        format!("bodies/{name}")
    });
    assert_eq!(files.collect::<BTreeSet<_>>(), used);
    for (body, ..) in LOST.iter().chain(EMPTY) {
        assert!(used.contains(&format!("bodies/{body}.json")), "{body}");
    }
}

#[test]
fn every_attested_query_has_parameters_of_its_operation() {
    let root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let mut queries = 0;
    for entry in entries().iter().filter(|entry| entry["file"].is_null()) {
        queries += 1;
        let (method, operation) = operation(&root, text(entry, "operation"));
        assert_eq!((method, operation.get("requestBody")), ("get", None));
        let known = parameters(&root, operation);
        let asked = entry.get("query").and_then(Value::as_object);
        for name in asked.into_iter().flat_map(Map::keys) {
            assert!(known.contains(name.as_str()), "{entry}: {name}");
        }
    }
    assert_eq!(queries, 12);
}

/// Returns the names of the query parameters of an operation.
pub fn parameters<'a>(root: &'a Value, operation: &'a Value) -> BTreeSet<&'a str> {
    let list = operation["parameters"].as_array();
    list.into_iter()
        .flatten()
        .map(|parameter| match parameter["$ref"].as_str() {
            Some(reference) => root.pointer(&reference[1..]).unwrap(),
            None => parameter,
        })
        .filter(|parameter| parameter["in"] == "query")
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect()
}

/// Returns the kind of the value at a path in the response of an operation, such as
/// `spec.volumes[0].nfs`.
pub fn at(description: &Description, root: &Value, id: &str, path: &str) -> Result<Kind, String> {
    let (_, operation) = operation(root, id);
    let answers = operation["responses"].as_object().unwrap();
    let (_, answer) = answers
        .iter()
        .find(|(status, answer)| status.starts_with('2') && answer.get("content").is_some())
        .ok_or_else(|| format!("{id}: no answer"))?;
    let mut kind = description.named(schema(answer));
    for step in path.split('.') {
        let (name, indices) = match step.split_once('[') {
            Some((name, indices)) => (name, indices.matches(']').count()),
            None => (step, 0),
        };
        kind = match kind {
            Kind::Object(schema) => match description.fields(&schema).remove(name) {
                Some(kind) => kind,
                None => return Err(format!("{id} {path}: {schema} has no {name}")),
            },
            Kind::Map { inner, .. } => *inner,
            Kind::Any => Kind::Any,
            kind => return Err(format!("{id} {path}: {kind:?} has no {name}")),
        };
        for _ in 0..indices {
            kind = match kind {
                Kind::List(inner) => *inner,
                Kind::Any => Kind::Any,
                kind => return Err(format!("{id} {path}: {kind:?} is no list")),
            };
        }
    }
    Ok(kind)
}

/// Returns whether the description admits the value.
fn fits(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Integer => value.is_i64(),
        Kind::Number => value.is_number(),
        Kind::Flag => value.is_boolean(),
        Kind::Text => value.is_string(),
        Kind::Open(known) => known.iter().any(|known| value == known),
        Kind::Object(_) | Kind::Map { .. } => value.is_object(),
        Kind::List(inner) => {
            let list = value.as_array();
            list.is_some_and(|list| list.iter().all(|value| fits(inner, value)))
        }
        Kind::Any => true,
    }
}

/// Returns the operation whose response an assertion concerns.
fn asserted_in(entry: &Value) -> &str {
    match text(entry, "asserted_in") {
        "details" => "ShowTrainingJobDetails",
        "the list" | "the answer" => text(entry, "operation"),
        named => named.split([' ', ',']).next().unwrap(),
    }
}

#[test]
fn assertions_about_answers_are_described() {
    let root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let description = Description::read();
    let (mut asserts, mut surprises) = (0, Vec::new());
    for entry in entries() {
        for assert in entry["asserts"].as_array().into_iter().flatten() {
            asserts += 1;
            let path = text(assert, "path");
            match at(&description, &root, asserted_in(&entry), path) {
                Err(_) if assert["is"] == "absent-or-empty" => {}
                Err(why) => surprises.push(why),
                // A string in parentheses describes the expected value instead of stating it.
                Ok(kind) if assert["is"] == "equal" && !fits(&kind, &assert["value"]) => {
                    if !assert["value"].as_str().is_some_and(|text| text.starts_with('(')) {
                        surprises.push(format!("{path}: {kind:?} is not {}", assert["value"]));
                    }
                }
                Ok(_) => {}
            }
        }
    }
    assert_eq!(surprises, Vec::<String>::new());
    assert_eq!(asserts, 407);
}
