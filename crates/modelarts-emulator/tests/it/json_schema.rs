//! Conversion of OpenAPI 3.0 schemas to JSON Schema, draft 4. `nullable` is the only keyword that
//! is converted.

use serde_json::{Map, Value, json};

/// Keywords whose value is a schema. The value of a keyword in `LIST` is a list of schemas.
const ONE: [&str; 3] = ["items", "additionalProperties", "not"];
const LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Returns a copy of `schema` that expresses `nullable` in JSON Schema.
pub fn rewrite(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else {
        return schema.clone();
    };
    let mut object = object.clone();
    // `example` is not a keyword of JSON Schema, and may contain any data.
    object.remove("example");
    for key in ONE {
        if let Some(inner) = object.get_mut(key) {
            *inner = rewrite(inner);
        }
    }
    for key in LIST {
        if let Some(list) = object.get_mut(key).and_then(Value::as_array_mut) {
            list.iter_mut().for_each(|inner| *inner = rewrite(inner));
        }
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|inner| *inner = rewrite(inner));
    }
    if object.remove("nullable") == Some(json!(true)) {
        return json!({ "anyOf": [object, { "type": "null" }] });
    }
    Value::Object(object)
}

/// Returns all named schemas in JSON Schema, at the same path as in the description, so that
/// references are valid.
pub fn components(description: &Value) -> Value {
    let schemas = description.pointer("/components/schemas").and_then(Value::as_object);
    let schemas: Map<_, _> = schemas
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), rewrite(schema)))
        .collect();
    json!({ "schemas": schemas })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nullable_becomes_or_null_at_every_depth() {
        let schema = json!({
            "type": "object",
            "properties": {
                // This property has the name of a keyword.
                "nullable": { "type": "boolean" },
                "tags": {
                    "type": "array",
                    "nullable": true,
                    "items": { "type": "string", "nullable": true, "enum": ["a"] },
                },
                "owner": { "nullable": true, "allOf": [{ "$ref": "#/components/schemas/Owner" }] },
            },
            "additionalProperties": { "type": "string", "nullable": false },
        });
        assert_eq!(
            rewrite(&schema),
            json!({
                "type": "object",
                "properties": {
                    "nullable": { "type": "boolean" },
                    "tags": { "anyOf": [
                        {
                            "type": "array",
                            "items": { "anyOf": [
                                { "type": "string", "enum": ["a"] },
                                { "type": "null" },
                            ] },
                        },
                        { "type": "null" },
                    ] },
                    "owner": { "anyOf": [
                        { "allOf": [{ "$ref": "#/components/schemas/Owner" }] },
                        { "type": "null" },
                    ] },
                },
                "additionalProperties": { "type": "string" },
            })
        );
    }
}
