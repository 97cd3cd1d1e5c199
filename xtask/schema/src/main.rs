//! Compares the generated types with the description. The JSON Schema that schemars derives from
//! each type is compared with the schema of the description. Started by `cargo xtask schema`.

mod compare;
mod derived;
mod described;
mod difference;
mod explanations;
#[path = "../../../crates/modelarts-api/codegen/lower/portable_forms.rs"]
mod portable_forms;
mod report;
mod shape;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::Value;

use crate::report::Report;

#[derive(Parser)]
#[command(name = "cargo xtask schema")]
struct Cli {
    /// The OpenAPI description; by default the one that the types were generated from
    #[arg(long, value_name = "FILE")]
    description: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(report) => {
            print!("{report}");
            if report.is_exact() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<Report> {
    let yaml = match &cli.description {
        None => modelarts_api::DESCRIPTION.to_owned(),
        Some(file) => fs::read_to_string(file).with_context(|| file.display().to_string())?,
    };
    Ok(check(&parse(&yaml)?, &derived::definitions()))
}

fn parse(yaml: &str) -> Result<Value> {
    let mut description = serde_saphyr::from_str(yaml).context("the description is not YAML")?;
    // Reverts the forms that the description has for other languages only, because the Rust types
    // do not have them.
    portable_forms::undo(&mut description);
    Ok(description)
}

/// Compares a description with JSON Schemas that were derived from types.
fn check(description: &Value, definitions: &Value) -> Report {
    let described = described::read(description);
    let derived = derived::read(definitions);
    Report::new(&described, compare::all(&described.types, &derived))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn description() -> Value {
        parse(modelarts_api::DESCRIPTION).unwrap()
    }

    /// Returns the unexplained differences after `edit` has changed the description.
    fn errors(edit: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut description = description();
        edit(&mut description["components"]["schemas"]);
        let report = check(&description, &derived::definitions());
        report.errors().map(ToString::to_string).collect()
    }

    #[test]
    fn the_types_match_the_description() {
        let report = check(&description(), &derived::definitions());
        assert_eq!(report.errors().count(), 0, "{report}");
        // Every schema has a type, except for the lists of known values. The list of error codes
        // has a type as well, because it belongs to no open enumeration.
        let schemas = description()["components"]["schemas"].clone();
        let known = |name: &&String| name.starts_with("Known") && *name != "KnownErrorCode";
        let names = schemas.as_object().unwrap();
        let types = names.len() - names.keys().filter(known).count();
        assert_eq!(report.types, names.len());
        assert_eq!(derived::read(&derived::definitions()).len(), types);
        let fields = names
            .values()
            .filter_map(|schema| schema["properties"].as_object())
            .map(serde_json::Map::len);
        assert_eq!(report.fields, fields.sum::<usize>());
        assert!(report.fields > 900, "{report}");
    }

    #[test]
    fn every_explanation_is_needed() {
        let report = check(&description(), &derived::definitions());
        for (explanation, count) in report.explained() {
            assert!(count > 0, "{} explains nothing", explanation.name);
        }
    }

    #[test]
    fn a_changed_type_is_an_error() {
        assert_eq!(
            errors(|schemas| {
                schemas["JobMetadata"]["properties"]["name"] = json!({ "type": "boolean" });
                schemas["JobStatus"]["properties"]["tasks"]["items"] = json!({ "type": "boolean" });
                schemas["JobStatus"]["properties"]["phase"]["allOf"][0]["$ref"] =
                    json!("#/components/schemas/SecondaryPhase");
            }),
            [
                "JobMetadata.name: described as boolean, derived as string",
                "JobStatus.phase: described as SecondaryPhase, derived as Phase",
                "JobStatus.tasks: described as list of boolean, derived as list of string",
            ]
        );
    }

    #[test]
    fn a_width_that_is_not_widened_is_an_error() {
        assert_eq!(
            errors(|schemas| {
                schemas["JobStatus"]["properties"]["duration"]["format"] = json!("uint64");
            }),
            ["JobStatus.duration: described as integer uint64, derived as integer int64"]
        );
    }

    #[test]
    fn a_changed_field_is_an_error() {
        assert_eq!(
            errors(|schemas| {
                let fields = schemas["JobMetadata"]["properties"]
                    .as_object_mut()
                    .unwrap();
                let name = fields.remove("name").unwrap();
                fields.insert("title".into(), name);
            }),
            [
                "JobMetadata.name: derived, and not described",
                "JobMetadata.title: described, and not derived",
            ]
        );
    }

    #[test]
    fn a_changed_name_is_an_error() {
        assert_eq!(
            errors(|schemas| {
                let schemas = schemas.as_object_mut().unwrap();
                let job = schemas.remove("PoolInfo").unwrap();
                schemas.insert("Pool".into(), job);
            }),
            [
                "Pool: described, and not derived",
                "PoolInfo: derived, and not described",
            ]
        );
    }

    #[test]
    fn a_changed_value_is_an_error() {
        assert_eq!(
            errors(|schemas| {
                schemas["SortOrder"]["enum"] = json!(["asc", "down"]);
                schemas["KnownEventLevel"]["enum"] = json!(["Error"]);
                // Changes an open enumeration to a closed one.
                schemas["EventSource"] = json!({ "type": "string", "enum": ["Job"] });
            }),
            [
                "EventLevel: described as one of Error, or other text, derived as one of Info, \
                 Error, Warning, or other text",
                "EventSource: described as one of Job, derived as one of K8S, Job, Task, \
                 or other text",
                "KnownEventSource: described, and not derived",
                "SortOrder: described as one of asc, down, derived as one of asc, desc",
            ]
        );
    }

    #[test]
    fn required_fields_of_requests_stay_required() {
        assert_eq!(
            errors(|schemas| {
                let required = &mut schemas["JobMetadataRequest"]["required"];
                *required = json!(["name", "description"]);
            }),
            ["JobMetadataRequest.description: described as required, derived as optional"]
        );
        assert_eq!(
            errors(|schemas| {
                let metadata = schemas["JobMetadataRequest"].as_object_mut().unwrap();
                metadata.remove("required").unwrap();
            }),
            ["JobMetadataRequest.name: described as optional, derived as required"]
        );
    }

    #[test]
    fn a_secret_without_the_format_is_an_error() {
        assert_eq!(
            errors(|schemas| {
                let token = &mut schemas["WebEndpoint"]["properties"]["token"];
                token.as_object_mut().unwrap().remove("format");
            }),
            ["WebEndpoint.token: described as string, derived as string password"]
        );
    }

    #[test]
    fn an_unknown_keyword_is_an_error() {
        assert_eq!(
            errors(|schemas| schemas["JobMetadata"]["properties"]["name"]["const"] = json!("a")),
            ["JobMetadata.name: const is described, and not derived"]
        );
    }
}
