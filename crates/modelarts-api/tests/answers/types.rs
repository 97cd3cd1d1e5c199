//! Table of generated types by name.

use modelarts_api::decode::{self, Decode, Skipped};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A function that decodes a body as one type and encodes it again.
pub type Trip = fn(&[u8]) -> Result<(Value, Skipped), String>;

macro_rules! table {
    ($($answer:ident)*; $($request:ident)*) => {
        const TYPES: &[(&str, Trip)] = &[
            $((stringify!($answer), through::<modelarts_api::types::$answer>),)*
            $((stringify!($request), strictly::<modelarts_api::types::$request>),)*
        ];
    };
}
modelarts_api::for_each_schema!(table);

pub fn of(name: &str) -> Trip {
    let found = TYPES.iter().find(|(known, _)| *known == name);
    found.expect(name).1
}

fn through<T: Decode + Serialize>(body: &[u8]) -> Result<(Value, Skipped), String> {
    let (value, skipped) = decode::body::<T>(body).map_err(|error| error.to_string())?;
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    Ok((value, skipped))
}

/// Decodes a body strictly, as a type that occurs only in requests, and encodes it again. Nulls are
/// equivalent to absent fields, and are removed first.
fn strictly<T: DeserializeOwned + Serialize>(body: &[u8]) -> Result<(Value, Skipped), String> {
    let mut body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    remove_nulls(&mut body);
    let value: T = serde_json::from_value(body).map_err(|error| error.to_string())?;
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    Ok((value, Skipped::default()))
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

#[test]
fn strict_reading_refuses_nulls_that_are_not_removed() {
    use modelarts_api::types::{JobAlgorithmRequest, JobMetadataRequest};

    let error = serde_json::from_str::<JobMetadataRequest>(r#"{"name":null}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid type: null, expected a string at line 1 column 12"
    );
    let error = serde_json::from_str::<JobAlgorithmRequest>(r#"{"inputs":null}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid type: null, expected a sequence at line 1 column 14"
    );
    let error = strictly::<JobMetadataRequest>(r#"{"name":null}"#.as_bytes()).unwrap_err();
    assert_eq!(error, "missing field `name`");
}
