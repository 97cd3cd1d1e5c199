//! Classification of schemas by direction: those that clients send, and those that they receive.

use std::collections::BTreeSet;

use serde_json::Value;

use super::json::{entries, follow};

const SCHEMAS: &str = "#/components/schemas/";

/// Names of the schemas in requests and in responses.
#[derive(Default)]
pub struct Usage {
    pub sent: BTreeSet<String>,
    pub received: BTreeSet<String>,
}

/// Directions in which a schema is transferred: in requests, in responses, or in both.
#[derive(Clone, Copy)]
pub struct Ways {
    pub sent: bool,
    pub received: bool,
}

impl Usage {
    pub fn of(root: &Value) -> Self {
        let mut usage = Self::default();
        for (_, path) in entries(&root["paths"]) {
            for (_, part) in entries(path) {
                // `part` is either the list of a path's parameters or an operation.
                let parameters = part.as_array().or_else(|| part["parameters"].as_array());
                for parameter in parameters.into_iter().flatten() {
                    collect(root, &follow(root, parameter)["schema"], &mut usage.sent);
                }
                collect(root, &part["requestBody"], &mut usage.sent);
                collect(root, &part["responses"], &mut usage.received);
            }
        }
        usage
    }

    pub fn ways(&self, name: &str) -> Ways {
        Ways {
            sent: self.sent.contains(name),
            received: self.received.contains(name),
        }
    }
}

/// Collects the names of all schemas that `value` refers to, directly or indirectly.
fn collect(root: &Value, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(reference) = value["$ref"].as_str() {
                let name = reference.strip_prefix(SCHEMAS);
                if name.is_none_or(|name| names.insert(name.to_owned())) {
                    collect(root, follow(root, value), names);
                }
                return;
            }
            for (key, value) in object {
                // Skips examples, because their data may have the form of a reference.
                if key != "example" && key != "examples" {
                    collect(root, value, names);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(root, value, names)),
        _ => {}
    }
}
