//! Rules on enumerations.

use std::collections::BTreeMap;

use heck::ToUpperCamelCase;
use serde_json::Value;

use super::super::{
    document::{Document, Role, list, reference},
    offence::Offence,
    pointer::join,
};

/// Checks that closed enumerations occur only in requests. Clients in Rust, Python, Go and Java
/// could not decode a response with an unlisted value.
pub fn closed(document: &Document) -> Vec<Offence> {
    document
        .schemas
        .iter()
        .filter(|schema| schema.value.get("enum").is_some())
        .filter(|schema| matches!(schema.role, Role::Named(name) if in_answer(document, name)))
        .map(|schema| {
            Offence::new(
                &schema.place,
                "an answer contains this closed enumeration, and a new value would make the \
                 answer unreadable; write anyOf: [KnownX, string]",
            )
        })
        .collect()
}

/// Returns true if a response uses a schema, except as the known values of an open enumeration.
fn in_answer(document: &Document, name: &str) -> bool {
    let used = document
        .schemas
        .iter()
        .any(|schema| reference(schema.value) == Some(name) && !schema.place.contains("/anyOf/"));
    used && document.in_answers.contains(name)
}

/// Checks the values of an enumeration: they must be strings, and differ by more than the case of
/// letters.
pub fn values(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for schema in &document.schemas {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for (index, value) in list(schema.value.get("enum")).iter().enumerate() {
            let place = join(&join(&schema.place, "enum"), &index.to_string());
            let message = match value {
                // If null is among the values, prism does not validate the body.
                Value::Null => "null in an enumeration; remove it".to_owned(),
                Value::String(text) => match seen.insert(text.to_upper_camel_case(), text) {
                    Some(other) => format!(
                        "{text} and {other} have one name in PascalCase; list one, and let the \
                         open enumeration take the other"
                    ),
                    None => continue,
                },
                _ => "enumerations are of text; write a range as minimum and maximum".to_owned(),
            };
            offences.push(Offence::new(place, message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{JOB, with},
        *,
    };

    #[test]
    fn a_closed_enumeration_in_an_answer_fires() {
        let order = json!({ "$ref": "#/components/schemas/Order" });
        assert_eq!(
            with(closed, &format!("{JOB}/properties"), "order", order),
            [
                "/components/schemas/Order: an answer contains this closed enumeration, and a new \
                 value would make the answer unreadable; write anyOf: [KnownX, string]"
            ]
        );
    }

    #[test]
    fn a_closed_enumeration_in_a_request_is_silent() {
        let properties = "/components/schemas/JobRequest/properties";
        let order = json!({ "$ref": "#/components/schemas/Order" });
        assert_eq!(with(closed, properties, "second", order), [""; 0]);
    }

    #[test]
    fn values_that_no_language_can_name_fire() {
        let place = "/components/schemas/Order";
        assert_eq!(
            with(values, place, "enum", json!(["first", null, "First", 1])),
            [
                "/components/schemas/Order/enum/1: null in an enumeration; remove it",
                "/components/schemas/Order/enum/2: First and first have one name in PascalCase; \
                 list one, and let the open enumeration take the other",
                "/components/schemas/Order/enum/3: enumerations are of text; write a range as \
                 minimum and maximum",
            ]
        );
    }

    #[test]
    fn values_with_names_are_silent() {
        let place = "/components/schemas/Order";
        assert_eq!(with(values, place, "enum", json!(["a", "b c"])), [""; 0]);
    }
}
