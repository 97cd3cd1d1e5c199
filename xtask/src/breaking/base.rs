//! Base that the working description is compared with: the last accepted description, without its
//! texts. The base is a file of the repository, so that it also exists before the first release and
//! in a clone without tags.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::extensions;
use crate::workspace;

/// The path of the description in the repository.
const DESCRIPTION: &str = "openapi/modelarts.yaml";

/// Keywords that do not affect clients.
const WORDS: [&str; 7] = [
    "description",
    "summary",
    "example",
    "examples",
    "externalDocs",
    "x-error-codes",
    "x-sources",
];

/// Reduces a description to the keywords that are compared, with sorted keys.
pub fn of(description: &Value) -> Value {
    let mut base = json!({ "info": { "version": description["info"]["version"] } });
    for part in ["security", "paths", "components"] {
        base[part] = stripped(&description[part], false);
    }
    extensions::copy(description, &mut base);
    base
}

/// Returns a value without the texts. With `names`, the keys of `value` are names of properties, so
/// that a property named `description` is kept.
fn stripped(value: &Value, names: bool) -> Value {
    match value {
        Value::Object(object) => {
            let kept: BTreeMap<_, _> = object
                .iter()
                .filter(|(key, _)| names || !WORDS.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), stripped(value, !names && key == "properties")))
                .collect();
            Value::Object(kept.into_iter().collect())
        }
        Value::Array(list) => list.iter().map(|value| stripped(value, false)).collect(),
        value => value.clone(),
    }
}

pub fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

pub fn write(file: &Path, description: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(&of(description))?;
    fs::write(file, text + "\n").with_context(|| file.display().to_string())
}

/// Returns the description of a revision.
pub fn revision(revision: &str) -> Result<String> {
    let output = Command::new("git")
        .args(["show", &format!("{revision}:{DESCRIPTION}")])
        .current_dir(workspace::root())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git show {revision}:{DESCRIPTION}: {}", said.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::super::{between, operations::operations};
    use super::*;
    use crate::regenerate;

    fn described() -> Value {
        regenerate::read(&workspace::description()).unwrap()
    }

    #[test]
    fn the_committed_base_has_every_operation() {
        let base = read(&workspace::base()).unwrap();
        assert_eq!(operations(&base).len(), 55);
        assert_eq!(base["info"]["version"], described()["info"]["version"]);
        assert_eq!(of(&base), base, "only what is compared");
    }

    #[test]
    fn a_removed_property_differs_from_the_committed_base() {
        let base = read(&workspace::base()).unwrap();
        let mut description = described();
        let metadata = &mut description["components"]["schemas"]["JobMetadata"];
        metadata["properties"]
            .as_object_mut()
            .unwrap()
            .remove("name")
            .unwrap();
        let required = metadata["required"].as_array_mut();
        if let Some(required) = required {
            required.retain(|name| name != "name");
        }
        let found: Vec<_> = between(&base, &description)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["schema JobMetadata, name: is gone"]);
    }

    #[test]
    fn the_base_equals_its_description() {
        let description = described();
        let base = of(&description);
        assert_eq!(between(&base, &description), []);
        assert_eq!(between(&description, &base), []);
    }

    #[test]
    fn words_go_and_properties_with_such_names_stay() {
        let schema = json!({
            "description": "A thing.",
            "properties": {
                "description": { "type": "string", "description": "Words." },
                "properties": { "summary": "s", "type": "object" },
            },
        });
        assert_eq!(
            stripped(&schema, false),
            json!({ "properties": {
                "description": { "type": "string" },
                "properties": { "type": "object" },
            } })
        );
    }
}
