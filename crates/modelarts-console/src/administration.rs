//! `Administration`: client for the control routes of an emulator.

use std::time::Duration;

use axum::http::StatusCode;
use modelarts_ext::Client;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use url::{Host, Url};

use crate::problem::Problem;

/// Time limit of the first request, which delays the start of the page.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of the other requests. A step of the clock completes all work that is due.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Client for the control routes of an emulator on this machine.
pub(crate) struct Administration {
    client: Client,
    root: Url,
}

#[derive(Deserialize)]
pub(crate) struct ClockState {
    /// Current time, RFC 3339.
    pub(crate) now: String,
    /// `true` if the clock stands still until it is moved.
    #[serde(default)]
    pub(crate) manual: bool,
}

#[derive(Deserialize)]
pub(crate) struct ReceivedRequest {
    pub(crate) operation: String,
    /// Path of the request, as sent.
    pub(crate) path: String,
    /// Query of the request, as sent except for masked values.
    pub(crate) query: String,
    /// Body of the request, if it is JSON; otherwise null.
    pub(crate) body: Value,
    pub(crate) status: u16,
}

/// Numbers of received and of executed requests for one operation.
#[derive(Deserialize)]
pub(crate) struct RequestCount {
    pub(crate) received: u64,
    pub(crate) executed: u64,
}

#[derive(Deserialize)]
struct Health {
    status: String,
    /// Field that only the health response of an emulator has.
    #[serde(rename = "jobs")]
    _jobs: u64,
}

impl ReceivedRequest {
    /// Returns the path with the query.
    pub(crate) fn target(&self) -> String {
        match self.query.as_str() {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }

    /// Returns the body as indented JSON.
    pub(crate) fn body_text(&self) -> String {
        format!("{:#}", self.body)
    }
}

impl Administration {
    /// Returns a client for the control routes if the service is an emulator on this machine. Sends
    /// no request to a service on another machine.
    pub(crate) async fn find(client: &Client) -> Option<Self> {
        let emulator = Self { client: client.clone(), root: local_root(client.endpoint())? };
        let health = emulator.send("GET", "health", None, HEALTH_TIMEOUT).await;
        let health: Health = serde_json::from_value(health.ok()?).ok()?;
        (health.status == "ok").then_some(emulator)
    }

    pub(crate) async fn clock(&self) -> Result<ClockState, Problem> {
        self.read("clock").await
    }

    /// Sends a GET request to a control route, and parses the response.
    pub(crate) async fn read<T: DeserializeOwned>(&self, route: &str) -> Result<T, Problem> {
        let value = self.send("GET", route, None, TIMEOUT).await?;
        serde_json::from_value(value).map_err(|error| failed(format!("{route}: {error}")))
    }

    /// Calls a control route that changes the state of the emulator.
    pub(crate) async fn change(
        &self,
        method: &str,
        route: &str,
        body: Option<&Value>,
    ) -> Result<(), Problem> {
        self.send(method, route, body, TIMEOUT).await.map(drop)
    }

    /// Sends a request to a control route. Control routes need no credentials.
    async fn send(
        &self,
        method: &str,
        route: &str,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Value, Problem> {
        // The HTTP client of the SDK uses no proxy for an address of this machine.
        let http = &self.client.provider_context().http;
        let url = self.root.join(&format!("/_emulator/{route}"));
        let url = url.map_err(|error| failed(error.to_string()))?;
        let mut request = match method {
            "POST" => http.post(url),
            "DELETE" => http.delete(url),
            _ => http.get(url),
        };
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let not_reached = |_| {
            failed(format!("no emulator responds at {}", self.root))
                .with_advice("start the emulator again, then this page")
        };
        let response = request.timeout(timeout).send().await;
        let response = response.map_err(not_reached)?;
        let is_success = response.status().is_success();
        let body = response.bytes().await.map_err(not_reached)?;
        let value = match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))?,
        };
        if is_success {
            return Ok(value);
        }
        let message = value["error_msg"].as_str().unwrap_or("it gives no reason");
        let mut problem =
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "The emulator did not do it", message);
        problem.code = value["error_code"].as_str().map(str::to_owned);
        Err(problem)
    }
}

/// Parses the endpoint of a service on this machine. Returns `None` for other hosts and for HTTPS.
pub(crate) fn local_root(endpoint: &str) -> Option<Url> {
    let root = Url::parse(endpoint).ok()?;
    let is_loopback = match root.host()? {
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    (root.scheme() == "http" && is_loopback).then_some(root)
}

fn failed(message: String) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "The emulator did not respond", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_on_this_machine_can_be_an_emulator() {
        let cases = [
            ("http://127.0.0.1:8080/", true),
            ("http://127.9.9.9/", true),
            ("http://localhost:1/", true),
            ("http://[::1]:1/", true),
            ("https://127.0.0.1/", false),
            ("https://modelarts.eu-de.otc.t-systems.com/", false),
            ("http://127.0.0.1.example.com/", false),
            ("http://10.0.0.1/", false),
        ];
        for (endpoint, expected) in cases {
            assert_eq!(local_root(endpoint).is_some(), expected, "{endpoint}");
        }
    }
}
