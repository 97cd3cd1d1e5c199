//! Rule on formats: only those with the same meaning in all languages are admitted.

use serde_json::Value;

use super::super::{document::Document, offence::Offence, pointer::join};

/// Admitted formats, each with its type. `date-time` and `uuid` are not admitted: values of the
/// service do not always comply with them, and typed clients would then reject the response.
const FORMATS: &[(&str, &str)] = &[
    ("integer", "int32"),
    ("integer", "int64"),
    ("number", "float"),
    ("number", "double"),
    ("string", "password"),
];

pub fn check(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for schema in &document.schemas {
        let text = |key: &str| schema.value.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        let numeric = ["integer", "number"].contains(&kind);
        let admitted: Vec<_> = FORMATS
            .iter()
            .filter(|(of, _)| *of == kind)
            .map(|(_, format)| *format)
            .collect();
        let list = admitted.join(" or ");
        let message = match text("format") {
            Some(format) if admitted.contains(&format) => continue,
            Some(format) if admitted.is_empty() => {
                format!("{format} is no format that every language knows; remove it")
            }
            Some(format) => {
                format!("{format} is no format that every language knows; write {list}, or none")
            }
            None if numeric => format!("say how wide the {kind} is: {list}"),
            None => continue,
        };
        offences.push(Offence::new(join(&schema.place, "format"), message));
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{property_x, with_property},
        *,
    };

    #[test]
    fn other_formats_fire() {
        for (kind, format, message) in [
            (
                "string",
                json!("date-time"),
                "date-time is no format that every language knows; write password, or none",
            ),
            (
                "boolean",
                json!("int32"),
                "int32 is no format that every language knows; remove it",
            ),
            (
                "number",
                json!("int64"),
                "int64 is no format that every language knows; write float or double, or none",
            ),
            (
                "integer",
                json!(null),
                "say how wide the integer is: int32 or int64",
            ),
        ] {
            let schema = json!({ "type": kind, "format": format });
            assert_eq!(
                with_property(check, schema),
                [format!("{}/format: {message}", property_x())]
            );
        }
    }

    #[test]
    fn formats_of_the_list_are_silent() {
        for (kind, format) in FORMATS {
            let schema = json!({ "type": kind, "format": format });
            assert_eq!(with_property(check, schema), [""; 0]);
        }
        assert_eq!(with_property(check, json!({ "type": "string" })), [""; 0]);
    }
}
