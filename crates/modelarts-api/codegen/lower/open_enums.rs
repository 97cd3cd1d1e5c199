//! Open enumerations: enumerations that the service may extend.
//!
//! The description writes an open enumeration as `anyOf: [KnownX, string]`, where the schema
//! `KnownX` lists the known values. In Rust, each open enumeration becomes one enum with the known
//! values and `Other`.

use heck::ToUpperCamelCase;
use serde_json::{Map, Value, json};

use super::super::{
    description::{elements, reference, text},
    error::Error,
};

/// Open enumeration of the description.
pub struct OpenEnum {
    pub name: String,
    /// Name of the schema that lists the known values.
    pub known: String,
    pub description: String,
    pub values: Vec<String>,
}

impl OpenEnum {
    /// Returns the open enumeration that a schema describes; `None` for any other schema.
    pub fn read(
        name: &str,
        schema: &Value,
        schemas: &Map<String, Value>,
    ) -> Result<Option<Self>, Error> {
        let Some(parts) = schema.get("anyOf").and_then(Value::as_array) else {
            return Ok(None);
        };
        let known = match parts.as_slice() {
            [known, other] if *other == json!({ "type": "string" }) => reference(known),
            _ => None,
        };
        let known = known.filter(|known| *known == format!("Known{name}"));
        let values = known.and_then(|known| schemas.get(known));
        let values = values.filter(|values| values.get("enum").is_some());
        let (Some(known), Some(values)) = (known, values) else {
            return Err(Error(format!(
                "schema {name}: anyOf is only for open enumerations, as [$ref to Known{name} with \
                 the known values, {{type: string}}]"
            )));
        };
        let values: Option<Vec<_>> =
            elements(values, "enum").map(|value| value.as_str().map(str::to_owned)).collect();
        let values =
            values.ok_or_else(|| Error(format!("schema {known}: every value must be text")))?;
        let mut names: Vec<_> = values.iter().map(|v| v.to_upper_camel_case()).collect();
        names.push("Other".into());
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error(format!(
                "schema {known}: two values, or a value and the catch-all, would be called {}",
                pair[0]
            )));
        }
        let description = text(schema, "description").unwrap_or_default();
        Ok(Some(Self {
            name: name.to_owned(),
            known: known.to_owned(),
            description: description.trim().to_owned(),
            values,
        }))
    }
}
