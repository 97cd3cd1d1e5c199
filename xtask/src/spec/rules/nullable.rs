//! Rule on `nullable`: it is admitted only in positions in which every generator admits null.

use serde_json::Value;

use super::super::{
    document::{Document, Role, Schema},
    offence::Offence,
    pointer::join,
};

pub fn check(document: &Document) -> Vec<Offence> {
    document
        .schemas
        .iter()
        .filter(|schema| schema.value.get("nullable").is_some())
        .filter_map(|schema| {
            let message = wrong(schema)?;
            Some(Offence::new(join(&schema.place, "nullable"), message))
        })
        .collect()
}

fn wrong(schema: &Schema) -> Option<&'static str> {
    let has = |key: &str| schema.value.get(key).is_some();
    if schema.value.get("nullable") == Some(&Value::Bool(false)) {
        return Some("remove it: without it null is not admitted either");
    }
    if has("$ref") || has("allOf") || has("anyOf") {
        // In this position, four of five validators and the Python client ignore the keyword and
        // reject null.
        return Some("nullable does not count beside a reference; put it on the named schema");
    }
    if has("enum") {
        return Some("a nullable enumeration needs null among its values, which breaks others");
    }
    match schema.value.get("type").and_then(Value::as_str) {
        // openapi-python-client crashes on such a schema.
        None => Some("nullable needs a type; without a type null is admitted anyway"),
        Some("object") if matches!(schema.role, Role::Named(_)) => None,
        Some("object") => Some("give the object a name and put nullable there"),
        Some(_) if matches!(schema.role, Role::Element) => {
            Some("elements are not nullable; an answer with null in a list is read all the same")
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{property_x, with, with_property},
        *,
    };

    #[test]
    fn null_that_some_generator_refuses_fires() {
        let reference = json!({ "$ref": "#/components/schemas/Order" });
        for (schema, message) in [
            (
                json!({ "$ref": "#/components/schemas/Order", "nullable": true }),
                "nullable does not count beside a reference; put it on the named schema",
            ),
            (
                json!({ "allOf": [reference], "nullable": true }),
                "nullable does not count beside a reference; put it on the named schema",
            ),
            (
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
                "a nullable enumeration needs null among its values, which breaks others",
            ),
            (
                json!({ "nullable": true }),
                "nullable needs a type; without a type null is admitted anyway",
            ),
            (
                json!({ "type": "object", "additionalProperties": {}, "nullable": true }),
                "give the object a name and put nullable there",
            ),
            (
                json!({ "type": "string", "nullable": false }),
                "remove it: without it null is not admitted either",
            ),
        ] {
            assert_eq!(
                with_property(check, schema),
                [format!("{}/nullable: {message}", property_x())]
            );
        }
        let elements = json!({ "type": "array", "items": { "type": "string", "nullable": true } });
        assert_eq!(
            with_property(check, elements),
            [format!(
                "{}/items/nullable: elements are not nullable; an answer with null in a list is \
                 read all the same",
                property_x()
            )]
        );
    }

    #[test]
    fn null_for_a_plain_type_or_a_named_object_is_silent() {
        for schema in [
            json!({ "type": "integer", "nullable": true }),
            json!({ "type": "array", "items": { "type": "string" }, "nullable": true }),
        ] {
            assert_eq!(with_property(check, schema), [""; 0]);
        }
        let job = "/components/schemas/Job";
        assert_eq!(with(check, job, "nullable", json!(true)), [""; 0]);
    }
}
