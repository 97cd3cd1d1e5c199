//! Tests with the vectors of `openapi/vectors` that require a server. The signing vectors are used
//! by the unit tests of signing.

mod awkward;
mod pagination;

use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Deserializes a file of vectors.
fn file<T: DeserializeOwned>(name: &str) -> T {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/vectors");
    serde_json::from_slice(&fs::read(directory.join(name)).unwrap()).unwrap()
}

/// Returns the cases in a file of vectors.
fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let mut file: Value = file(name);
    serde_json::from_value(file["cases"].take()).unwrap()
}
