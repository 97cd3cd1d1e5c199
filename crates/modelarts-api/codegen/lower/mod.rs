//! Lowering of the description: conversion to the form from which progenitor generates code.
//!
//! The description states every documented limit, for readers and for generators of other
//! languages. progenitor would generate types that enforce limits during decoding, so one value
//! that exceeds its limit would make the whole response unreadable. Lowering therefore removes the
//! limits, except the patterns of identifiers in paths. In schemas that responses contain, lowering
//! also makes all fields optional.

mod open_enums;
pub mod portable_forms;

use std::collections::BTreeMap;

use heck::ToUpperCamelCase;
use serde_json::{Map, Value, json};

pub use self::open_enums::OpenEnum;
use super::{
    description::{METHODS, Usage, schemas, text},
    error::Error,
    extensions,
    pointer::join,
    tables::docs,
};

/// Name of the schema of secrets, which `crate::Secret` implements.
pub const SECRET: &str = "Secret";

/// Lowered description, and the types that this crate generates instead of progenitor.
pub struct Lowered {
    pub description: Value,
    pub open_enums: Vec<OpenEnum>,
    /// Patterns of identifiers, by the name of the schema.
    pub identifiers: BTreeMap<String, String>,
}

/// Lowers a description.
pub fn lower(mut description: Value, usage: &Usage) -> Result<Lowered, Error> {
    let mut lowered = Map::new();
    let (mut open_enums, mut identifiers) = (Vec::<OpenEnum>::new(), BTreeMap::new());
    let originals = schemas(&description)?;
    for (name, original) in originals {
        let type_name = name.to_upper_camel_case();
        if type_name != *name {
            return Err(Error(format!(
                "schema {name}: write the name as {type_name}, which is what the type will be \
                 called"
            )));
        }
        let mut schema = original.clone();
        if let Some(open_enum) = OpenEnum::read(name, original, originals)? {
            // progenitor requires a schema of this name; the generated enum replaces its type.
            schema = json!({ "type": "string" });
            open_enums.push(open_enum);
        }
        lower_schema(&mut schema, usage.is_only_sent(name))
            .map_err(|error| Error(format!("schema {name}: {error}")))?;
        if let (true, Some(pattern)) = (usage.identifiers.contains(name), text(original, "pattern"))
        {
            identifiers.insert(name.clone(), pattern.to_owned());
            schema["pattern"] = pattern.into();
        }
        lowered.insert(name.clone(), schema);
    }
    lowered.retain(|name, _| open_enums.iter().all(|open_enum| open_enum.known != *name));
    let is_closed = |(name, schema): &(&String, &Value)| {
        usage.in_answers.contains(*name) && schema.get("enum").is_some()
    };
    if let Some((name, _)) = lowered.iter().find(is_closed) {
        return Err(Error(format!(
            "schema {name}: an answer uses this closed enumeration, and a new value would make \
             the answer unreadable; write anyOf [Known{name}, string]"
        )));
    }
    if lowered.insert(SECRET.to_owned(), json!({ "type": "string" })).is_some() {
        return Err(Error::new("a schema must not be called Secret, which is the type of secrets"));
    }

    let mut components = json!({ "schemas": lowered });
    for section in ["parameters", "responses"] {
        if let Value::Object(mut holders) = description["components"][section].take() {
            holders.values_mut().try_for_each(lower_holder)?;
            components[section] = holders.into();
        }
    }
    description["components"] = components;
    for (path, item) in description["paths"].as_object_mut().into_iter().flatten() {
        for (key, value) in item.as_object_mut().into_iter().flatten() {
            if METHODS.contains(&key.as_str()) {
                lower_operation(&join(&join("/paths", path), key), value)?;
            } else if key == "parameters" {
                lower_holder(value)?;
            }
        }
    }
    Ok(Lowered { description, open_enums, identifiers })
}

