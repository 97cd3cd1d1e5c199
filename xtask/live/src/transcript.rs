//! Transcript of a session: its redacted calls, in a file that can be shared.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the file format.
const FORMAT: u32 = 1;

/// All calls of a session, redacted.
#[derive(Debug, Serialize, Deserialize)]
pub struct Transcript {
    /// The version of the file format.
    format: u32,
    /// `huawei` or `otc`, if known.
    pub cloud: Option<String>,
    /// The version of the description that the calls were made with.
    pub description: String,
    /// The calls in order.
    pub calls: Vec<Call>,
}

/// One request, and its response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Call {
    /// The operationId, if the description has the operation.
    pub operation: Option<String>,
    /// The HTTP method.
    pub method: String,
    /// The path, with parameters in braces if the operation is known.
    pub path: String,
    /// The values of the parameters in the path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub path_parameters: BTreeMap<String, String>,
    /// The parameters in the query.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// The body of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// Time until the response was complete, in milliseconds.
    pub milliseconds: u64,
    /// The status of the response; `None` if no response arrived.
    pub status: Option<u16>,
    /// Headers of the response.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Names of the other headers, whose values could identify the user.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub other_headers: BTreeSet<String>,
    /// The body of the response; `None` if it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// The reason why no response arrived, or why its body is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Call {
    /// Returns the path with the values of its parameters, as in the request.
    pub fn full_path(&self) -> String {
        let mut path = self.path.clone();
        for (name, value) in &self.path_parameters {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        path
    }

    /// Returns the id of the job in the path.
    pub fn job(&self) -> Option<&str> {
        let id = self.path_parameters.get("training_job_id");
        id.map(String::as_str)
    }
}

impl Transcript {
    /// Creates a transcript of these calls.
    pub fn new(cloud: String, description: &str, calls: Vec<Call>) -> Self {
        Self {
            format: FORMAT,
            cloud: Some(cloud),
            description: description.to_owned(),
            calls,
        }
    }

    /// Reads a transcript from a file.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let transcript: Self = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a transcript", file.display()))?;
        ensure!(
            transcript.format == FORMAT,
            "{} has the format {}; it must be {FORMAT}: record it again",
            file.display(),
            transcript.format
        );
        Ok(transcript)
    }
}
