//! Rules on the version, components, schemas and parameters.

use std::collections::{BTreeMap, BTreeSet};

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

/// Checks the extensions of schemas and parameters. A misspelt extension would have no effect.
pub fn extensions(document: &Document, report: &mut Report) {
    let described: BTreeSet<_> = described(document).into_iter().map(|(place, ..)| place).collect();
    for (place, object) in &document.objects {
        if document.operations.iter().any(|operation| operation.place == *place) {
            continue;
        }
        for (key, value) in object.iter().filter(|(key, _)| key.starts_with("x-")) {
            let known = value.as_str().map(|known| document.values(known).count());
            let is_open = object.get("type").and_then(Value::as_str) == Some("string");
            let (holds, message) = match key.as_str() {
                "x-open-enum" => (
                    is_open && known > Some(0),
                    "must be on a string, with the name of an enumeration",
                ),
                "x-since" | "x-until" => (is_version(value), "must be a version, such as 3.1.206"),
                // The rules `units` and `defaults` check the values.
                "x-unit" | "x-default" => {
                    (described.contains(place), "must be on a property or a parameter")
                }
                _ => (false, "must be x-open-enum, x-unit, x-default, x-since or x-until here"),
            };
            report.must(holds, join(place, key), message);
        }
    }
}

/// Returns `true` for a version of the vendor's SDK.
pub fn is_version(value: &Value) -> bool {
    let patch = value.as_str().and_then(|version| version.strip_prefix("3.1."));
    patch.is_some_and(|patch| patch.parse::<u16>().is_ok())
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

/// Values of `x-unit`, each with a text that the description must contain.
const UNITS: [(&str, &str); 13] = [
    ("epoch-milliseconds", " milliseconds since 1970"),
    ("epoch-seconds", " seconds since 1970"),
    ("milliseconds", " milliseconds"),
    ("seconds", " seconds"),
    ("hours", " hours"),
    ("bytes", " bytes"),
    ("GB", " GB"),
    ("count", "Number of"),
    ("field", "`unit`"),
    ("in-value", "with its unit"),
    ("rfc3339", "RFC 3339"),
    ("iso8601", "ISO 8601"),
    ("unknown", "is not documented"),
];

/// Checks that times and sizes have an `x-unit`, and that their descriptions state the same unit.
/// Types do not state it, and a client that assumes another unit is wrong by a factor of, for
/// example, a thousand.
pub fn units(document: &Document, report: &mut Report) {
    for (place, name, described, schema) in described(document) {
        let is_named = name.split('_').any(|word| AMOUNTS.contains(&word));
        // Objects and enumerations, which are references, are not quantities.
        let is_amount = matches!(text(schema, "type"), Some("integer" | "number" | "string"))
            || reference(schema) == Some("IntegerOrText");
        let unit = described.get("x-unit");
        let stated = UNITS.iter().find(|(known, _)| unit.is_some_and(|unit| unit == known));
        let description = words(described);
        let place = join(&place, "x-unit");
        match stated {
            Some((unit, words)) => {
                let message = format!("must be the unit of the description, which lacks:{words}");
                // A point in time is no duration.
                let is_duration = ["milliseconds", "seconds"].contains(unit);
                let holds = description.contains(words)
                    && !(is_duration && description.contains("seconds since 1970"));
                report.must(holds, place, message);
            }
            None if unit.is_some() || is_named && is_amount => {
                let units = UNITS.map(|(unit, _)| unit).join(", ");
                report.add(place, format!("must be one of {units}"));
            }
            None => {}
        }
    }
}

/// Checks that `x-default` is the default that the description states.
pub fn defaults(document: &Document, report: &mut Report) {
    for (place, _, described, _) in described(document) {
        let description = words(described);
        let rest = description.split("efaults to ").nth(1).unwrap_or_default();
        let quote = rest.chars().next().filter(|first| ['`', '"'].contains(first));
        let word = rest.split_whitespace().next().unwrap_or_default();
        let word = word.trim_end_matches(['.', ',', ';']).replace(',', "");
        let stated: Option<Value> = match quote {
            // A quoted number is text.
            Some(quote) => rest.split(quote).nth(1).map(Value::from),
            None => serde_json::from_str(&word).ok(),
        };
        let message = match &stated {
            Some(value) => format!("must be {value}, as the description states"),
            None => "must be absent, because the description states no such default".to_owned(),
        };
        let holds = described.get("x-default") == stated.as_ref();
        report.must(holds, join(&place, "x-default"), message);
    }
}

/// Returns the description on one line.
fn words(described: &Value) -> String {
    let words = text(described, "description").unwrap_or_default().split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the properties and parameters: place, name, the object with the description, and schema.
fn described<'a>(document: &'a Document) -> Vec<(String, &'a str, &'a Value, &'a Value)> {
    let objects = document.objects.iter();
    let schemas = objects.filter_map(|(place, object)| {
        let properties = object.get("properties").and_then(Value::as_object)?;
        Some((join(place, "properties"), properties))
    });
    let properties = schemas.flat_map(|(place, properties)| {
        let properties = properties.iter();
        properties.map(move |(name, it)| (join(&place, name), name.as_str(), it, it))
    });
    let parameters = document.parameters().filter_map(|(place, parameter)| {
        let name = parameter.get("name")?.as_str()?;
        Some((place.clone(), name, document.root.pointer(place)?, &parameter["schema"]))
    });
    properties.chain(parameters).collect()
}
