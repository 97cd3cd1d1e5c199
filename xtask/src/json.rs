//! The description in JSON: `openapi/modelarts.json`, and `openapi/modelarts.plain.json` for
//! generators that do not support `anyOf`. For example, OpenAPI Generator for Rust generates an
//! empty type for `anyOf`.
//!
//! Both files are complete: they contain the tables that `modelarts.yaml` refers to, and a response
//! with an example for each status of an error code. In the plain variant, an open enumeration has
//! the type `string`, and its description lists the known values. A number that may be encoded as a
//! string has no type. All other schemas are the same.

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use yaml_serde::{Mapping, Value as Yaml};

use crate::{codegen::extensions::ErrorRow, spec::Document, workspace};

const SCHEMAS: &str = "#/components/schemas/";
/// Codes of the gateway, with which the request of any operation may be refused.
const GATEWAY: &str = "APIG.";

/// Writes both files. With `check`, fails if one of them is outdated.
pub fn run(check: bool) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for (name, text) in texts()? {
        let file = workspace::description().with_file_name(name);
        if fs::read_to_string(&file).is_ok_and(|before| before == text) {
            println!("openapi/{name} matches the description");
        } else if check {
            println!("openapi/{name} is outdated; run `cargo xtask codegen`");
            code = ExitCode::FAILURE;
        } else {
            fs::write(&file, text).with_context(|| file.display().to_string())?;
            println!("openapi/{name} was rewritten");
        }
    }
    Ok(code)
}

/// Returns the names of the files with their contents.
fn texts() -> Result<[(&'static str, String); 2]> {
    let description = with_statuses(bundle(&workspace::description())?)?;
    let text = |value: &Yaml| serde_json::to_string_pretty(value).map(|text| text + "\n");
    let plain = text(&plain(&description))?;
    Ok([("modelarts.json", text(&description)?), ("modelarts.plain.json", plain)])
}

/// Reads a description with the files to which its extensions refer, and keeps the order of keys.
pub fn bundle(description: &Path) -> Result<Yaml> {
    let read = |file: &Path| -> Result<Yaml> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        yaml_serde::from_str(&text).with_context(|| file.display().to_string())
    };
    let mut root = read(description)?;
    for (_, table) in root.as_mapping_mut().into_iter().flatten() {
        if let Some(name) = table.get("$ref").and_then(Yaml::as_str).map(str::to_owned) {
            *table = read(&description.with_file_name(name))?;
        }
    }
    Ok(root)
}

/// Adds to each operation a response for each status of its error codes, with an example. Without
/// them, pages and mock servers show the examples of `4XX` for each of these statuses.
pub fn with_statuses(mut root: Yaml) -> Result<Yaml> {
    let description: Value = yaml_serde::from_value(root.clone())?;
    let document = match Document::read(&description) {
        Ok(document) => document,
        Err(offences) => bail!(offences.join("\n")),
    };
    let mut shared = BTreeMap::new();
    for operation in &document.operations {
        // The codes of the operation come before those of the gateway, and these before the others.
        let rank = |row: &ErrorRow| match row {
            _ if operation.extensions.x_error_codes.contains(&row.code) => Some(0),
            _ if row.code.starts_with(GATEWAY) => Some(1),
            _ => row.any_operation.then_some(2),
        };
        let errors = document.extensions.x_error_table.iter().filter(|row| row.status >= 400);
        let mut ranked: Vec<_> = errors.filter_map(|row| Some((rank(row)?, row))).collect();
        ranked.sort_by_key(|(rank, row)| (row.status, *rank));
        ranked.dedup_by_key(|(_, row)| row.status);
        let item = root.get_mut("paths").and_then(|paths| paths.get_mut(operation.inner.path));
        let method = item.and_then(|item| item.get_mut(operation.inner.method));
        let responses = method.and_then(|method| method.get_mut("responses")?.as_mapping_mut());
        let responses = responses.with_context(|| format!("{}/responses", operation.place))?;
        let ranges: Vec<_> = ["4XX", "5XX"].map(|range| responses.shift_remove_entry(range)).into();
        for (_, row) in ranked {
            let name = format!("{}-{}", row.code, row.status);
            let reference = json!({ "$ref": format!("#/components/responses/{name}") });
            responses.insert(row.status.to_string().into(), yaml_serde::to_value(reference)?);
            shared.insert(name, row);
        }
        responses.extend(ranges.into_iter().flatten());
    }
    let responses = root.get_mut("components").and_then(|it| it.get_mut("responses"));
    let responses = responses.and_then(Yaml::as_mapping_mut).context("/components/responses")?;
    let range = &description["components"]["responses"]["ErrorResponse"];
    for (name, row) in shared {
        responses.insert(name.into(), yaml_serde::to_value(with_example(range, row))?);
    }
    Ok(root)
}

