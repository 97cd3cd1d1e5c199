//! JSON Schemas of the generated types, derived by schemars.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::shape::{Field, Shape, Types};

const DEFINITIONS: &str = "#/definitions/";

/// Keywords that determine the shape of a value, and `description`, which is ignored.
const READ: [&str; 10] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "description",
    "enum",
    "format",
    "items",
    "properties",
    "type",
];

/// Returns the JSON Schemas of all generated types, by name.
pub fn definitions() -> Value {
    let mut generator = SchemaSettings::draft07().into_generator();
    macro_rules! define {
        ($($answer:ident)*; $($other:ident)*) => {
            $(let _ = generator.subschema_for::<modelarts_api::types::$answer>();)*
            $(let _ = generator.subschema_for::<modelarts_api::types::$other>();)*
        };
    }
    modelarts_api::for_each_schema!(define);
    Value::Object(generator.take_definitions(true))
}

pub fn read(definitions: &Value) -> Types {
    let definitions = definitions.as_object();
    definitions
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), field(schema, false)))
        .collect()
}

fn field(schema: &Value, required: bool) -> Field {
    let (schema, nullable) = without_null(schema);
    let said = schema.as_object().into_iter().flatten();
    let keywords: BTreeSet<String> = said
        .filter(|(key, _)| !READ.contains(&key.as_str()) && *key != "required")
        .map(|(key, value)| match key.as_str() {
            // The keyword includes the value of the default, so that the values are compared.
            "default" => format!("default {value}"),
            _ => key.clone(),
        })
        .collect();
    Field {
        shape: shape(&schema),
        nullable,
        required,
        keywords,
    }
}

/// Removes null from the schema of an optional value. Returns the remaining schema, and true if
/// null was removed.
fn without_null(schema: &Value) -> (Value, bool) {
    let null = json!("null");
    if let Some([kind, second]) = schema
        .get("type")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        && *second == null
    {
        let mut schema = schema.clone();
        schema["type"] = kind.clone();
        return (schema, true);
    }
    if let Some([inner, second]) = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        && second.get("type") == Some(&null)
    {
        return (inner.clone(), true);
    }
    (schema.clone(), false)
}

fn shape(schema: &Value) -> Shape {
    let odd = || Shape::Odd(schema.to_string());
    if *schema == json!(true) {
        return Shape::Any;
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(name) = reference.and_then(|it| it.strip_prefix(DEFINITIONS)) {
        return Shape::Named(name.to_owned());
    }
    let parts = |key: &str| schema.get(key).and_then(Value::as_array).map(Vec::as_slice);
    if let Some(parts) = parts("allOf") {
        return match parts {
            [part] => shape(part),
            _ => odd(),
        };
    }
    if let Some(parts) = parts("anyOf") {
        let text = Shape::Scalar {
            kind: "string".into(),
            format: None,
        };
        return match parts {
            [known, other] if shape(other) == text => match shape(known) {
                Shape::Values { values, .. } => Shape::Values { values, open: true },
                _ => odd(),
            },
            _ => odd(),
        };
    }
    if let Some(values) = parts("enum") {
        let values = values.iter().filter_map(Value::as_str);
        return Shape::Values {
            values: values.map(str::to_owned).collect(),
            open: false,
        };
    }
    let inner = |key: &str| Box::new(schema.get(key).map_or(Shape::Any, shape));
    match schema.get("type").and_then(Value::as_str) {
        None => Shape::Any,
        Some("array") => Shape::List(inner("items")),
        Some("object") if schema.get("additionalProperties").is_some() => {
            Shape::Map(inner("additionalProperties"))
        }
        Some("object") => Shape::Object(fields(schema)),
        Some(kind) => Shape::Scalar {
            kind: kind.to_owned(),
            format: schema
                .get("format")
                .and_then(Value::as_str)
                .map(str::to_owned),
        },
    }
}

fn fields(schema: &Value) -> BTreeMap<String, Field> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), field(property, is_required(name))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(schema: &Value) -> (String, bool) {
        let field = field(schema, false);
        (field.shape.to_string(), field.nullable)
    }

    #[test]
    fn schemas_of_schemars_are_parsed() {
        for (schema, shape, nullable) in [
            (json!(true), "any JSON", false),
            (json!({ "description": "Any." }), "any JSON", false),
            (json!({ "type": ["string", "null"] }), "string", true),
            (json!({ "$ref": "#/definitions/Job" }), "Job", false),
            (
                json!({ "anyOf": [{ "$ref": "#/definitions/Job" }, { "type": "null" }] }),
                "Job",
                true,
            ),
            (
                json!({ "allOf": [{ "$ref": "#/definitions/Job" }] }),
                "Job",
                false,
            ),
            (
                json!({ "type": "array", "items": { "type": "array", "items": true } }),
                "list of list of any JSON",
                false,
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "integer", "format": "int64" } }),
                "map of integer int64",
                false,
            ),
            (
                json!({ "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "string" }] }),
                "one of a, or other text",
                false,
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
                "what cannot be compared: {\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}",
                false,
            ),
        ] {
            assert_eq!(text(&schema), (shape.to_owned(), nullable), "{schema}");
        }
    }
}
