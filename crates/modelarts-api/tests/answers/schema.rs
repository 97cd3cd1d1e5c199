//! Comparison of the JSON Schema of each generated type with the schema of the description, name by
//! name and field by field. The snapshots show what the generator does; these tests decide whether
//! it is right.

use std::collections::BTreeSet;

use modelarts_api::types;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::{description::Description, portable_forms};

/// Returns the schemas that schemars derives from the types, by name.
fn derived() -> Value {
    let mut generator = SchemaSettings::openapi3().into_generator();
    macro_rules! define {
        ($($answer:ident)*; $($other:ident)*) => {
            $(let _ = generator.subschema_for::<types::$answer>();)*
            $(let _ = generator.subschema_for::<types::$other>();)*
        };
    }
    modelarts_api::for_each_schema!(define);
    generator.take_definitions(true).into()
}

/// Returns a line for each schema and each field. For schemas of the description, these are the
/// lines that the types should have: no field of `answers` is required, because a missing field
/// must not make a response unreadable, and optional fields accept null, lists and maps as empty.
fn lines(schemas: &Value, answers: Option<&BTreeSet<String>>) -> BTreeSet<String> {
    let all = schemas.as_object().unwrap();
    // An open enumeration contains its known values, which have no type of their own.
    let known = all.values().filter_map(|schema| name(&schema["anyOf"][0]));
    let known: BTreeSet<_> = known.collect();
    let mut lines = BTreeSet::new();
    for (name, schema) in all {
        if known.contains(name.as_str()) {
            continue;
        }
        lines.insert(format!("{name}: {}", shape(schemas, schema)));
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            let shape = shape(schemas, property);
            let required = schema["required"].as_array();
            let mut required = required.is_some_and(|names| names.contains(&json!(field)));
            let mut null = property["nullable"] == true || is_null(&property["anyOf"][1]);
            if let Some(answers) = answers {
                required &= !answers.contains(name);
                let collection = ["list of", "map of", "any JSON"];
                let is_collection = collection.iter().any(|it| shape.starts_with(it));
                null = if required { null } else { !is_collection };
            }
            let required = if required { ", required" } else { "" };
            let null = if null { ", nullable" } else { "" };
            lines.insert(format!("{name}.{field}: {shape}{required}{null}"));
        }
    }
    lines
}

/// Returns the kind of the values of a schema as text.
fn shape(schemas: &Value, schema: &Value) -> String {
    let inner = |key: &str| shape(schemas, &schema[key]);
    let parts = schema["allOf"].as_array().or(schema["anyOf"].as_array());
    let parts = parts.map_or(&[][..], Vec::as_slice);
    match (parts, schema["type"].as_str()) {
        _ if name(schema).is_some() => name(schema).unwrap().to_owned(),
        ([part], _) => shape(schemas, part),
        ([part, null], _) if is_null(null) => shape(schemas, part),
        ([known, other], _) if *other == json!({ "type": "string" }) => {
            let known = name(known).map_or(known, |name| &schemas[name]);
            format!("{}, or other text", shape(schemas, known))
        }
        ([], Some("string")) if schema.get("enum").is_some() => {
            format!("one of {}", schema["enum"])
        }
        ([], Some("array")) => format!("list of {}", inner("items")),
        ([], Some("object")) if schema.get("additionalProperties").is_some() => {
            format!("map of {}", inner("additionalProperties"))
        }
        // A wider number must not make a response unreadable.
        ([], Some(kind)) => match schema["format"].as_str().unwrap_or_default() {
            "" => kind.to_owned(),
            "int32" => format!("{kind} int64"),
            "float" => format!("{kind} double"),
            format => format!("{kind} {format}"),
        },
        ([], None) if schema.get("oneOf").is_none() => "any JSON".to_owned(),
        _ => schema.to_string(),
    }
}

/// Returns true for the schema of null, as schemars writes it for OpenAPI 3.0.
fn is_null(schema: &Value) -> bool {
    *schema == json!({ "enum": [null], "nullable": true })
}

/// Returns the name of the schema that a reference leads to.
fn name(schema: &Value) -> Option<&str> {
    let reference = schema["$ref"].as_str()?;
    reference.strip_prefix("#/components/schemas/")
}

/// Changes of the description that the types do not follow: a pointer, the new value and the line
/// that the types lack.
const CHANGES: &str = r#"
    /Pool | {} | Pool: any JSON
    /JobMetadata/properties/title | {"type":"string"} | JobMetadata.title: string, nullable
    /JobStatus/properties/tasks/items | {} | JobStatus.tasks: list of any JSON
    /JobStatus/properties/duration/format | "int8" | JobStatus.duration: integer int8, nullable
    /JobMetadataRequest/required | [] | JobMetadataRequest.name: string, nullable
    /KnownEventLevel/enum | ["Error"] | EventLevel: one of ["Error"], or other text
    /SortOrder/enum | ["asc"] | SortOrder: one of ["asc"]
    /WebEndpoint/properties/token/format | null | WebEndpoint.token: string, nullable
"#;

#[test]
fn types_have_the_schemas_of_the_description() {
    let mut root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    portable_forms::undo(&mut root);
    let schemas = &root["components"]["schemas"];
    let (answers, derived) = (Description::read().in_answers, lines(&derived(), None));
    let differences = |schemas: &Value| -> Vec<String> {
        let described = lines(schemas, Some(&answers));
        described.symmetric_difference(&derived).cloned().collect()
    };
    assert_eq!(differences(schemas), [""; 0]);
    for change in CHANGES.trim().lines() {
        let columns: Vec<_> = change.trim().split(" | ").collect();
        let (parent, key) = columns[0].rsplit_once('/').unwrap();
        let mut schemas = schemas.clone();
        schemas.pointer_mut(parent).unwrap()[key] = serde_json::from_str(columns[1]).unwrap();
        let differences = differences(&schemas);
        assert!(differences.contains(&columns[2].to_owned()), "{change}: {differences:?}");
    }
}
