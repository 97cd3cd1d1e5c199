//! Reversal of two forms that the description uses for generators of other languages.
//!
//! - A number that the service may send as a string is written as `anyOf: [integer, string]`.
//!   Strictly typed languages could not decode the string otherwise. Decoding in this crate accepts
//!   both, so the field becomes an `i64`.
//! - An open enumeration in a parameter is written as a string with `x-open-enum`, which names the
//!   schema of the known values. With an `anyOf`, generated Java code could not omit the parameter.
//!   progenitor has no such limitation, so the string becomes a reference to the open enumeration.

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Replaces both forms: the first by integers, the second by references.
pub fn undo(description: &mut Value) {
    let Some(Value::Object(schemas)) = description.pointer("/components/schemas").cloned() else {
        return;
    };
    walk(description, &schemas);
    if let Some(Value::Object(schemas)) = description.pointer_mut("/components/schemas") {
        schemas.retain(|_, schema| !is_integer_or_text(schema));
    }
}

fn is_integer_or_text(schema: &Value) -> bool {
    schema.get("anyOf") == Some(&json!([integer(), { "type": "string" }]))
}

fn integer() -> Value {
    json!({ "type": "integer", "format": "int64" })
}

fn walk(value: &mut Value, schemas: &Map<String, Value>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                // Examples are data, not schemas.
                if key != "example" && key != "examples" {
                    walk(value, schemas);
                }
            }
            // A property with its own description wraps the reference in `allOf`.
            if object.get("allOf") == Some(&json!([integer()]))
                && let Value::Object(keywords) = integer()
            {
                object.remove("allOf");
                object.extend(keywords);
            }
            let text = |key: &str| object.get(key).and_then(Value::as_str);
            let target = text("$ref").and_then(|target| schemas.get(target.strip_prefix(SCHEMAS)?));
            // Other strings with known values, such as error codes, remain strings.
            if let Some(name) = text("x-open-enum").and_then(|known| open_enum(schemas, known)) {
                *value = json!({ "$ref": format!("{SCHEMAS}{name}") });
            } else if target.is_some_and(is_integer_or_text) {
                *value = integer();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| walk(value, schemas)),
        _ => {}
    }
}

/// Returns the name of the open enumeration with these known values.
fn open_enum<'a>(schemas: &'a Map<String, Value>, known: &str) -> Option<&'a str> {
    let reference = format!("{SCHEMAS}{known}");
    let mut schemas = schemas.iter();
    let found = schemas.find(|(_, schema)| {
        schema.pointer("/anyOf/0/$ref").and_then(Value::as_str) == Some(&reference)
    });
    found.map(|(name, _)| name.as_str())
}
