//! What one would write without an SDK: reqwest, serde, and ten lines that sign.
//! Not careful about anything: no retries, no limits, no readable errors.

// Decoded because a program would, not because this one looks at it.
#![allow(dead_code)]

use std::{collections::BTreeMap, fmt::Write, sync::Arc, time::SystemTime};

use anyhow::Result;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The same parts of a job that the answer has, in plain structs.
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
}

#[derive(Deserialize)]
pub struct Channel {
    pub name: String,
    pub local_dir: String,
    pub remote: Remote,
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
    pub v1_compatible: bool,
    pub run_user: String,
}

#[derive(Deserialize)]
pub struct Spec {
    pub resource: Resource,
}

#[derive(Deserialize)]
pub struct Resource {
    pub flavor_id: String,
    pub node_count: i64,
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A client of reqwest. The features that modelarts-ext chooses for reqwest hold for
/// the whole program; without a TLS configuration of its own this would panic.
pub fn client() -> Result<reqwest::Client> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .build()?)
}

/// Gets a job, signed.
pub async fn get(http: &reqwest::Client, base: &str, path: &str) -> Result<Job> {
    let date = jiff::Timestamp::try_from(SystemTime::now())?
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string();
    let host = base.trim_start_matches("http://");
    let canonical = format!(
        "GET\n{path}/\n\nhost:{host}\nx-sdk-date:{date}\n\nhost;x-sdk-date\n{}",
        hex(Sha256::digest(b""))
    );
    let text = format!(
        "SDK-HMAC-SHA256\n{date}\n{}",
        hex(Sha256::digest(&canonical))
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(b"secret")?;
    mac.update(text.as_bytes());
    let authorization = format!(
        "SDK-HMAC-SHA256 Access=access, SignedHeaders=host;x-sdk-date, Signature={}",
        hex(mac.finalize().into_bytes())
    );
    let response = http
        .get(format!("{base}{path}"))
        .header("x-sdk-date", date)
        .header("authorization", authorization)
        .send()
        .await?
        .error_for_status()?;
    Ok(response.json().await?)
}
