//! OBS over HTTP. The requests are those of the crate `object_store`, or of a small client that
//! signs by AWS V4 and shares no code with the emulator.

mod access;
mod bodies;
mod errors;
mod faults;
mod jobs;
mod lists;
mod objects;
mod uploads;

use std::{ops::Deref, sync::Arc};

use hmac::{Hmac, KeyInit, Mac};
use modelarts_api::hex;
use modelarts_emulator::{Builder, Emulator};
use object_store::{
    ClientOptions,
    aws::{AmazonS3, AmazonS3Builder},
    client::{HttpClient, HttpConnector},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, StatusCode, header::HeaderMap};
use sha2::{Digest, Sha256};

use crate::support::http;

const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// Emulator with the empty bucket `bucket`, and a client with the keys of its first user.
pub(super) struct ObsSite {
    pub(super) emulator: Emulator,
    pub(super) client: ObsClient,
}

impl Deref for ObsSite {
    type Target = ObsClient;

    fn deref(&self) -> &ObsClient {
        &self.client
    }
}

impl ObsSite {
    pub(super) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(super) async fn with(set: impl FnOnce(Builder) -> Builder) -> Self {
        let emulator = set(Emulator::builder()).start().await.unwrap();
        let client = ObsClient {
            http: http(),
            url: emulator.obs_url().to_owned(),
            access_key: emulator.access_key().to_owned(),
            secret_key: emulator.secret_key().to_owned(),
            token: None,
        };
        let site = Self { emulator, client };
        let created = site.client.put("/bucket", b"").await;
        assert!([200, 409].contains(&created.status.as_u16()), "{}", created.text());
        site
    }

    /// Returns the store of `object_store` for the bucket.
    pub(super) fn store(&self) -> AmazonS3 {
        let builder = AmazonS3Builder::new()
            .with_http_connector(Connector)
            .with_endpoint(self.emulator.obs_url())
            .with_allow_http(true)
            .with_bucket_name("bucket")
            .with_region("cn-north-4")
            .with_access_key_id(self.emulator.access_key())
            .with_secret_access_key(self.emulator.secret_key());
        builder.build().unwrap()
    }

    /// Writes a file below the OBS root, as a job does.
    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.emulator.obs_root().join("bucket").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Connector with the client of the other tests.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(http()))
    }
}

/// Client that signs by AWS V4.
#[derive(Clone)]
pub(super) struct ObsClient {
    pub(super) http: reqwest::Client,
    pub(super) url: String,
    pub(super) access_key: String,
    pub(super) secret_key: String,
    pub(super) token: Option<String>,
}

/// Response to a request of the client.
pub(super) struct ObsReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl ObsReply {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    /// Returns the texts of all elements with this name.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let parts = text.split(&open).skip(1);
        let parts = parts.map(|part| part.split(&close).next().unwrap().to_owned());
        parts.collect()
    }

    pub(super) fn one(&self, name: &str) -> String {
        self.all(name).into_iter().next().unwrap_or_default()
    }

    /// Returns the status and the code of an error.
    pub(super) fn error(&self) -> (u16, String) {
        (self.status.as_u16(), self.one("Code"))
    }

    /// Asserts that the response is this error.
    #[track_caller]
    pub(super) fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.error(), (status, code.to_owned()), "{}", self.text());
    }
}

impl ObsClient {
    /// Builds a signed request. `target` is a path, not encoded, and an encoded query.
    pub(super) fn request(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> reqwest::RequestBuilder {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = utf8_percent_encode(path, IN_PATH).to_string();
        let host = self.url.strip_prefix("http://").unwrap().to_owned();
        let now = jiff::Timestamp::now();
        let (date, day) = (now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d"));
        let (date, day) = (date.to_string(), day.to_string());
        let mut signed = vec![
            ("host".to_owned(), host),
            ("x-amz-date".to_owned(), date.clone()),
            ("x-amz-content-sha256".to_owned(), "UNSIGNED-PAYLOAD".to_owned()),
        ];
        if let Some(token) = &self.token {
            signed.push(("x-amz-security-token".to_owned(), token.clone()));
        }
        for (name, value) in headers {
            signed.retain(|(known, _)| known != name);
            signed.push(((*name).to_owned(), (*value).to_owned()));
        }
        signed.sort();
        let names: Vec<&str> = signed.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let lines: String =
            signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let hash = &signed.iter().find(|it| it.0 == "x-amz-content-sha256").unwrap().1;
        let mut query: Vec<String> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") })
            .collect();
        query.sort();
        let query = query.join("&");
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{hash}");
        let scope = format!("{day}/cn-north-4/s3/aws4_request");
        let canonical = hex::encode(&Sha256::digest(canonical));
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{canonical}");
        let signature = signature(&self.secret_key, &scope, &text);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.access_key
        );
        let url = match query.as_str() {
            "" => format!("{}{path}", self.url),
            query => format!("{}{path}?{query}", self.url),
        };
        let mut request = self.http.request(method, url).body(body.to_vec());
        for (name, value) in &signed {
            request = request.header(name, value);
        }
        request.header("authorization", authorization)
    }

    pub(super) async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> ObsReply {
        let response = self.request(method, target, headers, body).send().await.unwrap();
        ObsReply::of(response).await
    }

    pub(super) async fn get(&self, target: &str) -> ObsReply {
        self.send(Method::GET, target, &[], b"").await
    }

    pub(super) async fn put(&self, target: &str, body: &[u8]) -> ObsReply {
        self.send(Method::PUT, target, &[], body).await
    }

    pub(super) async fn delete(&self, target: &str) -> ObsReply {
        self.send(Method::DELETE, target, &[], b"").await
    }

    pub(super) async fn post(&self, target: &str, body: &str) -> ObsReply {
        self.send(Method::POST, target, &[], body.as_bytes()).await
    }
}

impl ObsReply {
    pub(super) async fn of(response: reqwest::Response) -> Self {
        Self {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes().await.unwrap().to_vec(),
        }
    }
}

pub(super) fn signature(secret_key: &str, scope: &str, text: &str) -> String {
    let mut key = format!("AWS4{secret_key}").into_bytes();
    for part in scope.split('/').chain([text]) {
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(part.as_bytes());
        key = mac.finalize().into_bytes().to_vec();
    }
    hex::encode(&key)
}

/// Returns bytes without a period that a wrong order of chunks would hide.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    });
    next.take(length).collect()
}

/// Clock that only the test moves.
pub(super) fn manual_clock() -> Arc<modelarts_emulator::clock::ManualClock> {
    let now = std::time::SystemTime::now();
    Arc::new(modelarts_emulator::clock::ManualClock::at(now))
}
