//! Reverts two forms that the description uses for the generators of other languages.
//!
//! A number that may come as text is written as `anyOf: [integer, string]`, because strict
//! languages cannot decode such an answer otherwise. Decoding in this crate accepts both, so the
//! field becomes a plain `i64`. An open enumeration in a parameter is written as text with
//! `x-open-enum`, which names the known values, because a generator for Java cannot omit a
//! parameter of an `anyOf`; progenitor can.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Replaces both forms by integers and references.
pub fn undo(description: &mut Value) {
    let Some(schemas) = description
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let numbers: BTreeSet<String> = schemas
        .iter()
        .filter(|(_, schema)| is_integer_or_text(schema))
        .map(|(name, _)| format!("{SCHEMAS}{name}"))
        .collect();
    schemas.retain(|_, schema| !is_integer_or_text(schema));
    let open_enums = schemas
        .iter()
        .filter_map(|(name, schema)| {
            let known = schema.pointer("/anyOf/0/$ref")?.as_str()?;
            Some((known.strip_prefix(SCHEMAS)?.to_owned(), name.clone()))
        })
        .collect();
    walk(description, &numbers, &open_enums);
}

fn is_integer_or_text(schema: &Value) -> bool {
    schema.get("anyOf") == Some(&json!([integer(), { "type": "string" }]))
}

fn integer() -> Value {
    json!({ "type": "integer", "format": "int64" })
}

/// `open_enums` has the names of open enumerations by those of their known values.
fn walk(value: &mut Value, numbers: &BTreeSet<String>, open_enums: &BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                // Examples are data, not schemas.
                if key != "example" && key != "examples" {
                    walk(value, numbers, open_enums);
                }
            }
            unwrap_integer(object);
            let known = object.get("x-open-enum").and_then(Value::as_str);
            // Other text with known values, such as an error code, stays text.
            if let Some(name) = known.and_then(|known| open_enums.get(known)) {
                *value = json!({ "$ref": format!("{SCHEMAS}{name}") });
            } else if let Some(Value::String(reference)) = object.get("$ref")
                && numbers.contains(reference)
            {
                *value = integer();
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| walk(value, numbers, open_enums)),
        _ => {}
    }
}

/// Replaces the `allOf: [integer]` that remains where a property wrapped the reference.
fn unwrap_integer(object: &mut Map<String, Value>) {
    if object.get("allOf") == Some(&json!([integer()]))
        && let Value::Object(keywords) = integer()
    {
        object.remove("allOf");
        object.extend(keywords);
    }
}
