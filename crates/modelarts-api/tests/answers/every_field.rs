//! Tests that decode each field of each response schema separately, in every spelling.

use std::collections::{BTreeMap, BTreeSet};

use modelarts_api::decode::Skipped;
use serde_json::{Map, Value, json};

use crate::{
    cases::{self, Case},
    description::{Description, Kind},
    types,
};

/// Returns the name of the decoding tolerance for fields of this kind.
fn tolerance(kind: &Kind) -> &'static str {
    match kind {
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Flag => "flag",
        Kind::Text => "text",
        Kind::Open(_) => "enumeration",
        Kind::Object(_) => "object",
        Kind::List(_) => "list",
        Kind::Map { .. } => "map",
        Kind::Any => "any",
    }
}

/// Decodes an object with this single field, and compares the result with the expected one.
fn check(schema: &str, field: &str, case: &Case) {
    let body = json!({ field: case.sent });
    let trip = types::find(schema).unwrap()(body.to_string().as_bytes());
    let (returned, skipped) = trip.unwrap_or_else(|error| panic!("{schema} {body}: {error}"));
    let mut expected = Map::new();
    if let Some(value) = &case.returned {
        expected.insert(field.to_owned(), value.clone());
    }
    assert_eq!(returned, Value::Object(expected), "{schema} {body}");
    let left_out = skipped.rows + skipped.nested;
    assert_eq!(left_out, case.skipped, "{schema} {body}: {skipped:?}");
}

#[test]
fn every_field_of_every_answer_has_every_tolerance() {
    let description = Description::read();
    let mut fields: BTreeMap<&str, usize> = BTreeMap::new();
    let mut checked = 0;
    for schema in &description.in_answers {
        for (field, kind) in description.fields(schema) {
            for case in cases::all(&kind) {
                check(schema, field, &case);
                checked += 1;
            }
            *fields.entry(tolerance(&kind)).or_default() += 1;
        }
    }
    println!("{checked} times (schema, field, case); fields: {fields:?}");
    let total: usize = fields.values().sum();
    assert_eq!(total, description.properties_in_answers());
    assert!(total > 0);
    // Every kind has at least four spellings besides null.
    assert!(checked >= 5 * total, "{checked} of {total}");
    // Each tolerance applies to at least one field.
    let kinds: BTreeSet<_> = fields.keys().copied().collect();
    let all = ["any", "enumeration", "flag", "integer", "list", "map", "number", "object", "text"];
    assert_eq!(kinds, BTreeSet::from(all));
}

#[test]
fn all_fields_are_optional_and_unknown_fields_are_skipped() {
    let description = Description::read();
    let mut checked = 0;
    for schema in &description.in_answers {
        if !matches!(description.named(schema), Kind::Object(_)) {
            continue;
        }
        for body in ["{}", r#"{"unknown_field":{"a":[null]},"other_field":null}"#] {
            let trip = types::find(schema).unwrap()(body.as_bytes());
            assert_eq!(trip, Ok((json!({}), Skipped::default())), "{schema} {body}");
        }
        checked += description.fields(schema).len();
    }
    // In these bodies, every field of every schema was absent once.
    assert_eq!(checked, description.properties_in_answers());
}

#[test]
fn a_body_that_is_a_list_has_the_tolerances_of_one() {
    let description = Description::read();
    let lists: Vec<_> = description
        .roots
        .iter()
        .filter(|name| matches!(description.named(name), Kind::List(_)))
        .collect();
    assert_eq!(lists, ["ListTrainingJobTasksResponse"]);
    for name in lists {
        for case in cases::all(&description.named(name)) {
            let trip = types::find(name).unwrap()(case.sent.to_string().as_bytes());
            // A field may be null or empty, but a body must have a value.
            if [json!(null), json!("")].contains(&case.sent) {
                let error = "the body has no value";
                assert_eq!(trip, Err(error.to_owned()), "{}", case.sent);
                continue;
            }
            let (returned, skipped) = trip.unwrap();
            assert_eq!(returned, case.returned.unwrap_or(json!([])), "{}", case.sent);
            assert_eq!(skipped.rows + skipped.nested, case.skipped);
        }
    }
}
