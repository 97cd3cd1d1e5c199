//! Plain variant of the description, for generators that do not support `anyOf`. For example,
//! OpenAPI Generator for Rust generates an empty type for `anyOf`.
//!
//! In the plain variant, an open enumeration has the type `string`, and its description lists the
//! known values. A number that may be encoded as a string has no type. All other schemas are the
//! same.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::{regenerate, workspace};

const SCHEMAS: &str = "#/components/schemas/";

/// Runs `cargo xtask plain`.
pub fn run(file: &Path) -> Result<ExitCode> {
    write(&workspace::description(), file)?;
    println!("{}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the plain variant of a description into a file.
pub fn write(description: &Path, file: &Path) -> Result<()> {
    let plain = plain(&regenerate::read(description)?);
    fs::write(file, format!("{plain:#}\n")).with_context(|| file.display().to_string())
}

/// Returns the plain variant of a description.
pub fn plain(description: &Value) -> Value {
    let mut plain = description.clone();
    let Some(schemas) = plain.pointer_mut("/components/schemas").and_then(Value::as_object_mut)
    else {
        return plain;
    };
    let described = schemas.clone();
    for schema in schemas.values_mut().filter_map(Value::as_object_mut) {
        if let Some(choices) = schema.remove("anyOf") {
            let known = choices
                .pointer("/0/$ref")
                .and_then(Value::as_str)
                .and_then(|reference| reference.strip_prefix(SCHEMAS));
            if let Some(known) = known {
                close(schema, known, described.get(known));
            }
        }
    }
    plain
}

/// Converts an open enumeration to the type `string`, and adds its known values to its description.
fn close(schema: &mut Map<String, Value>, known: &str, values: Option<&Value>) {
    let values: Vec<String> = values
        .and_then(|known| known.get("enum"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|value| format!("`{value}`"))
        .collect();
    let description = schema.get("description").and_then(Value::as_str);
    let description = description.map(str::trim_end).unwrap_or_default();
    let description = format!("{description}\n\nKnown values: {}.", values.join(", "));
    schema.insert("description".into(), json!(description.trim_start()));
    schema.insert("type".into(), json!("string"));
    schema.insert("x-open-enum".into(), json!(known));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec;

    fn described() -> Value {
        regenerate::read(&workspace::description()).unwrap()
    }

    #[test]
    fn an_open_enumeration_becomes_text_and_a_number_as_text_loses_its_type() {
        let schemas = json!({ "components": { "schemas": {
            "KnownColor": { "type": "string", "enum": ["red", "dark blue"] },
            "Color": {
                "description": "The color.\n",
                "anyOf": [{ "$ref": "#/components/schemas/KnownColor" }, { "type": "string" }],
                "example": "red",
            },
            "Count": {
                "description": "A count.",
                "anyOf": [{ "type": "integer", "format": "int64" }, { "type": "string" }],
            },
        } } });
        assert_eq!(
            plain(&schemas),
            json!({ "components": { "schemas": {
                "KnownColor": { "type": "string", "enum": ["red", "dark blue"] },
                "Color": {
                    "description": "The color.\n\nKnown values: `red`, `dark blue`.",
                    "type": "string",
                    "x-open-enum": "KnownColor",
                    "example": "red",
                },
                "Count": { "description": "A count." },
            } } })
        );
    }

    #[test]
    fn only_schemas_with_any_of_differ() {
        let described = described();
        let mut plain = plain(&described);
        let text = plain.to_string();
        assert!(!text.contains(r#""anyOf":"#) && text.contains("Known values: `Creating`, "));
        assert_eq!(plain["components"]["schemas"]["Phase"]["x-open-enum"], "KnownPhase");
        for (name, schema) in described["components"]["schemas"].as_object().unwrap() {
            if schema.get("anyOf").is_some() {
                plain["components"]["schemas"][name] = schema.clone();
            }
        }
        assert_eq!(plain, described);
    }

    #[test]
    fn the_plain_variant_keeps_the_rules() {
        assert_eq!(spec::offences(&plain(&described())), [""; 0]);
    }
}
