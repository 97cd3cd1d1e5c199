//! Table of generated types by name.

use std::collections::BTreeSet;

use modelarts_api::decode::{self, Decode, Skipped};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A function that decodes a body as one type and encodes it again.
pub type Trip = fn(&[u8]) -> Result<(Value, Skipped), String>;

macro_rules! table {
    ($($answer:ident)*; $($request:ident)*) => {
        const TYPES: &[(&str, Trip)] = &[
            $((stringify!($answer), through::<modelarts_api::types::$answer>),)*
            $((stringify!($request), strictly::<modelarts_api::types::$request>),)*
            ("Empty", empty),
        ];
    };
}
modelarts_api::for_each_schema!(table);

/// Returns the function for a schema, or for `Empty`, which is a response without a body. The error
/// for an unknown name has the name with the most pairs of letters in common.
pub fn find(name: &str) -> Result<Trip, String> {
    if let Some((_, trip)) = TYPES.iter().find(|(known, _)| *known == name) {
        return Ok(*trip);
    }
    let pairs = |name: &str| -> BTreeSet<Vec<u8>> {
        let name = name.to_ascii_lowercase();
        name.as_bytes().windows(2).map(<[u8]>::to_vec).collect()
    };
    let wanted = pairs(name);
    let likeness = |known: &str| {
        let known = pairs(known);
        1000 * wanted.intersection(&known).count() / (wanted.len() + known.len())
    };
    let nearest = TYPES.iter().max_by_key(|(known, _)| likeness(known));
    let nearest = nearest.map_or("Empty", |(known, _)| known);
    Err(format!("no schema is called {name}; the nearest name is {nearest}"))
}

fn through<T: Decode + Serialize>(body: &[u8]) -> Result<(Value, Skipped), String> {
    let (value, skipped) = decode::body::<T>(body).map_err(|error| error.to_string())?;
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    Ok((value, skipped))
}

/// Decodes a body strictly, as a type that occurs only in requests, and encodes it again.
fn strictly<T: DeserializeOwned + Serialize>(body: &[u8]) -> Result<(Value, Skipped), String> {
    let mut body = serde_json::Deserializer::from_slice(body);
    let value: T =
        serde_path_to_error::deserialize(&mut body).map_err(|error| error.to_string())?;
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    Ok((value, Skipped::default()))
}

/// Checks the body of an operation whose response has none (SOURCES D-32).
fn empty(body: &[u8]) -> Result<(Value, Skipped), String> {
    let value = match body.trim_ascii() {
        b"" => Value::Null,
        body => serde_json::from_slice(body).map_err(|error| error.to_string())?,
    };
    if [json!(null), json!(""), json!({})].contains(&value) {
        return Ok((value, Skipped::default()));
    }
    Err(format!("the response must have no body, not {value}"))
}
