//! Rules on keywords of schemas: some require a named schema, and some are not admitted.

use serde_json::json;

use super::super::{
    document::{Document, Role},
    offence::Offence,
    pointer::join,
};

/// Checks that objects and enumerations are named schemas. Generators choose different names for
/// unnamed schemas, and two unnamed enumerations with a common value do not compile in Go.
pub fn named(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for schema in &document.schemas {
        if matches!(schema.role, Role::Named(_)) {
            continue;
        }
        let has = |key: &str| schema.value.get(key).is_some();
        let object = schema.value.get("type") == Some(&json!("object"));
        let what = if has("enum") {
            "an enumeration"
        } else if has("properties") || (object && !has("additionalProperties")) {
            "an object"
        } else {
            continue;
        };
        let message =
            format!("{what} without a name; move it to components/schemas and refer to it");
        offences.push(Offence::new(&schema.place, message));
    }
    offences
}

/// Rejects titles: progenitor uses a title as the name of a type, so two schemas with equal titles
/// would become one type.
pub fn no_title(document: &Document) -> Vec<Offence> {
    without(
        document,
        "title",
        "remove it: code generators make type names of titles",
    )
}

/// Rejects defaults: generated clients would send values that the caller did not set.
pub fn no_default(document: &Document) -> Vec<Offence> {
    without(
        document,
        "default",
        "remove it and say the default in the description: generated clients would send it",
    )
}

/// Rejects `additionalProperties: false`: the service may add fields, and clients could not decode
/// such a response.
pub fn open_objects(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for schema in &document.schemas {
        if schema.value.get("additionalProperties") == Some(&json!(false)) {
            offences.push(Offence::new(
                join(&schema.place, "additionalProperties"),
                "remove it: a new field of the service would make the answer unreadable",
            ));
        }
    }
    offences
}

fn without(document: &Document, key: &str, advice: &str) -> Vec<Offence> {
    document
        .schemas
        .iter()
        // A property that has the name of the keyword does not match, because it is one level
        // below, in `properties`.
        .filter(|schema| schema.value.get(key).is_some())
        .map(|schema| Offence::new(join(&schema.place, key), advice))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{LIST, property_x, with, with_property},
        *,
    };

    #[test]
    fn what_has_no_name_fires() {
        let x = property_x();
        assert_eq!(
            with_property(named, json!({ "type": "string", "enum": ["a"] })),
            [format!(
                "{x}: an enumeration without a name; move it to components/schemas and refer to it"
            )]
        );
        for object in [
            json!({ "type": "object" }),
            json!({ "properties": { "a": { "type": "string" } } }),
        ] {
            assert_eq!(
                with_property(named, json!({ "type": "array", "items": object })),
                [format!(
                    "{x}/items: an object without a name; move it to components/schemas and refer to it"
                )]
            );
        }
        let parameter = format!("{LIST}/parameters/2/schema");
        assert_eq!(
            with(named, &parameter, "items", json!({ "enum": ["a"] })),
            [format!(
                "{parameter}/items: an enumeration without a name; move it to components/schemas and refer to it"
            )]
        );
    }

    #[test]
    fn maps_lists_and_references_are_silent() {
        for schema in [
            json!({ "type": "object", "additionalProperties": {} }),
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/Phase" } }),
            json!({ "type": "string" }),
        ] {
            assert_eq!(with_property(named, schema), [""; 0]);
        }
    }

    #[test]
    fn a_title_fires() {
        assert_eq!(
            with_property(no_title, json!({ "type": "string", "title": "X" })),
            [format!(
                "{}/title: remove it: code generators make type names of titles",
                property_x()
            )]
        );
    }

    #[test]
    fn a_property_that_is_called_title_is_silent() {
        let property = json!({ "type": "string", "description": "A title." });
        assert_eq!(
            with(
                no_title,
                "/components/schemas/Job/properties",
                "title",
                property
            ),
            [""; 0]
        );
    }

    #[test]
    fn a_default_fires() {
        for default in [json!(1), json!(null)] {
            assert_eq!(
                with_property(no_default, json!({ "type": "integer", "default": default })),
                [format!(
                    "{}/default: remove it and say the default in the description: \
                     generated clients would send it",
                    property_x()
                )]
            );
        }
    }

    #[test]
    fn a_property_that_is_called_default_is_silent() {
        let properties = "/components/schemas/Job/properties";
        let property = json!({ "type": "string" });
        assert_eq!(with(no_default, properties, "default", property), [""; 0]);
    }

    #[test]
    fn a_closed_object_fires() {
        assert_eq!(
            with(
                open_objects,
                "/components/schemas/Job",
                "additionalProperties",
                json!(false)
            ),
            [
                "/components/schemas/Job/additionalProperties: remove it: a new field of the \
                 service would make the answer unreadable"
            ]
        );
    }

    #[test]
    fn an_open_object_is_silent() {
        let job = "/components/schemas/Job";
        for open in [json!(true), json!({}), json!({ "type": "string" })] {
            assert_eq!(
                with(open_objects, job, "additionalProperties", open),
                [""; 0]
            );
        }
    }
}
