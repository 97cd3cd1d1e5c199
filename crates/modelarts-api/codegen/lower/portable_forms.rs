//! Undoes two forms that the description has for the generators of other languages.
//!
//! The description writes a number that may come as text as `anyOf: [integer, string]`,
//! because strict languages read nothing else of such an answer; our decoding reads
//! both anyway, so that users see plain `i64`. And it writes an open enumeration in a
//! parameter as text whose `x-open-enum` names the known values, because a generator for
//! Java cannot leave out a parameter of an `anyOf`; ours can.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Writes integers and references where the description has the two forms.
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
                // An example is data.
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

/// `allOf: [integer]` is left where a property wrapped the reference.
fn unwrap_integer(object: &mut Map<String, Value>) {
    if object.get("allOf") == Some(&json!([integer()]))
        && let Value::Object(keywords) = integer()
    {
        object.remove("allOf");
        object.extend(keywords);
    }
}
