//! Schemas of the OpenAPI description, for the values of calls. Null stands for a missing schema,
//! which permits any value.

use std::collections::BTreeSet;

use modelarts_ext::api::Operation;
use serde_json::Value;

use crate::commands::api::{DOCUMENT, documented};

pub(super) fn parameter(operation: &Operation, name: &str) -> &'static Value {
    let path = &DOCUMENT["paths"][operation.path];
    let lists = [path, documented(operation)].map(|it| it["parameters"].as_array());
    let mut parameters = lists.into_iter().flatten().flatten().map(resolve);
    let found = parameters.find(|it| it["name"] == name);
    found.map_or(&Value::Null, |it| &it["schema"])
}

pub(super) fn request(operation: &Operation) -> &'static Value {
    content(&documented(operation)["requestBody"])
}

/// Returns the schema of a response; `None` for a status that is not described.
pub(super) fn response(operation: &Operation, status: u16) -> Option<&'static Value> {
    let mut keys = [status.to_string(), format!("{}XX", status / 100)].into_iter();
    keys.find_map(|key| documented(operation)["responses"].get(key)).map(content)
}

fn content(body: &'static Value) -> &'static Value {
    &resolve(body)["content"]["application/json"]["schema"]
}

fn resolve(value: &'static Value) -> &'static Value {
    let target = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    let target = target.and_then(|it| DOCUMENT.pointer(it));
    target.map_or(value, resolve)
}

/// A schema, and the schemas that it is composed of.
pub(super) struct Schema(Vec<&'static Value>);

impl Schema {
    pub(super) fn new(schema: &'static Value) -> Self {
        let schema = resolve(schema);
        let known = schema["x-open-enum"].as_str().unwrap_or_default();
        let mut parts = vec![schema, &DOCUMENT["components"]["schemas"][known]];
        for list in ["allOf", "anyOf"] {
            let list = schema[list].as_array().into_iter().flatten();
            parts.extend(list.flat_map(|part| Self::new(part).0));
        }
        Self(parts)
    }

    pub(super) fn get(&self, keyword: &str) -> &'static Value {
        let mut values = self.0.iter().filter_map(|part| part.get(keyword));
        values.next().unwrap_or(&Value::Null)
    }

    /// Returns the values of the keyword `enum` or `required`.
    pub(super) fn texts(&self, keyword: &str) -> BTreeSet<&'static str> {
        let lists = self.0.iter().filter_map(|part| part[keyword].as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the schema of the field with this name.
    pub(super) fn field(&self, name: &str) -> Option<&'static Value> {
        self.0.iter().find_map(|part| part["properties"].get(name))
    }

    /// Returns the schema of the map values; `None` if the object is not a map.
    pub(super) fn entries(&self) -> Option<&'static Value> {
        let entries = self.get("additionalProperties");
        (!entries.is_null() || self.get("properties").is_null()).then_some(entries)
    }

    /// Returns `Some(true)` if the enumeration has the value, ignoring case: the service spells
    /// `K8S` also as `K8s`. Returns `None` if the schema is not an enumeration.
    pub(super) fn knows(&self, text: &str) -> Option<bool> {
        let known = self.texts("enum");
        (!known.is_empty()).then(|| known.iter().any(|it| it.eq_ignore_ascii_case(text)))
    }

    /// Returns the types that the schema permits; `None` if the type of the value is one of them.
    pub(super) fn other_types(&self, value: &Value) -> Option<String> {
        let types = self.0.iter().filter_map(|part| part["type"].as_str());
        let types: BTreeSet<&str> = types.collect();
        let is_whole = value.as_f64().is_some_and(|it| it.fract() == 0.0);
        let is_admitted = types.is_empty()
            || types.contains(type_of(value))
            || types.contains("integer") && is_whole
            || value.is_null() && self.get("nullable") == true;
        (!is_admitted).then(|| Vec::from_iter(types).join(" or "))
    }
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
