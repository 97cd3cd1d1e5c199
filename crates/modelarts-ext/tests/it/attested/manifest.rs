//! Content of `openapi/attested/manifest.json`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::assertion::Assertion;

#[derive(Deserialize)]
pub struct Manifest {
    pub entries: Vec<Entry>,
}

/// Request of the manifest.
#[derive(Deserialize)]
pub struct Entry {
    pub name: String,
    file: Option<String>,
    pub operation: String,
    pub expected_status: u16,
    pub expected_error: Option<ExpectedError>,
    #[serde(default)]
    pub path_parameters: BTreeMap<String, Parameter>,
    #[serde(default)]
    pub query: BTreeMap<String, Value>,
    #[serde(default)]
    pub substitute: Vec<Substitute>,
    #[serde(default)]
    pub set_up: SetUp,
    /// Description of the operation whose response contains the asserted attributes.
    pub asserted_in: String,
    #[serde(default)]
    pub asserts: Vec<Assertion>,
}

#[derive(Deserialize)]
pub struct ExpectedError {
    code: String,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    Fixed(String),
    From { from: String, take: String },
}

/// Value of the request body that the service assigns.
#[derive(Deserialize)]
pub struct Substitute {
    pub path: String,
    pub from: String,
    pub take: String,
}

/// State that must exist before the request is sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SetUp {
    pub objects: Vec<String>,
    pub data_sets: Vec<String>,
    pub pool: Option<Pool>,
    pub delete: Option<String>,
    pub phase: Option<String>,
    pub end: bool,
    pub replace: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    Cpu,
    Gpu,
}

fn attested() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../openapi/attested")
}

impl Manifest {
    pub fn read() -> Self {
        let text = fs::read_to_string(attested().join("manifest.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Entry {
    /// Returns the stored request body. Its values belong to another project.
    pub fn body(&self) -> Option<Value> {
        let text = fs::read_to_string(attested().join(self.file.as_ref()?)).unwrap();
        Some(serde_json::from_str(&text).unwrap())
    }
}

impl ExpectedError {
    pub fn differences(&self, body: &Value) -> impl Iterator<Item = String> {
        let code = (body["error_code"] != self.code.as_str())
            .then(|| format!("{} instead of {}", body["error_code"], self.code));
        // The source may quote only an excerpt of the message.
        let text = body["error_msg"].as_str().unwrap_or_default().to_owned();
        let part = |message: &String| message.trim_matches(['.', ' ']).to_owned();
        let message = self.message.as_ref().map(part);
        let message = message
            .filter(|message| !text.contains(message.as_str()))
            .map(|message| format!("{text:?} instead of {message:?}"));
        code.into_iter().chain(message)
    }
}
