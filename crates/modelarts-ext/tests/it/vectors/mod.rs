//! Vectors of `openapi/vectors` that need a server. The unit tests of signing use the others, which
//! are those of signing.

mod awkward;
mod pagination;

use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a file of vectors.
fn file<T: DeserializeOwned>(name: &str) -> T {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/vectors");
    serde_json::from_slice(&fs::read(directory.join(name)).unwrap()).unwrap()
}

/// Reads the cases of a file.
fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let mut file: Value = file(name);
    serde_json::from_value(file["cases"].take()).unwrap()
}
