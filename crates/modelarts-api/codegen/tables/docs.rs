//! Writes the extensions of an operation as a list for its documentation.

use serde_json::Value;

/// The documents that facts come from, by their tags in `openapi/SOURCES.md`.
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
    ("V", "Airflow provider"),
];

/// Returns a Markdown list of the extensions that an operation has.
pub fn list(operation: &Value) -> String {
    let names = |key: &str, named: &dyn Fn(&str) -> String| {
        let names: Vec<_> = operation
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(named)
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let effect = match operation.get("x-effect").and_then(Value::as_str) {
        Some("read") => Some("read; it changes nothing"),
        Some("idempotent") => Some("idempotent; sending it again changes nothing more"),
        Some("create") => Some("create; each execution creates a new object"),
        _ => None,
    };
    let clouds = names("x-clouds", &|name| match name {
        "huawei" => "Huawei Cloud".to_owned(),
        "otc" => "Open Telekom Cloud".to_owned(),
        other => other.to_owned(),
    });
    let sources = names("x-sources", &|tag| {
        let known = SOURCES.iter().find(|(known, _)| *known == tag);
        known.map_or(tag, |(_, name)| name).to_owned()
    });
    let rows = [
        ("Effect", effect.map(str::to_owned)),
        ("Clouds", clouds),
        ("Sources", sources),
    ];
    rows.into_iter()
        .filter_map(|(title, text)| Some(format!("- {title}: {}\n", text?)))
        .collect()
}
