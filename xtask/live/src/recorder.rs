//! HTTP connector that records the requests of a client with their responses.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::HeaderMap;
use modelarts_api::BoxFuture;
use modelarts_ext::connector::{ConnectorError, HttpConnector};
use parking_lot::Mutex;
use reqwest::{Request, Response, Url};

/// Recorded request without its headers, with its response.
pub struct Exchange {
    pub method: String,
    pub url: Url,
    pub request: Bytes,
    pub took: Duration,
    pub answer: Result<Answer, String>,
}

/// Response with its complete body.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Recording connector of one client.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Inner>);

#[derive(Default)]
struct Inner {
    https: OnceLock<reqwest::Client>,
    loopback: OnceLock<reqwest::Client>,
    exchanges: Mutex<Vec<Exchange>>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Removes and returns all exchanges recorded so far.
    pub fn take(&self) -> Vec<Exchange> {
        std::mem::take(&mut self.0.exchanges.lock())
    }

    /// Returns the statuses of all responses so far.
    pub fn statuses(&self) -> Vec<Option<u16>> {
        let exchanges = self.0.exchanges.lock();
        let status = |it: &Exchange| it.answer.as_ref().ok().map(|answer| answer.status);
        exchanges.iter().map(status).collect()
    }

    async fn exchange(&self, request: Request) -> Result<Response, ConnectorError> {
        let started = Instant::now();
        let (method, url) = (request.method().to_string(), request.url().clone());
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let sent = body.map(Bytes::copy_from_slice).unwrap_or_default();
        let answer = self.send_once(request).await;
        let kept = match &answer {
            Ok(answer) => Ok(answer.clone()),
            Err(error) => Err(kind(error).to_owned()),
        };
        self.0.exchanges.lock().push(Exchange {
            method,
            url,
            request: sent,
            took: started.elapsed(),
            answer: kept,
        });
        let Answer {
            status,
            headers,
            body,
        } = answer?;
        let mut response = http::Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(status)
            .map_err(|error| ConnectorError::Lost(Box::new(error)))?;
        *response.headers_mut() = headers;
        Ok(response.into())
    }

    async fn send_once(&self, request: Request) -> Result<Answer, reqwest::Error> {
        let response = self.client(request.url())?.execute(request).await?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await?,
        })
    }

    /// Returns the HTTP client for a URL. The client for plain HTTP, which is used with an
    /// emulator, loads neither certificates nor proxy settings, because these may be unavailable.
    fn client(&self, url: &Url) -> Result<reqwest::Client, reqwest::Error> {
        let plain = url.scheme() == "http";
        let place = if plain {
            &self.0.loopback
        } else {
            &self.0.https
        };
        if let Some(client) = place.get() {
            return Ok(client.clone());
        }
        // Redirects and retries are disabled here, because the client that uses this connector
        // handles them.
        let builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never().max_retries_per_request(0))
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("modelarts-live/", env!("CARGO_PKG_VERSION")));
        let client = match plain {
            true => builder.no_proxy().tls_certs_only([]).build()?,
            false => builder.build()?,
        };
        Ok(place.get_or_init(|| client).clone())
    }
}

/// Returns the kind of an error as text. The URL of the request is omitted, because it may identify
/// the user.
fn kind(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_connect() => "no connection",
        error if error.is_timeout() => "no answer in time",
        error if error.is_body() || error.is_decode() => "the answer broke off",
        _ => "no answer",
    }
}

impl HttpConnector for Recorder {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, ConnectorError>> {
        let this = self.clone();
        Box::pin(async move { this.exchange(request).await })
    }
}
