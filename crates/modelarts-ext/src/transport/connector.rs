//! Connectors, which send the requests of a client over the network.
//!
//! The default connector uses reqwest. A custom [`HttpConnector`] can record requests, add a header
//! for a proxy, or simulate a network in tests.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! use modelarts_ext::{api::BoxFuture, connector::{ConnectorError, HttpConnector, reqwest}};
//!
//! /// Prints each request.
//! #[derive(Debug)]
//! struct Recorder(reqwest::Client);
//!
//! impl HttpConnector for Recorder {
//!     fn send(
//!         &self,
//!         request: reqwest::Request,
//!     ) -> BoxFuture<'static, std::result::Result<reqwest::Response, ConnectorError>> {
//!         println!("{} {}", request.method(), request.url());
//!         let response = self.0.execute(request);
//!         Box::pin(async { Ok(response.await?) })
//!     }
//!
//!     fn requires_tokio(&self) -> bool {
//!         true
//!     }
//! }
//!
//! # fn main() -> Result { run(async |emulator, _| {
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! // Redirects must not be followed: that would forward the credentials.
//! let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
//! let client = ClientBuilder::from_vars(emulator.vars()).connector(Recorder(http)).build()?;
//! client.training_jobs().list().collect(10).await?;
//! # Ok(()) }) }
//! ```

use std::{
    error::Error as StdError,
    fmt,
    sync::{PoisonError, RwLock},
};

use futures::future;
use modelarts_api::BoxFuture;
/// The version of reqwest whose types a connector uses.
pub use reqwest;
use reqwest::{Request, Response};

use crate::{
    error::Error,
    http::{connection::HttpSettings, runtime::is_background},
};

/// Connector that sends each request of a [`Client`](crate::client::Client) once.
///
/// The client passes authenticated requests to the connector, and presigned ones to OBS for [whole
/// logs](crate::jobs::logs). The client itself signs, retries, decodes and applies time limits.
/// [`ClientBuilder::connector`](crate::client::ClientBuilder::connector) sets the connector.
///
/// Credential providers (IAM, STS, the metadata service) use
/// [`ProviderContext::http`](crate::credentials::ProviderContext::http) instead of the connector.
pub trait HttpConnector: fmt::Debug + Send + Sync + 'static {
    /// Sends a request once, and returns the response when its headers have arrived. Must not
    /// follow redirects, because that would forward the credentials.
    ///
    /// # Errors
    /// Returns an error if no response arrives. The client infers from the variant if a job may
    /// have been created. [`ConnectorError::NotSent`] is only for a request that was not sent.
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, ConnectorError>>;

    /// Closes idle connections. Called after a response to another request. Default: no effect.
    fn reset(&self) {}

    /// Returns `true` if [`send`](Self::send) requires a tokio runtime, as reqwest does. Outside of
    /// a runtime, calls then return an error instead of panicking. Default: `false`.
    fn requires_tokio(&self) -> bool {
        false
    }
}

/// Error of a connector that received no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectorError {
    /// Reqwest returned an error, from which the client infers if the request was sent.
    Http(reqwest::Error),
    /// The request was not sent, for example because no connection could be opened.
    NotSent(Box<dyn StdError + Send + Sync>),
    /// The connection broke after a part of the request was sent. The service may have executed it.
    Lost(Box<dyn StdError + Send + Sync>),
}

impl fmt::Display for ConnectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(error) => error.fmt(f),
            Self::NotSent(error) => write!(f, "the request was not sent: {error}"),
            Self::Lost(error) => write!(f, "the answer was lost: {error}"),
        }
    }
}

impl StdError for ConnectorError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Http(error) => error.source(),
            Self::NotSent(error) | Self::Lost(error) => error.source(),
        }
    }
}

impl From<reqwest::Error> for ConnectorError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error)
    }
}

#[derive(Debug)]
pub(crate) struct ReqwestConnector {
    http: RwLock<reqwest::Client>,
    /// Client for blocking calls. Separate, because a connection needs the runtime that opened it.
    background: RwLock<Option<reqwest::Client>>,
    settings: HttpSettings,
    secure: bool,
    /// `true` if the endpoint is a loopback address, for which no proxy is used.
    direct: bool,
}

impl ReqwestConnector {
    pub(crate) fn new(
        http: reqwest::Client,
        settings: HttpSettings,
        secure: bool,
        direct: bool,
    ) -> Self {
        Self { http: RwLock::new(http), background: RwLock::default(), settings, secure, direct }
    }

    fn make(&self) -> Result<reqwest::Client, Error> {
        self.settings.client(self.secure, self.direct)
    }

    fn background(&self) -> Result<reqwest::Client, Error> {
        let mut http = self.background.write().unwrap_or_else(PoisonError::into_inner);
        match &*http {
            Some(http) => Ok(http.clone()),
            None => Ok(http.insert(self.make()?).clone()),
        }
    }
}

impl HttpConnector for ReqwestConnector {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, ConnectorError>> {
        // A server on this machine may return the URL of a log on another machine.
        let outside = !self.secure && request.url().scheme() == "https";
        if outside || is_background() {
            let http = match outside {
                true => self.settings.client(true, false),
                false => self.background(),
            };
            return match http {
                Ok(http) => {
                    let answer = http.execute(request);
                    Box::pin(async move { answer.await.map_err(ConnectorError::Http) })
                }
                Err(error) => Box::pin(future::err(ConnectorError::NotSent(error.into()))),
            };
        }
        // The client is replaced completely, so it is valid after a panic of another thread.
        let http = self.http.read().unwrap_or_else(PoisonError::into_inner);
        let answer = http.execute(request);
        Box::pin(async move { answer.await.map_err(ConnectorError::Http) })
    }

    fn reset(&self) {
        // The connection pool of reqwest cannot be emptied, so a new client replaces the old one.
        match self.make() {
            Ok(http) => *self.http.write().unwrap_or_else(PoisonError::into_inner) = http,
            Err(error) => tracing::warn!(%error, "cannot replace the connections"),
        }
        // The next blocking call creates a new client.
        *self.background.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn requires_tokio(&self) -> bool {
        true
    }
}
