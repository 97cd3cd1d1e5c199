//! Rule on units: descriptions of times and sizes state the unit, because types do not show it, and
//! a wrong assumption results in an error by a factor of a thousand.

use serde_json::Value;

use super::super::{
    document::{Document, Role, reference},
    offence::Offence,
    pointer::join,
};

/// Words in the names of fields, separated by underscores, that denote a quantity with a unit.
const AMOUNTS: [&str; 8] = [
    "time",
    "timestamp",
    "duration",
    "period",
    "size",
    "mem",
    "memory",
    "at",
];

/// Words that denote a unit, or a format that includes a unit.
const UNITS: [&str; 17] = [
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "byte",
    "KB",
    "MB",
    "GB",
    "TB",
    "percent",
    "number of",
    "RFC 3339",
    "ISO 8601",
    "`unit`",
    "`time_unit`",
    "not documented",
];

pub fn check(document: &Document) -> Vec<Offence> {
    let properties = document
        .schemas
        .iter()
        .filter(|schema| schema.role == Role::Property && is_amount(schema.value))
        .filter_map(|schema| {
            let (_, name) = schema.place.rsplit_once('/')?;
            Some((name, &schema.place, schema.value))
        });
    let parameters = document
        .parameters
        .iter()
        .filter(|parameter| parameter.value.get("schema").is_some_and(is_amount))
        .filter_map(|parameter| {
            let name = parameter.value.get("name")?.as_str()?;
            Some((name, &parameter.place, parameter.value))
        });
    properties
        .chain(parameters)
        .filter(|(name, _, described)| speaks_of_an_amount(name) && !says_a_unit(described))
        .map(|(_, place, _)| {
            Offence::new(
                join(place, "description"),
                "say the unit or the format, or that it is not documented",
            )
        })
        .collect()
}

/// Returns true if the type of a schema is a number or a string. Objects and enumerations, which
/// are named schemas, are not quantities.
fn is_amount(schema: &Value) -> bool {
    let typed = schema.get("type").and_then(Value::as_str);
    let part = schema.pointer("/allOf/0").and_then(reference);
    part == Some("IntegerOrText") || matches!(typed, Some("integer" | "number" | "string"))
}

fn speaks_of_an_amount(name: &str) -> bool {
    name.split('_').any(|part| AMOUNTS.contains(&part))
}

fn says_a_unit(described: &Value) -> bool {
    let text = described.get("description").and_then(Value::as_str);
    let text = text.unwrap_or_default().to_lowercase();
    UNITS.iter().any(|unit| text.contains(&unit.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{JOB, LIST, with},
        *,
    };

    const SAY: &str = "description: say the unit or the format, or that it is not documented";

    fn property(name: &str, schema: Value) -> Vec<String> {
        with(check, &format!("{JOB}/properties"), name, schema)
    }

    #[test]
    fn an_amount_without_a_unit_fires() {
        for (name, kind) in [
            ("start_time", "integer"),
            ("duration", "number"),
            ("expires_at", "string"),
            ("max_size", "integer"),
            ("mem_usage", "number"),
            ("period", "string"),
        ] {
            let schema = json!({ "type": kind, "description": "How much." });
            let place = format!("{JOB}/properties/{name}");
            assert_eq!(property(name, schema), [format!("{place}/{SAY}")]);
        }
        let either = json!({
            "description": "How much.",
            "allOf": [{ "$ref": "#/components/schemas/IntegerOrText" }],
        });
        assert_eq!(property("size", either).len(), 1);
        let parameter = json!({
            "name": "since_time", "in": "query", "description": "From then on.",
            "schema": { "type": "integer" },
        });
        assert_eq!(
            with(check, LIST, "parameters", json!([parameter])),
            [format!("{LIST}/parameters/0/{SAY}")]
        );
    }

    #[test]
    fn a_unit_and_what_needs_none_are_silent() {
        for text in [
            "In milliseconds.",
            "Such as `2 GB`.",
            "Its unit is not documented.",
        ] {
            let schema = json!({ "type": "integer", "description": text });
            assert_eq!(property("size", schema), [""; 0], "{text}");
        }
        let plain = json!({ "type": "string", "description": "How it runs." });
        assert_eq!(property("runtime_type", plain.clone()), [""; 0]);
        assert_eq!(property("format", plain), [""; 0]);
        let object = json!({
            "description": "How long.",
            "allOf": [{ "$ref": "#/components/schemas/Job" }],
        });
        assert_eq!(property("reserved_time", object), [""; 0]);
    }
}
