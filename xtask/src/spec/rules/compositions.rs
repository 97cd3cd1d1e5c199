//! Rule on `allOf`, `anyOf`, `oneOf` and `not`: only the forms that all generators support are
//! admitted.

use serde_json::{Value, json};

use super::super::{
    document::{Document, Role, Schema, list, reference},
    offence::Offence,
    pointer::join,
};

pub fn check(document: &Document) -> Vec<Offence> {
    document
        .schemas
        .iter()
        .flat_map(|schema| of(document, schema))
        .collect()
}

fn of(document: &Document, schema: &Schema) -> Vec<Offence> {
    let Some(object) = schema.value.as_object() else {
        return Vec::new();
    };
    let mut offences = Vec::new();
    let mut offend = |key: &str, message: &str| {
        offences.push(Offence::new(join(&schema.place, key), message));
    };
    for (key, message) in [
        (
            "oneOf",
            "oneOf breaks Go and Java, and validators where two fit; write one type, or an open enumeration",
        ),
        ("not", "progenitor panics on not; remove it"),
        (
            "discriminator",
            "progenitor picks a wrong type in spite of a discriminator; write one object with all fields",
        ),
    ] {
        if object.contains_key(key) {
            offend(key, message);
        }
    }
    if object.contains_key("$ref") && object.len() > 1 {
        offend(
            "$ref",
            "what stands beside $ref does not count in OpenAPI 3.0; wrap it: allOf: [$ref]",
        );
    }
    if object.contains_key("allOf") && !is_wrapper(schema) {
        offend(
            "allOf",
            "allOf is only for one $ref in a property that has a description of its own",
        );
    }
    if object.contains_key("anyOf")
        && !is_open_enum(document, schema)
        && !is_integer_or_text(schema)
    {
        offend(
            "anyOf",
            "anyOf is only for open enumerations: a named schema with [$ref to KnownX, {type: string}]",
        );
    }
    offences
}

/// Returns true if a schema is `allOf: [$ref]` with a description and, optionally, an example.
fn is_wrapper(schema: &Schema) -> bool {
    let [part] = list(schema.value.get("allOf")) else {
        return false;
    };
    let beside = schema.value.as_object().into_iter().flatten();
    schema.role == Role::Property
        && reference(part).is_some()
        && schema.value.get("description").is_some()
        && beside
            .map(|(key, _)| key.as_str())
            .all(|key| ["allOf", "description", "example", "deprecated"].contains(&key))
}

/// Returns true if a schema is `anyOf: [$ref to KnownX, {type: string}]` and has the name X.
fn is_open_enum(document: &Document, schema: &Schema) -> bool {
    let (Role::Named(name), [known, text]) = (schema.role, list(schema.value.get("anyOf"))) else {
        return false;
    };
    let values = document.follow(known).get("enum").and_then(Value::as_array);
    reference(known) == Some(&format!("Known{name}"))
        && values.is_some()
        && *text == json!({ "type": "string" })
}

/// Returns true if a schema is an integer that may be encoded as a string. The integer must be the
/// first alternative, because validators and generators use the first match.
fn is_integer_or_text(schema: &Schema) -> bool {
    schema.role == Role::Named("IntegerOrText")
        && schema.value.get("anyOf")
            == Some(&json!([{ "type": "integer", "format": "int64" }, { "type": "string" }]))
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{JOB, property_x, with, with_property},
        *,
    };

    /// Returns the offences of a property with this schema, without the JSON pointer to the
    /// property.
    fn offences(schema: Value) -> Vec<String> {
        with_property(check, schema)
            .iter()
            .map(|offence| offence.strip_prefix(&property_x()).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_generators_disagree_about_fires() {
        let string = json!({ "type": "string" });
        assert_eq!(
            offences(json!({ "oneOf": [string] })),
            [
                "/oneOf: oneOf breaks Go and Java, and validators where two fit; \
                 write one type, or an open enumeration"
            ]
        );
        assert_eq!(
            offences(json!({ "not": string })),
            ["/not: progenitor panics on not; remove it"]
        );
        assert_eq!(
            with(check, JOB, "discriminator", json!({})),
            [format!(
                "{JOB}/discriminator: progenitor picks a wrong type in spite of a discriminator; \
                 write one object with all fields"
            )]
        );
    }

    #[test]
    fn a_sibling_of_a_reference_fires() {
        let schema = json!({ "$ref": "#/components/schemas/Order", "description": "Where." });
        assert_eq!(
            offences(schema),
            [
                "/$ref: what stands beside $ref does not count in OpenAPI 3.0; wrap it: allOf: [$ref]"
            ]
        );
    }

    #[test]
    fn all_of_that_is_no_wrapper_fires() {
        let reference = json!({ "$ref": "#/components/schemas/Order" });
        for schema in [
            json!({ "allOf": [reference] }),
            json!({ "allOf": [reference, reference], "description": "Two." }),
            json!({ "allOf": [{ "type": "string" }], "description": "Inline." }),
            json!({ "allOf": [reference], "description": "More.", "nullable": true }),
        ] {
            assert_eq!(
                offences(schema),
                [
                    "/allOf: allOf is only for one $ref in a property that has a description of its own"
                ]
            );
        }
    }

    #[test]
    fn any_of_that_is_no_open_enumeration_fires() {
        let known = json!({ "$ref": "#/components/schemas/KnownPhase" });
        let text = json!({ "type": "string" });
        let message = "/anyOf: anyOf is only for open enumerations: a named schema with \
                       [$ref to KnownX, {type: string}]";
        // An unnamed schema of a property is not an open enumeration.
        assert_eq!(offences(json!({ "anyOf": [known, text] })), [message]);
        let phase = "/components/schemas/Phase";
        for parts in [
            json!([text, known]),
            json!([known]),
            json!([{ "$ref": "#/components/schemas/Job" }, text]),
            json!([{ "$ref": "#/components/schemas/Order" }, text]),
            json!([known, { "type": "integer" }]),
        ] {
            assert_eq!(
                with(check, phase, "anyOf", parts),
                [format!("{phase}{message}")]
            );
        }
    }

    #[test]
    fn only_one_schema_is_an_integer_or_text() {
        let parts = json!([{ "type": "integer", "format": "int64" }, { "type": "string" }]);
        assert_eq!(
            with(check, "/components/schemas/Phase", "anyOf", parts.clone()),
            [
                "/components/schemas/Phase/anyOf: anyOf is only for open enumerations: a named \
                 schema with [$ref to KnownX, {type: string}]"
            ]
        );
        let number = json!({ "description": "A number.", "anyOf": parts });
        assert_eq!(
            with(check, "/components/schemas", "IntegerOrText", number),
            [""; 0]
        );
    }

    #[test]
    fn a_wrapper_and_an_open_enumeration_are_silent() {
        let reference = json!({ "$ref": "#/components/schemas/Order" });
        for schema in [
            json!({ "allOf": [reference], "description": "Where." }),
            json!({ "allOf": [reference], "description": "Where.", "example": "first" }),
            reference,
        ] {
            assert_eq!(offences(schema), [""; 0]);
        }
        let parts = json!([{ "$ref": "#/components/schemas/KnownPhase" }, { "type": "string" }]);
        assert_eq!(
            with(check, "/components/schemas/Phase", "anyOf", parts),
            [""; 0]
        );
    }
}