/// Returns a copy of the response of a range of statuses, with the example of one error code.
fn with_example(range: &Value, row: &ErrorRow) -> Value {
    let message = row.message.as_ref().filter(|message| !message.contains('%'));
    let example = json!({
        "error_code": row.code,
        "error_msg": message.unwrap_or(&row.meaning),
        "error_solution": row.solution.as_ref().unwrap_or(&row.advice),
    });
    let schema = &range["content"]["application/json"]["schema"];
    json!({
        "description": row.meaning,
        "headers": range["headers"],
        "content": { "application/json": { "schema": schema, "example": example } },
    })
}

/// Returns the plain variant of a description.
pub fn plain(description: &Yaml) -> Yaml {
    let mut plain = description.clone();
    let schemas = plain.get_mut("components").and_then(|components| components.get_mut("schemas"));
    let Some(schemas) = schemas.and_then(Yaml::as_mapping_mut) else {
        return plain;
    };
    let described = schemas.clone();
    for schema in schemas.values_mut().filter_map(Yaml::as_mapping_mut) {
        if let Some(choices) = schema.shift_remove("anyOf") {
            let known = choices.get(0).and_then(|known| known.get("$ref")).and_then(Yaml::as_str);
            if let Some(known) = known.and_then(|reference| reference.strip_prefix(SCHEMAS)) {
                close(schema, known, described.get(known));
            }
        }
    }
    plain
}

/// Converts an open enumeration to the type `string`, and adds its known values to its description.
fn close(schema: &mut Mapping, known: &str, values: Option<&Yaml>) {
    let values = values.and_then(|known| known.get("enum")).and_then(Yaml::as_sequence);
    let values = values.into_iter().flatten().filter_map(Yaml::as_str);
    let values: Vec<String> = values.map(|value| format!("`{value}`")).collect();
    let description = schema.get("description").and_then(Yaml::as_str).unwrap_or_default();
    let description = format!("{}\n\nKnown values: {}.", description.trim_end(), values.join(", "));
    schema.insert("description".into(), description.trim_start().into());
    schema.insert("type".into(), "string".into());
    schema.insert("x-open-enum".into(), known.into());
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{codegen::description, spec};

    fn described() -> Yaml {
        bundle(&workspace::description()).unwrap()
    }

    /// Returns the plain variant as JSON.
    fn plain_json(description: &Yaml) -> Value {
        serde_json::to_value(plain(description)).unwrap()
    }

    #[test]
    fn both_files_are_the_description() {
        for (name, text) in texts().unwrap() {
            let file = workspace::description().with_file_name(name);
            let is_same = fs::read_to_string(file).unwrap() == text;
            assert!(is_same, "openapi/{name} is outdated; run `cargo xtask codegen`");
        }
    }

    #[test]
    fn each_status_of_an_operation_has_an_example_of_that_status() {
        let complete = with_statuses(described()).unwrap();
        let complete = serde_json::to_value(complete).unwrap();
        let examples = |path: &str, method: &str| -> Vec<String> {
            let responses = complete["paths"][path][method]["responses"].as_object().unwrap();
            let errors = responses.iter().filter(|(status, _)| !status.starts_with('2'));
            let errors = errors.map(|(status, response)| {
                let response = description::resolve(&complete, response);
                let code = &response["content"]["application/json"]["example"]["error_code"];
                format!("{status} {}", code.as_str().unwrap_or_default())
            });
            errors.collect()
        };
        assert_eq!(
            examples("/v2/{project_id}/training-jobs/{training_job_id}", "delete"),
            [
                "400 ModelArts.2775",
                "401 APIG.0301",
                "403 ModelArts.0112",
                "404 APIG.0101",
                "408 ModelArts.6100",
                "409 ModelArts.2878",
                "413 APIG.0201",
                "429 APIG.0308",
                // The ranges have several examples, with names.
                "4XX ",
                "500 ModelArts.7008",
                "504 APIG.0201",
                "5XX ",
            ]
        );
        let texts = complete["components"]["responses"].to_string();
        assert!(!texts.contains("%s"), "an example must not contain a placeholder: {texts}");
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
            plain_json(&yaml_serde::to_value(&schemas).unwrap()),
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
        let mut plain = plain_json(&described);
        let described = serde_json::to_value(described).unwrap();
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
        assert_eq!(spec::offences(&plain_json(&described())), [""; 0]);
    }
}
