//! Recorder for the requests of the generated client, in the format of `recorded.json`.

use std::sync::{Arc, Mutex};

use modelarts_api::{
    BoxFuture, Client, Context, Operation, RawResponse, Transport, TransportError,
};
use reqwest::{Request, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

/// Transport that records requests and returns one body for all of them.
struct Recorder(Mutex<Vec<Value>>, &'static str);

impl Transport for Recorder {
    fn execute<'a>(
        &'a self,
        _: &'a reqwest::Client,
        request: Request,
        _: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>> {
        self.0.lock().unwrap().push(as_recorded(&request));
        let answer = RawResponse::new(StatusCode::OK, HeaderMap::new(), self.1.into());
        Box::pin(async { Ok(answer) })
    }
}

/// Returns the single request that `call` sends.
pub async fn by(call: impl AsyncFnOnce(&Client)) -> Value {
    answered("{}", call).await
}

/// Returns the single request that `call` sends. The response has this body.
pub async fn answered(body: &'static str, call: impl AsyncFnOnce(&Client)) -> Value {
    let recorder = Arc::new(Recorder(Mutex::default(), body));
    let context = Context::new(recorder.clone());
    call(&Client::new_with_client("http://service.example", http(), context)).await;
    let mut seen = recorder.0.lock().unwrap();
    assert_eq!(seen.len(), 1, "requests");
    seen.remove(0)
}

fn as_recorded(request: &Request) -> Value {
    let mut query: Vec<_> = request.url().query_pairs().into_owned().collect();
    query.sort();
    let headers: serde_json::Map<_, _> = request
        .headers()
        .iter()
        // `recorded.json` omits this header as well, because the HTTP client adds it.
        .filter(|(name, _)| *name != "accept")
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
        .collect();
    let body: Value = request
        .body()
        .map_or(Value::Null, |body| serde_json::from_slice(body.as_bytes().unwrap()).unwrap());
    json!({
        "method": request.method().as_str(),
        "path": request.url().path(),
        "query": query,
        "headers": headers,
        "body": body,
    })
}

/// Creates an HTTP client for a transport that sends nothing. `reqwest::Client::new()` would panic
/// if a feature enables TLS and no provider is installed.
fn http() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).build().unwrap()
}
