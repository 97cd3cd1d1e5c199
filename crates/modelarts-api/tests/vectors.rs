//! Comparison of the generated tables and the description with `openapi/vectors/operations.json`
//! and `openapi/vectors/values.json`. An operation or value that exists may not change or vanish
//! without an edit of the vectors; one that is added needs none.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use modelarts_api::{DESCRIPTION, Effect, OPERATIONS};
use serde_json::{Value, json};

fn cases(file: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors");
    let text = fs::read_to_string(Path::new(folder).join(file)).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

#[test]
fn operations_have_the_requests_and_effects_of_the_vectors() {
    for case in cases("operations.json") {
        let operation = OPERATIONS.iter().find(|row| case["name"] == row.id);
        let operation = operation.map(|row| {
            let effect = match row.effect {
                Effect::Read => "read",
                Effect::Idempotent => "idempotent",
                Effect::Create => "create",
            };
            json!({"name": row.id, "method": row.method, "path": row.path, "effect": effect})
        });
        assert_eq!(operation, Some(case));
    }
}

#[test]
fn enumerations_have_the_values_of_the_vectors() {
    let description: Value = serde_saphyr::from_str(DESCRIPTION).unwrap();
    for case in cases("values.json") {
        let name = case["name"].as_str().unwrap();
        let described = description["components"]["schemas"][name]["enum"].as_array();
        let described = described.unwrap_or_else(|| panic!("{name} is no enumeration"));
        for value in case["values"].as_array().unwrap() {
            assert!(described.contains(value), "{name} does not have {value}");
        }
    }
}
