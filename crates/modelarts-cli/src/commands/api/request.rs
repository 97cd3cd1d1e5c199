//! `PreparedRequest`: a request that is printed and not sent.

use std::collections::BTreeMap;

use modelarts_ext::operations::OperationCall;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{failure::Failure, output::Document, secrets};

/// A request without its signature.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PreparedRequest {
    /// Operation.
    operation: &'static str,
    /// HTTP method.
    method: String,
    /// Address with the query.
    url: String,
    /// Headers, without those of the signature.
    headers: BTreeMap<String, String>,
    /// JSON body; null if there is none.
    body: Option<Value>,
}

impl PreparedRequest {
    /// Builds the request. Secrets in its body are masked unless `show_secrets` is set.
    pub(crate) fn new(call: &OperationCall, show_secrets: bool) -> Result<Self, Failure> {
        let request = call.request()?;
        let headers = request.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), value.into_owned())
        });
        let bytes = request.body().and_then(|body| body.as_bytes());
        let body = bytes.map(serde_json::from_slice).transpose();
        let mut body: Option<Value> = body.map_err(Failure::local)?;
        if let Some(body) = &mut body
            && !show_secrets
        {
            secrets::mask(body);
        }
        Ok(Self {
            operation: call.operation().id,
            method: request.method().to_string(),
            url: request.url().to_string(),
            headers: headers.collect(),
            body,
        })
    }
}

impl Document for PreparedRequest {
    fn text(&self, _wide: bool, _width: Option<u16>) -> String {
        let mut text = format!("{} {}", self.method, self.url);
        for (name, value) in &self.headers {
            text += &format!("\n{name}: {value}");
        }
        if let Some(body) = &self.body {
            text += &format!("\n\n{body:#}");
        }
        text
    }
}
