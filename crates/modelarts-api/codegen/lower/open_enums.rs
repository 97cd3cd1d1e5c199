//! Enumerations that the service may extend.
//!
//! The description writes them as `anyOf: [KnownX, string]`, a form that generators of all
//! languages support. In Rust they become one enum with the known values and `Other`.

use heck::ToUpperCamelCase;
use serde_json::{Map, Value};

use super::super::error::Error;

/// An open enumeration.
pub struct OpenEnum {
    pub name: String,
    /// The schema that lists the known values.
    pub known: String,
    pub description: String,
    pub values: Vec<String>,
}

impl OpenEnum {
    /// Reads a schema; `None` if it is not an open enumeration.
    pub fn read(
        name: &str,
        schema: &Value,
        schemas: &Map<String, Value>,
    ) -> Result<Option<Self>, Error> {
        let Some(parts) = schema.get("anyOf") else {
            return Ok(None);
        };
        let wrong = || {
            Error(format!(
                "schema {name}: anyOf is only for open enumerations, as [$ref to a schema with \
                 the known values, {{type: string}}]"
            ))
        };
        let Some([known, text]) = parts.as_array().map(Vec::as_slice) else {
            return Err(wrong());
        };
        let known = known
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| reference.strip_prefix("#/components/schemas/"))
            .ok_or_else(wrong)?;
        if text.get("type").and_then(Value::as_str) != Some("string") {
            return Err(wrong());
        }
        let values = schemas
            .get(known)
            .and_then(|schema| schema.get("enum"))
            .and_then(Value::as_array)
            .ok_or_else(wrong)?
            .iter()
            .map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<_> = values.iter().map(|v| v.to_upper_camel_case()).collect();
        names.push("Other".into());
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error(format!(
                "schema {known}: two values, or a value and the catch-all, would be called {}",
                pair[0]
            )));
        }
        Ok(Some(Self {
            name: name.to_owned(),
            known: known.to_owned(),
            description: schema
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim()
                .to_owned(),
            values,
        }))
    }
}