/// Removes the keywords that generated types must not enforce. `keep_required` preserves the
/// required fields of a named schema; fields of unnamed inner objects always become optional.
fn lower_schema(schema: &mut Value, keep_required: bool) -> Result<(), Error> {
    /// Keywords that lowering preserves.
    const KEPT: [&str; 8] = [
        "$ref",
        "additionalProperties",
        "allOf",
        "description",
        "enum",
        "items",
        "properties",
        "type",
    ];
    /// Keywords that lowering removes in addition to extensions: limits, defaults and
    /// documentation.
    const REMOVED: [&str; 23] = [
        "default",
        "deprecated",
        "example",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "externalDocs",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "nullable",
        "pattern",
        "readOnly",
        "required",
        "title",
        "uniqueItems",
        "writeOnly",
    ];
    let is_secret = text(schema, "format") == Some("password");
    let Some(object) = schema.as_object_mut() else {
        return Ok(());
    };
    let is_known =
        |key: &str| KEPT.contains(&key) || REMOVED.contains(&key) || key.starts_with("x-");
    if let Some(key) = object.keys().find(|key| !is_known(key)) {
        return Err(Error(format!("the keyword {key} must not be used, because types lack it")));
    }
    // `additionalProperties` is the only preserved keyword that may be a boolean, and its boolean
    // adds no information.
    object.retain(|key, value| {
        let is_kept = KEPT.contains(&key.as_str()) || key == "required" && keep_required;
        is_kept && !value.is_boolean()
    });
    match object.get("type").and_then(Value::as_str) {
        _ if is_secret => {
            let reference = json!([{ "$ref": format!("#/components/schemas/{SECRET}") }]);
            object.retain(|key, _| key == "description");
            object.insert("allOf".into(), reference);
        }
        // JSON does not limit the width of numbers, so generated types use 64 bits.
        Some("integer") => drop(object.insert("format".into(), "int64".into())),
        Some("number") => drop(object.insert("format".into(), "double".into())),
        _ => {}
    }
    let lower_part = |part| lower_schema(part, keep_required);
    for (key, value) in object {
        match (key.as_str(), value) {
            ("items" | "additionalProperties", inner) => lower_part(inner)?,
            ("allOf", Value::Array(parts)) => parts.iter_mut().try_for_each(lower_part)?,
            ("properties", Value::Object(properties)) => {
                properties.values_mut().try_for_each(|property| lower_schema(property, false))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Lowers a parameter, a list of parameters, or any other object that contains a schema or media
/// types.
fn lower_holder(holder: &mut Value) -> Result<(), Error> {
    match holder {
        Value::Array(holders) => holders.iter_mut().try_for_each(lower_holder)?,
        Value::Object(object) => {
            object.retain(|key, _| !["headers", "example", "examples"].contains(&key.as_str()));
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("schema", schema) => lower_schema(schema, false)?,
                    ("content", Value::Object(media_types)) => {
                        media_types.values_mut().try_for_each(lower_holder)?;
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn lower_operation(place: &str, operation: &mut Value) -> Result<(), Error> {
    let id = text(operation, "operationId").unwrap_or_default().to_owned();
    let description = text(operation, "description").unwrap_or_default();
    let list = docs::list(&extensions::of(place, operation)?);
    let description = format!("{description}\n\n{list}");
    let Some(object) = operation.as_object_mut() else {
        return Ok(());
    };
    object.retain(|key, _| !key.starts_with("x-") && key != "security");
    object.insert("description".into(), description.trim().into());
    for key in ["parameters", "requestBody"] {
        if let Some(holder) = object.get_mut(key) {
            lower_holder(holder)?;
        }
    }
    let responses = object.get("responses").and_then(Value::as_object);
    let responses = responses.ok_or_else(|| Error(format!("operation {id}: no responses")))?;
    let is_body = |(status, response): (&String, &Value)| {
        status.starts_with('2') && response.get("content").is_some()
    };
    let has_body = responses.iter().any(is_body);
    let mut kept = BTreeMap::new();
    for (status, response) in responses {
        let mut response = response.clone();
        lower_holder(&mut response)?;
        match status.as_bytes() {
            // If another success status has a body, 204 means "not ready". The service confuses its
            // success statuses, so one status range covers all of them.
            b"204" if has_body => {}
            [b'2', ..] => {
                if kept.insert("2XX".to_owned(), response).is_some() {
                    return Err(Error(format!(
                        "operation {id}: more than one success, apart from 204 beside a body"
                    )));
                }
            }
            b"4XX" | b"5XX" => drop(kept.insert(status.clone(), response)),
            _ => {
                return Err(Error(format!(
                    "operation {id}: response {status}; errors are written as 4XX and 5XX"
                )));
            }
        }
    }
    object.insert("responses".into(), json!(kept));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(schemas: Value) -> String {
        let description = json!({ "components": { "schemas": schemas }, "paths": {} });
        match lower(description, &Usage::default()) {
            Ok(_) => "none".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn unknown_keywords_are_errors() {
        let with = |keyword: &str| {
            let field = json!({ "type": "string", keyword: "a" });
            error_of(json!({ "Job": { "type": "object", "properties": { "kind": field } } }))
        };
        assert_eq!(with("title"), "none");
        assert_eq!(with("x-unit"), "none");
        for keyword in ["const", "not"] {
            assert_eq!(
                with(keyword),
                format!(
                    "schema Job: the keyword {keyword} must not be used, because types lack it"
                )
            );
        }
    }

    #[test]
    fn values_of_an_open_enumeration_are_text() {
        let known = json!({ "$ref": "#/components/schemas/KnownSize" });
        let schemas = json!({
            "KnownSize": { "enum": ["1", 2] },
            "Size": { "anyOf": [known, { "type": "string" }] },
        });
        assert_eq!(error_of(schemas), "schema KnownSize: every value must be text");
    }
}
