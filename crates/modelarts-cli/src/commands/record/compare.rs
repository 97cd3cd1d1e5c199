//! Comparison of recorded calls with the OpenAPI description, field by field.

use std::collections::BTreeSet;

use modelarts_ext::api::OPERATIONS;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    commands::record::description::{self, Schema, type_of},
    output::{Column, Row},
};

/// A difference between a call and the description.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// Operation.
    operation: String,
    /// Place in the call: a JSON pointer, with `*` for elements of a list and keys of a map.
    path: String,
    /// The difference.
    difference: String,
}

impl Row for Difference {
    const LIST: &'static str = "differences";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("OPERATION", |row| row.operation.clone()),
        Column::key("PATH", |row| row.path.clone()),
        Column::key("DIFFERENCE", |row| row.difference.clone()),
    ];
}

type Add<'a> = dyn FnMut(&str, String) + 'a;

/// Returns the distinct differences between the calls and the description.
pub(super) fn differences(calls: &[Value]) -> Vec<Difference> {
    let mut all = BTreeSet::new();
    for call in calls {
        let operation = call["operation"].as_str().unwrap_or_default();
        compare(call, &mut |path, difference| {
            all.insert((operation, path.to_owned(), difference));
        });
    }
    let row = |(operation, path, difference): (&str, _, _)| Difference {
        operation: operation.to_owned(),
        path,
        difference,
    };
    all.into_iter().map(row).collect()
}

fn compare(call: &Value, add: &mut Add<'_>) {
    let Some(operation) = OPERATIONS.iter().find(|it| call["operation"] == it.id) else {
        return add("/operation", "is not described".into());
    };
    // Without a response, there is nothing else to compare.
    let Some(status) = call["status"].as_u64().and_then(|it| u16::try_from(it).ok()) else {
        return;
    };
    let (request, body) = (&call["request"], &call["response"]);
    // A rejected request may have an invalid body, so only accepted requests are compared.
    if status < 300 && !request.is_null() {
        compare_value("/request", description::request(operation), request, add);
    }
    match description::response(operation, status) {
        None => add("/status", format!("{status} is not described")),
        // Operations without a response body return nothing or an empty text.
        Some(Value::Null) if body.is_null() || body == "" => {}
        Some(Value::Null) => add("/response", "is not described".into()),
        Some(schema) => compare_value("/response", schema, body, add),
    }
    let mut codes = operation.error_codes();
    if let Some(code) = body["error_code"].as_str()
        && !codes.any(|it| it.code == code && it.status == status)
    {
        let difference = format!("{code:?} is not described with status {status}");
        add("/response/error_code", difference);
    }
}

/// Compares a value with its schema. Ignores patterns, lengths and ranges: placeholders break them.
fn compare_value(path: &str, schema: &'static Value, value: &Value, add: &mut Add<'_>) {
    let schema = Schema::new(schema);
    if let Some(types) = schema.other_types(value) {
        let difference = format!("is {}, described as {types}", type_of(value));
        return add(path, difference);
    }
    match value {
        // Error codes are compared together with the status.
        Value::String(text)
            if !text.is_empty()
                && !path.ends_with("/error_code")
                && schema.knows(text) == Some(false) =>
        {
            add(path, format!("{text:?} is no known value"));
        }
        Value::Array(items) => {
            for item in items {
                compare_value(&format!("{path}/*"), schema.get("items"), item, add);
            }
        }
        Value::Object(members) => {
            for name in schema.texts("required") {
                if !members.contains_key(name) {
                    add(&format!("{path}/{name}"), "is missing, but required".into());
                }
            }
            for (name, value) in members {
                let place = format!("{path}/{name}");
                match (schema.field(name), schema.entries()) {
                    (Some(schema), _) => compare_value(&place, schema, value, add),
                    (_, Some(schema)) => compare_value(&format!("{path}/*"), schema, value, add),
                    _ => add(&place, format!("is {}, not described", type_of(value))),
                }
            }
        }
        _ => {}
    }
}
