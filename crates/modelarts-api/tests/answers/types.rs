//! The generated types by name.

use modelarts_api::decode::{self, Decode, Skipped};
use serde::Serialize;
use serde_json::Value;

/// Decodes a body as one type and encodes it again.
pub type Trip = fn(&[u8]) -> Result<(Value, Skipped), String>;

macro_rules! table {
    ($($name:ident)*) => {
        const TYPES: &[(&str, Trip)] = &[
            $((stringify!($name), through::<modelarts_api::types::$name>),)*
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
