//! Client without the SDK, as the baseline of measurements. It uses reqwest, serde and its own
//! signing code.
//!
//! The client decodes the whole response into plain structs, limits the duration of a call, checks
//! the status, and returns errors with the message of the service. Unlike the SDK, it does not
//! retry requests, does not limit the length of responses, and accepts only documented JSON.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::{get::PROJECT, pages::plain::Job};

/// Creates a reqwest client with the timeouts of the SDK.
pub fn client() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(120))
        .user_agent("by-hand/1.0")
        .build()?)
}

/// Gets a job with a signed request. Also returns the request id, by which the provider's support
/// can identify the request.
pub async fn get(http: &reqwest::Client, base: &str, path: &str) -> Result<(Job, String)> {
    let request = signed(http.get(format!("{base}{path}")), base, path)?;
    read(request.send().await?).await
}

/// Encodes bytes as hexadecimal digits; `format!` for each byte would be slow.
fn hex(bytes: impl AsRef<[u8]>) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 0xf)]);
    }
    text
}

/// Signs a GET request without a query, and adds its headers.
pub fn signed(
    request: reqwest::RequestBuilder,
    base: &str,
    path: &str,
) -> Result<reqwest::RequestBuilder> {
    let date = jiff::Timestamp::try_from(SystemTime::now())?.strftime("%Y%m%dT%H%M%SZ").to_string();
    let host = base.trim_start_matches("http://");
    let canonical = format!(
        "GET\n{path}/\n\nhost:{host}\nx-project-id:{PROJECT}\nx-sdk-date:{date}\n\n\
         host;x-project-id;x-sdk-date\n{}",
        hex(Sha256::digest(b""))
    );
    let text = format!("SDK-HMAC-SHA256\n{date}\n{}", hex(Sha256::digest(&canonical)));
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

/// Returns the job and the request id of a response.
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
