//! Named schemas of the description, in the form that is compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::shape::{Field, Shape, Types};

const SCHEMAS: &str = "#/components/schemas/";

/// Keywords that determine the shape of a value, and `description`, which is ignored.
const READ: [&str; 11] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "description",
    "enum",
    "format",
    "items",
    "nullable",
    "properties",
    "type",
];

pub struct Described {
    pub types: Types,
    /// Names of the types that a response can contain.
    pub in_answers: BTreeSet<String>,
    /// Names of the schemas that list the known values of open enumerations.
    pub known: BTreeSet<String>,
}

pub fn read(description: &Value) -> Described {
    let empty = Map::new();
    let schemas = description
        .pointer("/components/schemas")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let mut answers = BTreeSet::new();
    if let Some(responses) = description.pointer("/components/responses") {
        references(responses, &mut answers);
    }
    let paths = description.get("paths").and_then(Value::as_object);
    for path in paths.into_iter().flat_map(Map::values) {
        for operation in path.as_object().into_iter().flat_map(Map::values) {
            if let Some(responses) = operation.get("responses") {
                references(responses, &mut answers);
            }
        }
    }
    let known = schemas
        .values()
        .filter_map(|schema| name(schema.get("anyOf")?.get(0)?))
        .map(str::to_owned)
        .collect();
    Described {
        types: schemas
            .iter()
            .map(|(name, schema)| (name.clone(), field(schema, false, schemas)))
            .collect(),
        in_answers: reachable(answers, schemas),
        known,
    }
}

fn field(schema: &Value, required: bool, schemas: &Map<String, Value>) -> Field {
    let keywords = schema.as_object().into_iter().flat_map(Map::keys);
    Field {
        shape: shape(schema, schemas),
        nullable: schema.get("nullable") == Some(&Value::Bool(true)),
        required,
        keywords: keywords
            // `required` is skipped, because it is compared for each field.
            .filter(|key| !READ.contains(&key.as_str()) && *key != "required")
            .cloned()
            .collect(),
    }
}

fn shape(schema: &Value, schemas: &Map<String, Value>) -> Shape {
    let odd = || Shape::Odd(schema.to_string());
    if let Some(name) = name(schema) {
        return Shape::Named(name.to_owned());
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        return match parts.as_slice() {
            [part] => shape(part, schemas),
            _ => odd(),
        };
    }
    if let Some(parts) = schema.get("anyOf") {
        let known = parts.get(0).and_then(name).and_then(|n| schemas.get(n));
        return match known.map(|known| shape(known, schemas)) {
            Some(Shape::Values { values, .. }) => Shape::Values { values, open: true },
            _ => odd(),
        };
    }
    let values = schema.get("enum").and_then(Value::as_array);
    if let Some(values) = values {
        let values = values.iter().filter_map(Value::as_str);
        return Shape::Values {
            values: values.map(str::to_owned).collect(),
            open: false,
        };
    }
    let inner = |key: &str| {
        let inner = schema.get(key).map(|inner| shape(inner, schemas));
        Box::new(inner.unwrap_or(Shape::Any))
    };
    match schema.get("type").and_then(Value::as_str) {
        None => Shape::Any,
        Some("array") => Shape::List(inner("items")),
        Some("object") if schema.get("additionalProperties").is_some() => {
            Shape::Map(inner("additionalProperties"))
        }
        Some("object") => Shape::Object(fields(schema, schemas)),
        Some(kind) => Shape::Scalar {
            kind: kind.to_owned(),
            format: schema
                .get("format")
                .and_then(Value::as_str)
                .map(str::to_owned),
        },
    }
}

fn fields(schema: &Value, schemas: &Map<String, Value>) -> BTreeMap<String, Field> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), field(property, is_required(name), schemas)))
        .collect()
}

fn name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}

/// Collects the names of the schemas that `value` refers to.
fn references(value: &Value, names: &mut BTreeSet<String>) {
    names.extend(name(value).map(str::to_owned));
    match value {
        Value::Object(object) => object
            .iter()
            // Skips examples, which are data and not schemas.
            .filter(|(key, _)| *key != "example" && *key != "examples")
            .for_each(|(_, inner)| references(inner, names)),
        Value::Array(list) => list.iter().for_each(|inner| references(inner, names)),
        _ => {}
    }
}

fn reachable(roots: BTreeSet<String>, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<_> = roots.into_iter().collect();
    while let Some(name) = open.pop() {
        let mut next = BTreeSet::new();
        if let Some(schema) = schemas.get(&name) {
            references(schema, &mut next);
        }
        if found.insert(name) {
            open.extend(next);
        }
    }
    found
}
