//! Client without the SDK, as the baseline of measurements. It uses reqwest, serde and its own
//! signing code.
//!
//! The client decodes the whole response into plain structs, limits the duration of a call, checks
//! the status, and returns errors with the message of the service. Unlike the SDK, it does not
//! retry requests, does not limit the length of responses, and accepts only documented JSON.

// A real program would read the decoded fields; this benchmark does not.
#![allow(dead_code)]

use std::{collections::BTreeMap, time::SystemTime};

use anyhow::{Context, Result, bail};
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::canned::PROJECT;

#[derive(Deserialize)]
pub struct Job {
    pub kind: String,
    pub metadata: Metadata,
    pub status: Status,
    pub algorithm: Algorithm,
    pub spec: Spec,
}

#[derive(Deserialize)]
pub struct Metadata {
    pub id: String,
    pub name: String,
    pub description: String,
    pub create_time: i64,
    pub workspace_id: String,
    pub user_name: String,
    pub annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub struct Status {
    pub phase: String,
    pub secondary_phase: String,
    pub duration: i64,
    pub start_time: i64,
    pub node_count_metrics: Vec<Vec<i64>>,
    pub tasks: Vec<String>,
}

#[derive(Deserialize)]
pub struct Algorithm {
    pub code_dir: String,
    pub boot_file: String,
    pub parameters: Vec<Parameter>,
    pub inputs: Vec<Channel>,
    pub outputs: Vec<Channel>,
    pub engine: Engine,
}

#[derive(Deserialize)]
pub struct Parameter {
    pub name: String,
    pub value: String,
    pub description: String,
    pub constraint: Constraint,
}

#[derive(Deserialize)]
pub struct Constraint {
    #[serde(rename = "type")]
    pub kind: String,
    pub editable: bool,
    pub required: bool,
    pub sensitive: bool,
    pub valid_type: String,
    pub valid_range: Vec<String>,
}

#[derive(Deserialize)]
pub struct Channel {
    pub name: String,
    pub local_dir: String,
    pub remote: Remote,
    pub mode: Option<String>,
    pub period: Option<String>,
}

#[derive(Deserialize)]
pub struct Remote {
    pub obs: Obs,
}

#[derive(Deserialize)]
pub struct Obs {
    pub obs_url: String,
}

#[derive(Deserialize)]
pub struct Engine {
    pub engine_id: String,
    pub engine_name: String,
    pub engine_version: String,
    pub usage: String,
    pub v1_compatible: bool,
    pub run_user: String,
}

#[derive(Deserialize)]
pub struct Spec {
    pub resource: Resource,
    pub log_export_path: LogExportPath,
    pub is_hosted_log: bool,
}

#[derive(Deserialize)]
pub struct LogExportPath {
    pub obs_url: Option<String>,
}

#[derive(Deserialize)]
pub struct Resource {
    pub flavor_id: String,
    pub flavor_name: String,
    pub node_count: i64,
    pub flavor_detail: FlavorDetail,
}

#[derive(Deserialize)]
pub struct FlavorDetail {
    pub flavor_type: String,
    pub billing: Billing,
    pub flavor_info: FlavorInfo,
}

#[derive(Deserialize)]
pub struct Billing {
    pub code: String,
    pub unit_num: i64,
}

#[derive(Deserialize)]
pub struct FlavorInfo {
    pub cpu: Cpu,
    pub memory: Size,
    pub disk: Size,
}

#[derive(Deserialize)]
pub struct Cpu {
    pub arch: String,
    pub core_num: i64,
}

#[derive(Deserialize)]
pub struct Size {
    pub size: i64,
    pub unit: String,
}

/// Encodes bytes as hexadecimal digits; `format!` for each byte would be slow.
fn hex(bytes: impl AsRef<[u8]>) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 0xf)]);
    }
    text
}

/// Gets a job with a signed request. Also returns the request id, by which the provider's support
/// can identify the request.
pub async fn get(http: &reqwest::Client, base: &str, path: &str) -> Result<(Job, String)> {
    let request = signed(http.get(format!("{base}{path}")), base, path)?;
    read(request.send().await?).await
}

/// Adds the headers of a signed request.
pub fn signed(
    request: reqwest::RequestBuilder,
    base: &str,
    path: &str,
) -> Result<reqwest::RequestBuilder> {
    let date = jiff::Timestamp::try_from(SystemTime::now())?
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string();
    let host = base.trim_start_matches("http://");
    let canonical = format!(
        "GET\n{path}/\n\nhost:{host}\nx-project-id:{PROJECT}\nx-sdk-date:{date}\n\n\
         host;x-project-id;x-sdk-date\n{}",
        hex(Sha256::digest(b""))
    );
    let text = format!(
        "SDK-HMAC-SHA256\n{date}\n{}",
        hex(Sha256::digest(&canonical))
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(b"secret")?;
    mac.update(text.as_bytes());
    let authorization = format!(
        "SDK-HMAC-SHA256 Access=access, SignedHeaders=host;x-project-id;x-sdk-date, \
         Signature={}",
        hex(mac.finalize().into_bytes())
    );
    Ok(request
        .header("accept", "application/json")
        .header("x-project-id", PROJECT)
        .header("x-sdk-date", date)
        .header("authorization", authorization))
}

/// Adds the headers of a request with a token.
pub fn with_token(request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
    request
        .header("accept", "application/json")
        .header("x-project-id", PROJECT)
        .header("x-auth-token", "token")
}

/// Returns the job of a response and the request id.
pub async fn read(response: reqwest::Response) -> Result<(Job, String)> {
    let status = response.status();
    let id = response.headers().get("x-request-id");
    let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    let id = id.to_owned();
    let body = response.bytes().await?;
    if !status.is_success() {
        bail!("{status}, request {id}: {}", String::from_utf8_lossy(&body));
    }
    let job = serde_json::from_slice(&body).with_context(|| format!("answer to {id}"))?;
    Ok((job, id))
}
