//! Rule on examples: every example in the description is valid for its schema.

use anyhow::{Context, Result};
use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::{json_schema, offence::Offence, pointer::escape};

/// Example with its schema.
pub struct Example<'a> {
    /// JSON pointer to the example.
    place: String,
    value: &'a Value,
    schema: &'a Value,
}

/// Finds the examples of bodies, parameters, headers, schemas and properties.
pub fn find(description: &Value) -> Vec<Example<'_>> {
    let mut examples = Vec::new();
    walk(description, description, "", &mut examples);
    examples
}

/// Collects the examples in `value`: those beside a `schema`, and those of a schema itself.
fn walk<'a>(
    description: &'a Value,
    value: &'a Value,
    place: &str,
    examples: &mut Vec<Example<'a>>,
) {
    match value {
        Value::Object(object) => {
            if let Some(schema) = object.get("schema").filter(|schema| schema.is_object()) {
                of_holder(description, object, schema, place, examples);
            } else if let Some(example) = object.get("example").filter(|_| is_schema(object)) {
                examples.push(Example {
                    place: format!("{place}/example"),
                    value: example,
                    schema: value,
                });
            }
            for (key, inner) in object {
                // The values of these keys are data, unless the key is the name of a property.
                let data = ["example", "examples", "default", "enum"].contains(&key.as_str());
                if !data || place.ends_with("/properties") {
                    walk(
                        description,
                        inner,
                        &format!("{place}/{}", escape(key)),
                        examples,
                    );
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                walk(description, inner, &format!("{place}/{index}"), examples);
            }
        }
        _ => {}
    }
}

fn of_holder<'a>(
    description: &'a Value,
    holder: &'a Map<String, Value>,
    schema: &'a Value,
    place: &str,
    examples: &mut Vec<Example<'a>>,
) {
    if let Some(value) = holder.get("example") {
        examples.push(Example {
            place: format!("{place}/example"),
            value,
            schema,
        });
    }
    let named = holder.get("examples").and_then(Value::as_object);
    for (name, example) in named.into_iter().flatten() {
        let shared = example
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| description.pointer(reference.strip_prefix('#')?));
        if let Some(value) = shared.unwrap_or(example).get("value") {
            examples.push(Example {
                place: format!("{place}/examples/{}", escape(name)),
                value,
                schema,
            });
        }
    }
}

fn is_schema(object: &Map<String, Value>) -> bool {
    ["type", "allOf", "anyOf", "oneOf", "properties", "items"]
        .iter()
        .any(|key| object.contains_key(*key))
}

/// Returns an offence for each violation of a schema by an example.
pub fn check(description: &Value, examples: &[Example]) -> Result<Vec<Offence>> {
    let components = json_schema::components(description);
    let mut offences = Vec::new();
    for example in examples {
        // The reference is nested in `allOf`, because draft 4 ignores keywords beside a reference.
        let schema = json!({
            "allOf": [json_schema::rewrite(example.schema)],
            "components": components,
        });
        let validator = jsonschema::options()
            .with_draft(Draft::Draft4)
            .build(&schema)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("the schema of {}", example.place))?;
        offences.extend(validator.iter_errors(example.value).map(|error| {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { "as a whole" } else { &at };
            Offence::new(&example.place, format!("{at}: {error}"))
        }));
    }
    Ok(offences)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(description: &Value) -> Vec<String> {
        let offences = check(description, &find(description)).unwrap();
        offences.iter().map(ToString::to_string).collect()
    }

    fn description(name: &Value) -> Value {
        json!({
            "paths": { "/jobs": { "post": {
                "parameters": [
                    { "name": "limit", "schema": { "type": "integer", "maximum": 50 }, "example": 50 },
                ],
                "requestBody": { "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Job" },
                    "examples": {
                        "own": { "value": { "name": name, "tags": null } },
                        "shared": { "$ref": "#/components/examples/Shared" },
                    },
                } } },
            } } },
            "components": {
                "examples": { "Shared": { "value": { "name": "shared" } } },
                "schemas": { "Job": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": { "type": "string", "maxLength": 8, "example": "a" },
                        "tags": { "type": "array", "items": { "type": "string" }, "nullable": true },
                        // This property has the name of a keyword.
                        "example": { "type": "string", "example": "b" },
                    },
                } },
            },
        })
    }

    #[test]
    fn examples_are_found_everywhere() {
        let description = description(&json!("job"));
        let places: Vec<_> = find(&description).into_iter().map(|e| e.place).collect();
        assert_eq!(
            places,
            [
                "/components/schemas/Job/properties/example/example",
                "/components/schemas/Job/properties/name/example",
                "/paths/~1jobs/post/parameters/0/example",
                "/paths/~1jobs/post/requestBody/content/application~1json/examples/own",
                "/paths/~1jobs/post/requestBody/content/application~1json/examples/shared",
            ]
        );
    }

    #[test]
    fn a_valid_example_is_no_offence() {
        assert_eq!(offences(&description(&json!("job"))), [""; 0]);
    }

    #[test]
    fn an_invalid_example_is_an_offence_with_its_place() {
        let body = "/paths/~1jobs/post/requestBody/content/application~1json/examples/own";
        assert_eq!(
            offences(&description(&json!("a long name"))),
            [format!(
                "{body}: /name: \"a long name\" is longer than 8 characters"
            )]
        );
        let mut missing = description(&json!("job"));
        *missing.pointer_mut(body).unwrap() = json!({ "value": {} });
        assert_eq!(
            offences(&missing),
            [format!(
                "{body}: as a whole: \"name\" is a required property"
            )]
        );
        let mut parameter = description(&json!("job"));
        *parameter
            .pointer_mut("/paths/~1jobs/post/parameters/0/example")
            .unwrap() = json!(51);
        assert_eq!(
            offences(&parameter),
            [
                "/paths/~1jobs/post/parameters/0/example: as a whole: 51 is greater than the maximum of 50"
            ]
        );
    }
}
