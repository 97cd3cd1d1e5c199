//! Documentation of operations: a list of the extensions of each operation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{
    description::operations,
    error::Error,
    extensions::{Cloud, Effect, Extensions},
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

/// Returns the documentation of the builder of each operation, by the name of the operation.
pub fn builders(description: &Value) -> Result<BTreeMap<String, String>, Error> {
    let operations = operations(description)?.into_iter().map(|operation| {
        let method = operation.method.to_uppercase();
        let list = list(&operation.extensions()?);
        let text = format!("`{method} {}`\n\n{list}", operation.path);
        Ok((operation.id.to_owned(), text))
    });
    operations.collect()
}

/// Returns a Markdown list of the extensions of an operation.
pub fn list(extensions: &Extensions) -> String {
    let effect = match extensions.x_effect {
        Effect::Read => "read; it changes nothing",
        Effect::Idempotent => "idempotent; sending it again changes nothing more",
        Effect::Create => "create; each execution creates a new object",
    };
    let clouds = extensions.x_clouds.iter().map(|cloud| match cloud {
        Cloud::Huawei => "Huawei Cloud",
        Cloud::Otc => "Open Telekom Cloud",
    });
    let clouds = clouds.collect::<Vec<_>>().join(", ");
    let name = |tag: &String| SOURCES.iter().find(|(known, _)| known == tag).map(|row| row.1);
    let sources: Vec<_> = extensions.x_sources.iter().filter_map(name).collect();
    let sources = sources.join(", ");
    format!("- Effect: {effect}\n- Clouds: {clouds}\n- Sources: {sources}\n")
}
