//! Tests that decode and encode every example body of the description, including request bodies,
//! without loss of values.

use std::collections::BTreeSet;

use modelarts_api::{OPERATIONS, decode::Skipped};
use serde_json::{Map, Value};

use crate::comparison;

const SCHEMAS: &str = "#/components/schemas/";

/// Request or response body, with its schema and examples.
pub struct Body<'a> {
    pub place: String,
    schema: &'a str,
    pub examples: Vec<&'a Value>,
}

pub fn bodies<'a>(root: &'a Value, operation: &'a Value) -> Vec<Body<'a>> {
    let id = operation["operationId"].as_str().unwrap();
    let request = operation.get("requestBody").map(|body| ("request", body));
    let answers = operation["responses"].as_object().unwrap().iter();
    let answers = answers.map(|(status, answer)| (status.as_str(), answer));
    let mut bodies = Vec::new();
    for (what, body) in request.into_iter().chain(answers) {
        let contents = follow(root, body)["content"].as_object();
        for content in contents.into_iter().flat_map(Map::values) {
            let reference = content["schema"]["$ref"].as_str().unwrap();
            let named = content["examples"].as_object();
            let named = named.into_iter().flat_map(Map::values);
            let examples = named.map(|example| &follow(root, example)["value"]);
            bodies.push(Body {
                place: format!("{id}, {what}"),
                schema: reference.strip_prefix(SCHEMAS).unwrap(),
                examples: content.get("example").into_iter().chain(examples).collect(),
            });
        }
    }
    bodies
}

pub fn operations(root: &Value) -> impl Iterator<Item = &Value> {
    let items = root["paths"].as_object().unwrap().values();
    let methods = items.flat_map(|item| item.as_object().unwrap().values());
    methods.filter(|method| method["operationId"].is_string())
}

fn follow<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(&reference[1..]).unwrap(),
        None => value,
    }
}

#[test]
fn every_example_of_a_body_is_unchanged_by_its_type() {
    let root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let (mut visited, mut survived) = (BTreeSet::new(), 0);
    for operation in operations(&root) {
        visited.insert(operation["operationId"].as_str().unwrap());
        for body in bodies(&root, operation) {
            assert!(!body.examples.is_empty(), "{}: no example", body.place);
            for example in body.examples {
                let sent = serde_json::to_vec(example).unwrap();
                let compared = comparison::of(&root, body.schema, &sent);
                let (findings, skipped) =
                    compared.unwrap_or_else(|error| panic!("{}: {error}", body.place));
                let other = findings.iter().find(|finding| finding.kind != "note");
                assert!(other.is_none(), "{}: {other:?}", body.place);
                assert_eq!(skipped, Skipped::default(), "{}", body.place);
                survived += 1;
            }
        }
    }
    let operations: BTreeSet<_> = OPERATIONS.iter().map(|row| row.id).collect();
    assert_eq!(visited, operations);
    assert!(visited.len() >= 55, "{}", visited.len());
    assert!(survived > 100, "{survived}");
}
