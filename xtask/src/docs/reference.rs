//! Conversion of the extensions of the description to text, for the HTML page.
//!
//! Redoc hides extensions or shows them as raw data. The converted copy keeps the order of the
//! keys, because the page shows operations and fields in this order.

use anyhow::{Context, Result};
use serde_json::Value;
use yaml_serde::{Mapping, Value as Yaml};

use super::{errors, events, operations};
use crate::{codegen::METHODS, markdown};

/// Returns the description with its extensions as text. The section about signing is from the
/// README in its folder.
pub fn with_text(yaml: &str, readme: &str) -> Result<String> {
    let mut copy: Yaml = yaml_serde::from_str(yaml)?;
    let description: Value = yaml_serde::from_value(copy.clone())?;
    let paths = copy.get_mut("paths").and_then(Yaml::as_mapping_mut);
    for item in paths.context("the description has no paths")?.values_mut() {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method) {
                describe(&description, operation)?;
            }
        }
    }
    let copy = copy.as_mapping_mut().context("the description is no map")?;
    without_extensions(copy);
    let tags = copy.get_mut("tags").and_then(Yaml::as_sequence_mut);
    let tags = tags.context("the description has no tags")?;
    for (name, text) in sections(&description, readme)? {
        tags.push(section(name, &text));
    }
    Ok(yaml_serde::to_string(copy)?)
}

fn describe(description: &Value, operation: &mut Yaml) -> Result<()> {
    let value: Value = yaml_serde::from_value(operation.clone())?;
    let operation = operation
        .as_mapping_mut()
        .context("an operation is no map")?;
    let text = value["description"].as_str().unwrap_or_default().trim_end();
    let text = format!("{text}\n\n{}", operations::text(description, &value));
    operation.insert("description".into(), text.into());
    without_extensions(operation);
    Ok(())
}

fn without_extensions(map: &mut Mapping) {
    map.retain(|key, _| !key.as_str().is_some_and(|key| key.starts_with("x-")));
}

/// Returns the title and the text of each section without operations.
fn sections(description: &Value, readme: &str) -> Result<Vec<(&'static str, String)>> {
    let operations = all_operations(description);
    let signing = markdown::section(readme, "Signing").context("README.md")?;
    let mut sections = vec![("Signing", markdown::without_relative_links(signing))];
    let others = [
        (
            "Errors of any operation",
            errors::section(description, &operations),
        ),
        ("Events", events::events(description)),
        (
            "Waiters",
            events::waiters(description, |id| anchor(&operations, id)),
        ),
    ];
    for (name, text) in others {
        sections.extend(text.map(|text| (name, text)));
    }
    Ok(sections)
}

fn all_operations(description: &Value) -> Vec<&Value> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let items = paths.filter_map(|(_, item)| item.as_object());
    items
        .flatten()
        .filter(|(method, _)| METHODS.contains(&method.as_str()))
        .map(|(_, operation)| operation)
        .collect()
}

/// Returns the anchor of an operation on the page.
fn anchor(operations: &[&Value], id: &str) -> Option<String> {
    let operation = operations.iter().find(|it| it["operationId"] == id)?;
    let tag = operation["tags"][0].as_str()?;
    Some(format!("#/{tag}/{id}").to_lowercase())
}

/// Returns a tag without operations, which Redoc shows as a section of text.
fn section(name: &str, text: &str) -> Yaml {
    let mut tag = Mapping::new();
    tag.insert("name".into(), name.into());
    tag.insert("x-traitTag".into(), true.into());
    tag.insert("description".into(), text.into());
    tag.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    const README: &str = "# T\n\n## Signing\n\nSee [`a`](a.py).\n\n## Other\n";

    const DESCRIPTION: &str = "\
tags:
- name: Jobs
  x-displayName: Training jobs
x-error-table:
- {code: B, status: 429, any-operation: true, retry: {}, meaning: M., advice: A.}
x-waiters:
- {name: W, description: D., operation: ShowJob, field: f, outcomes: []}
paths:
  /z:
    parameters: []
    get:
      operationId: ShowJob
      tags: [Jobs]
      description: Shows a job.
      x-effect: read
      x-clouds: [otc]
  /a:
    delete:
      description: Deletes it.
      x-effect: idempotent
      x-clouds: [huawei]
";

    #[test]
    fn extensions_become_text_and_the_order_stays() {
        let text = with_text(DESCRIPTION, README).unwrap();
        assert!(text.find("/z:").unwrap() < text.find("/a:").unwrap());
        let copy: Value = yaml_serde::from_str(&text).unwrap();
        assert_eq!(
            copy["paths"]["/z"]["get"],
            serde_json::json!({
                "operationId": "ShowJob",
                "tags": ["Jobs"],
                "description": "Shows a job.\n\n**Clouds**: Open Telekom Cloud. **Effect**: \
                    reads; sending it twice changes nothing.",
            })
        );
        assert_eq!(copy.get("x-error-table"), None);
        let names: Vec<_> = copy["tags"].as_array().unwrap().iter().collect();
        let titles: Vec<_> = names
            .iter()
            .map(|tag| tag["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            titles,
            ["Jobs", "Signing", "Errors of any operation", "Waiters"]
        );
        assert_eq!(names[0]["x-displayName"], "Training jobs");
        assert_eq!(names[1]["description"], "See `a`.");
        let waiters = names[3]["description"].as_str().unwrap();
        assert!(waiters.contains("[ShowJob](#/jobs/showjob)"));
    }

    #[test]
    fn every_operation_of_the_description_gets_its_text() {
        let file = workspace::description();
        let readme = std::fs::read_to_string(file.with_file_name("README.md")).unwrap();
        let text = with_text(&std::fs::read_to_string(file).unwrap(), &readme).unwrap();
        let copy: Value = yaml_serde::from_str(&text).unwrap();
        let operations = all_operations(&copy);
        assert!(!operations.is_empty());
        for operation in operations {
            let text = operation["description"].as_str().unwrap();
            for part in ["**Clouds**: ", "**Effect**: ", "**See**: [Reference of "] {
                assert!(text.contains(part), "{}: {part}", operation["operationId"]);
            }
            let keys = operation.as_object().unwrap().keys();
            assert_eq!(keys.filter(|key| key.starts_with("x-")).count(), 0);
        }
    }

    #[test]
    fn signing_must_be_in_the_readme() {
        let error = with_text(DESCRIPTION, "# T\n").unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "README.md: there is no section Signing"
        );
    }
}
