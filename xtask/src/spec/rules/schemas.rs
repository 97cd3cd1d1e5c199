//! Rules on the version, components, schemas and parameters.

use std::collections::BTreeMap;

use heck::ToSnakeCase;
use serde_json::Value;

use super::super::{document::Document, report::Report};
use crate::codegen::{
    description::{members, reference, resolve, text},
    pointer::join,
};

/// Checks that the version equals that of the crates, which clients send in a header.
pub fn version(document: &Document, report: &mut Report) {
    let version = env!("CARGO_PKG_VERSION");
    report.must(
        document.root["info"]["version"] == version,
        "/info/version".to_owned(),
        format!("must be {version}, the version of the workspace"),
    );
}

/// Checks that names of components differ by more than the case of letters, also across sections.
/// Generators for Go and Rust put all components into one namespace, and some file systems ignore
/// case.
pub fn component_names(document: &Document, report: &mut Report) {
    let mut seen = BTreeMap::new();
    for (section, components) in members(document.root, "components") {
        for name in components.as_object().into_iter().flatten().map(|(name, _)| name) {
            let place = join(&join("/components", section), name);
            if let Some(other) = seen.insert(name.to_lowercase(), place.clone()) {
                report.add(place, format!("must have another name than {other}"));
            }
        }
    }
}

/// Checks that properties differ in snake_case, because a generated client cannot contain both.
pub fn property_names(document: &Document, report: &mut Report) {
    for (place, object) in &document.objects {
        let mut seen = BTreeMap::new();
        let properties = object.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(|properties| properties.keys()) {
            if let Some(other) = seen.insert(name.to_snake_case(), name) {
                let place = join(&join(place, "properties"), name);
                report.add(place, format!("must differ from {other} in snake_case"));
            }
        }
    }
}

/// Checks that a list in a parameter contains scalars, which all generators send alike.
pub fn lists(document: &Document, report: &mut Report) {
    for (place, parameter) in document.parameters() {
        if let Some(items) = resolve(document.root, &parameter["schema"]).get("items") {
            let kind = text(resolve(document.root, items), "type");
            report.must(
                matches!(kind, Some("string" | "integer" | "number" | "boolean")),
                format!("{place}/schema/items"),
                "must be a scalar",
            );
        }
    }
}

/// Checks that a reference is alone, because OpenAPI 3.0 ignores other keywords beside it.
pub fn references(document: &Document, report: &mut Report) {
    for (place, object) in &document.objects {
        let holds = !object.get("$ref").is_some_and(Value::is_string) || object.len() == 1;
        report.must(holds, join(place, "$ref"), "must be alone; wrap it: allOf: [$ref]");
    }
}

/// Checks `x-open-enum`, which must be on a string and name the enumeration of the known values.
/// Rejects all others, except on operations, because a misspelt extension would have no effect.
pub fn open_enums(document: &Document, report: &mut Report) {
    for (place, object) in &document.objects {
        if document.operations.iter().any(|operation| operation.place == *place) {
            continue;
        }
        for (key, value) in object.iter().filter(|(key, _)| key.starts_with("x-")) {
            let known = value.as_str().map(|known| document.values(known).count());
            let is_open = object.get("type").and_then(Value::as_str) == Some("string");
            report.must(
                key == "x-open-enum" && is_open && known > Some(0),
                join(place, key),
                "must be x-open-enum, on a string, with the name of an enumeration",
            );
        }
    }
}

/// Checks that the description of a parameter lists its known values, because readers of the
/// reference and users of generated clients see a string.
pub fn known_values(document: &Document, report: &mut Report) {
    for (place, parameter) in document.parameters() {
        let known = parameter["schema"].get("x-open-enum").and_then(Value::as_str);
        let description = parameter.get("description").and_then(Value::as_str).unwrap_or_default();
        for value in known.into_iter().flat_map(|known| document.values(known)) {
            report.must(
                description.contains(&format!("`{value}`")),
                join(place, "description"),
                format!("must list the known values, each in backticks; `{value}` is missing"),
            );
        }
    }
}

/// Words in the names of fields, separated by underscores, that denote a quantity with a unit.
const AMOUNTS: [&str; 8] =
    ["time", "timestamp", "duration", "period", "size", "mem", "memory", "at"];

/// Words that denote a unit, or a format that includes a unit.
const UNITS: [&str; 17] = [
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "byte",
    "kb",
    "mb",
    "gb",
    "tb",
    "percent",
    "number of",
    "rfc 3339",
    "iso 8601",
    "`unit`",
    "`time_unit`",
    "not documented",
];

/// Checks that descriptions of times and sizes state the unit. Types do not state it, and a client
/// that assumes another unit is wrong by a factor of, for example, a thousand.
pub fn units(document: &Document, report: &mut Report) {
    let objects = document.objects.iter();
    let schemas = objects.filter_map(|(place, object)| {
        let properties = object.get("properties").and_then(Value::as_object)?;
        Some((join(place, "properties"), properties))
    });
    let properties = schemas.flat_map(|(place, properties)| {
        let properties = properties.iter();
        properties.map(move |(name, it)| (join(&place, name), name.as_str(), it, it))
    });
    let mut described: Vec<_> = properties.collect();
    for (place, parameter) in document.parameters() {
        if let (Some(Value::String(name)), Some(value)) =
            (parameter.get("name"), document.root.pointer(place))
        {
            described.push((place.clone(), name, value, &parameter["schema"]));
        }
    }
    for (place, name, described, schema) in described {
        let is_named = name.split('_').any(|word| AMOUNTS.contains(&word));
        // Objects and enumerations, which are references, are not quantities.
        let is_amount = matches!(text(schema, "type"), Some("integer" | "number" | "string"))
            || reference(schema) == Some("IntegerOrText");
        let description = text(described, "description").unwrap_or_default().to_lowercase();
        report.must(
            !is_named || !is_amount || UNITS.iter().any(|unit| description.contains(unit)),
            join(&place, "description"),
            "must say the unit or the format, or that it is not documented",
        );
    }
}
