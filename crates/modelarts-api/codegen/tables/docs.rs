//! Documentation of operations: a list of the extensions of each operation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{
    description::{operations, text, texts},
    error::Error,
};

/// Names of the sources of facts, by their identifiers in `openapi/SOURCES.md`.
pub const SOURCES: &[(&str, &str)] = &[
    ("O", "API reference of Open Telekom Cloud"),
    ("S", "official Python SDK"),
    ("W", "definitions of the API explorer"),
    ("T", "Terraform provider"),
    ("P", "API pages of Huawei Cloud"),
    ("F1", "guide to events"),
    ("F2", "page on events"),
    ("F3", "guide to creating jobs"),
    ("F4", "older page on details"),
    ("F5", "newer page on details"),
    ("U", "use case with PyTorch"),
    ("X", "printed examples"),
    ("K", "agent skills of the vendor"),
    ("C", "community clients"),
    ("C1", "back end of MindSpore Xihe"),
    ("C2", "modelart-cli"),
    ("C3", "a trading strategy's trainer"),
    ("C4", "climbmix, a fleet of jobs"),
    ("C5", "an agent skill of a third party"),
    ("C6", "log of a job on the live service"),
    ("C7", "incident reports of the author of modelart-cli"),
    ("V", "Airflow provider"),
];

const EFFECTS: &[(&str, &str)] = &[
    ("read", "read; it changes nothing"),
    (
        "idempotent",
        "idempotent; sending it again changes nothing more",
    ),
    ("create", "create; each execution creates a new object"),
];

const CLOUDS: &[(&str, &str)] = &[("huawei", "Huawei Cloud"), ("otc", "Open Telekom Cloud")];

/// Returns the documentation of the builder of each operation, by the name of the operation.
pub fn builders(description: &Value) -> Result<BTreeMap<String, String>, Error> {
    let operations = operations(description)?.into_iter().map(|operation| {
        let method = operation.method.to_uppercase();
        let text = format!(
            "`{method} {}`\n\n{}",
            operation.path,
            list(operation.definition)
        );
        (operation.id.to_owned(), text)
    });
    Ok(operations.collect())
}

/// Returns a Markdown list of the extensions of an operation.
pub fn list(operation: &Value) -> String {
    let row = |title: &str, key: &str, names: &[(&'static str, &'static str)]| {
        let tags = text(operation, key)
            .into_iter()
            .chain(texts(operation, key));
        let name = |tag| {
            names
                .iter()
                .find(|(known, _)| *known == tag)
                .map_or(tag, |row| row.1)
        };
        let words: Vec<_> = tags.map(name).collect();
        match words.is_empty() {
            true => String::new(),
            false => format!("- {title}: {}\n", words.join(", ")),
        }
    };
    row("Effect", "x-effect", EFFECTS)
        + &row("Clouds", "x-clouds", CLOUDS)
        + &row("Sources", "x-sources", SOURCES)
}
