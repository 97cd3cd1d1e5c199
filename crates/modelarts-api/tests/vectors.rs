//! Comparison of the generated tables and the description with the vectors about them in
//! `openapi/vectors`. A fact that exists may not change or vanish without an edit of the vectors.
//! An operation, value, code or field that is added needs none.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, path::Path};

use modelarts_api::{DESCRIPTION, ERROR_CODES, Effect, ErrorCode, OPERATIONS, REGIONS};
use serde_json::{Map, Value, json};

fn cases(file: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors");
    let text = fs::read_to_string(Path::new(folder).join(file)).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

/// Compares each case with the described fact, and names all that differ. `place` is the part of
/// the description with the facts.
fn compare(file: &str, place: &str, described: impl Fn(&str, &Value) -> Option<Value>) {
    let differ = cases(file).into_iter().filter_map(|case| {
        let name = case["name"].as_str().unwrap();
        let fact = described(name, &case);
        let differs = fact.as_ref() != Some(&case);
        let fact = fact.map_or("nothing".to_owned(), |fact| fact.to_string());
        differs.then(|| format!("{place} {name}: {fact}, not {case}; see vectors/{file}"))
    });
    let differ: Vec<_> = differ.collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn operations_have_the_requests_effects_and_codes_of_the_vectors() {
    compare("operations.json", "operation", |name, case| {
        let row = OPERATIONS.iter().find(|row| row.id == name)?;
        let effect = match row.effect {
            Effect::Read => "read",
            Effect::Idempotent => "idempotent",
            Effect::Create => "create",
        };
        // An operation may have further codes.
        let codes = case["error_codes"].as_array().unwrap().iter();
        let codes: Vec<_> =
            codes.filter(|code| row.own_error_codes.iter().any(|own| *code == own)).collect();
        Some(json!({
            "name": row.id, "method": row.method, "path": row.path, "effect": effect,
            "error_codes": codes,
        }))
    });
}

#[test]
fn codes_have_the_statuses_and_retries_of_the_vectors() {
    compare("codes.json", "errors.yaml", |name, _| {
        let is_named = |row: &&ErrorCode| format!("{} {}", row.code, row.status) == name;
        let row = ERROR_CODES.iter().find(is_named)?;
        let retry = |effect| format!("{:?}", row.retry(effect)).to_lowercase();
        Some(json!({"name": name, "retry": {
            "read": retry(Effect::Read),
            "idempotent": retry(Effect::Idempotent),
            "create": retry(Effect::Create),
        }}))
    });
}

#[test]
fn regions_have_the_addresses_of_the_vectors() {
    compare("regions.json", "servers: region", |name, _| {
        let row = REGIONS.iter().find(|row| row.id == name)?;
        Some(json!({"name": row.id, "cloud": row.cloud, "endpoint": row.endpoint}))
    });
}

/// Keywords that the vectors have.
const KEYWORDS: [&str; 15] = [
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "x-unit",
    "x-default",
];

/// Adds the keywords of a definition, and of the elements or values inside it.
fn keywords(name: &str, definition: &Value, found: &mut BTreeMap<String, Map<String, Value>>) {
    for key in KEYWORDS {
        if let Some(value) = definition.get(key) {
            found.entry(name.to_owned()).or_default().insert(key.to_owned(), value.clone());
        }
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = definition.get(key).filter(|inner| inner.is_object()) {
            keywords(&format!("{name}{mark}"), inner, found);
        }
    }
}

#[test]
fn limits_units_and_defaults_are_those_of_the_vectors() {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let components = &description["components"];
    let mut found = BTreeMap::new();
    for (name, schema) in components["schemas"].as_object().unwrap() {
        keywords(name, schema, &mut found);
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            keywords(&format!("{name}.{field}"), property, &mut found);
        }
    }
    for (name, parameter) in components["parameters"].as_object().unwrap() {
        keywords(name, parameter, &mut found);
        keywords(name, &parameter["schema"], &mut found);
    }
    compare("limits.json", "component", |name, _| {
        let mut described = found.get(name)?.clone();
        described.insert("name".to_owned(), name.into());
        Some(described.into())
    });
}

#[test]
fn enumerations_have_the_values_and_meanings_of_the_vectors() {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let schemas = &description["components"]["schemas"];
    compare("values.json", "schema", |name, case| {
        let mut described = case.clone();
        let values = schemas[name]["enum"].as_array()?;
        described["values"].as_array_mut()?.retain(|value| values.contains(value));
        // The open enumeration describes the values.
        let text = schemas[name.trim_start_matches("Known")]["description"].as_str();
        let text: Vec<_> = text.unwrap_or_default().split_whitespace().collect();
        if let Some(meanings) = described.get_mut("meanings").and_then(Value::as_object_mut) {
            meanings.retain(|value, meaning| {
                text.join(" ").contains(&format!("- `{value}`: {}", meaning.as_str().unwrap()))
            });
        }
        Some(described)
    });
}
