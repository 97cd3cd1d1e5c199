//! Table of the generated types by name.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::{
    compare,
    trip::{self, Report},
};

/// Name that stands for a response without a body.
const EMPTY: &str = "Empty";

/// A function that decodes a body as one type, encodes it again and compares the result.
pub type Trip = fn(&[u8]) -> Result<Report>;

macro_rules! table {
    ($($answer:ident)*; $($other:ident)*) => {
        /// All schemas of the description.
        const SCHEMAS: &[(&str, Trip)] = &[
            $((stringify!($answer), trip::through::<modelarts_api::types::$answer>),)*
            $((stringify!($other), trip::strictly::<modelarts_api::types::$other>),)*
        ];
    };
}
modelarts_api::for_each_schema!(table);

/// Returns the function that decodes and encodes bodies of a schema.
pub fn find(name: &str) -> Option<Trip> {
    if name == EMPTY {
        return Some(empty);
    }
    SCHEMAS
        .iter()
        .find(|(schema, _)| *schema == name)
        .map(|(_, trip)| *trip)
}

/// Returns the error message for an unknown schema, which suggests the most similar name.
pub fn unknown(name: &str) -> String {
    let wanted = name.to_lowercase();
    let nearest = SCHEMAS
        .iter()
        .map(|(schema, _)| *schema)
        .chain([EMPTY])
        .max_by(|a, b| {
            let likeness = |schema: &str| strsim::jaro_winkler(&wanted, &schema.to_lowercase());
            likeness(a).total_cmp(&likeness(b))
        })
        .unwrap_or(EMPTY);
    format!("no schema is called {name}; the nearest name is {nearest}")
}

/// Checks the body of an operation whose response has none (SOURCES D-32).
fn empty(body: &[u8]) -> Result<Report> {
    if body.trim_ascii().is_empty() {
        return Ok(Report::default());
    }
    let value = trip::parse(body)?;
    if ![Value::Null, json!(""), json!({})].contains(&value) {
        bail!(
            "the answer must have no body, not {}",
            compare::short(&value)
        );
    }
    Ok(Report::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_found_by_its_name() {
        assert!(SCHEMAS.len() > 100, "{}", SCHEMAS.len());
        for name in ["TrainingJob", "CreateTrainingJobRequest", "Phase", "Empty"] {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("trainingjob").is_none());
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        assert_eq!(
            unknown("trainingjob"),
            "no schema is called trainingjob; the nearest name is TrainingJob"
        );
        assert_eq!(
            unknown("empty"),
            "no schema is called empty; the nearest name is Empty"
        );
    }

    #[test]
    fn nothing_is_an_empty_body_in_four_spellings() {
        for body in ["", " \n", "\"\"", "null", "{}"] {
            assert!(empty(body.as_bytes()).is_ok(), "{body}");
        }
        assert_eq!(
            empty(br#"{"id":1}"#).unwrap_err().to_string(),
            r#"the answer must have no body, not {"id":1}"#
        );
        assert_eq!(
            empty(b"{").unwrap_err().to_string(),
            "not JSON: EOF while parsing an object at line 1 column 1"
        );
    }
}
