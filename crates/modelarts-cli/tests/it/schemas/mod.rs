//! The schemas of the JSON of the commands, as files.

mod compatibility;
mod job_file;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use compatibility::breaks;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

/// `UPDATE=1` writes the files. It refuses changes that a program which reads the JSON would
/// notice, unless `SCHEMA_VERSION` is raised.
#[test]
fn the_files_are_those_of_the_types() {
    let update = std::env::var_os("UPDATE").is_some();
    // The file of the test `job_file`.
    let mut names = BTreeSet::from(["job-file.json".to_owned()]);
    for (name, schema) in modelarts_cli::schemas() {
        let file = format!("{name}.json");
        assert!(names.insert(file.clone()), "two schemas are called {name}");
        let path = directory().join(&file);
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        let stored = fs::read_to_string(&path).unwrap_or_default();
        if stored.is_empty() {
            assert!(update, "{file} does not exist; set UPDATE=1 to write it");
        } else {
            let stored: Value = serde_json::from_str(&stored).unwrap();
            if version(&stored) == version(schema.as_value()) {
                let breaks = breaks(&stored, schema.as_value());
                assert!(
                    breaks.is_empty(),
                    "{file}: SCHEMA_VERSION must be raised, or the changes taken back: {breaks:#?}"
                );
            }
        }
        if update {
            fs::create_dir_all(directory()).unwrap();
            fs::write(&path, &text).unwrap();
        } else {
            assert!(stored == text, "{file} differs; set UPDATE=1 to write it");
        }
    }
    for entry in fs::read_dir(directory()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} is the schema of no type");
    }
}

fn version(schema: &Value) -> &Value {
    &schema["properties"]["schema_version"]["const"]
}

#[test]
fn every_schema_is_valid_and_each_field_has_a_description() {
    for (name, schema) in modelarts_cli::schemas() {
        jsonschema::meta::validate(schema.as_value()).unwrap();
        let mut missing = Vec::new();
        undocumented(schema.as_value(), "", &mut missing);
        assert!(missing.is_empty(), "{name}: {missing:#?}");
    }
}

/// Collects the fields without a description.
fn undocumented(schema: &Value, path: &str, missing: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        for schema in schema.as_array().into_iter().flatten() {
            undocumented(schema, path, missing);
        }
        return;
    };
    for (key, value) in object {
        let path = format!("{path}/{key}");
        if key == "properties" {
            for (name, field) in value.as_object().unwrap() {
                let is_list = field["items"]["$ref"].is_string() || field["items"].is_object();
                let is_constant = field.get("const").is_some();
                if field.get("description").is_none() && !is_list && !is_constant {
                    missing.push(format!("{path}/{name}"));
                }
                undocumented(field, &format!("{path}/{name}"), missing);
            }
        } else if !["const", "enum", "default", "examples"].contains(&key.as_str()) {
            undocumented(value, &path, missing);
        }
    }
}
