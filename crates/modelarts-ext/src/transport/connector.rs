//! Connectors, which send the requests of a client over the network.
//!
//! A client sends its requests with reqwest unless the builder sets another [`HttpConnector`].
//! Another connector can record the traffic, add a header for a proxy, or simulate a network in
//! tests, while the client still signs, retries and decodes, and applies its time limits.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! use modelarts_ext::{api::BoxFuture, connector::{ConnectorError, HttpConnector}};
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
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, _) = start().await?;
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! // Redirects must not be followed: that would forward the credentials.
//! let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
//! let client = ClientBuilder::from_vars(emulator.vars())
//!     .connector(Recorder(http))
//!     .build()?;
//! client.training_jobs().list().collect(10).await?;
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```

use std::{
    error::Error as StdError,
    fmt,
    sync::{PoisonError, RwLock},
};

use modelarts_api::BoxFuture;
use reqwest::{Request, Response};

use crate::error::Error;

/// Connector that sends the requests of a [`Client`](crate::client::Client), each one once.
///
/// A connector receives signed requests. The client signs, retries and decodes, and applies the
/// time limits and the limit on the length of a response.
/// [`ClientBuilder::connector`](crate::client::ClientBuilder::connector) sets the connector of a
/// client.
///
/// Providers of credentials (IAM, STS, the metadata service) do not use the connector, but
/// [`ProviderContext::http`](crate::credentials::ProviderContext::http).
pub trait HttpConnector: fmt::Debug + Send + Sync + 'static {
    /// Sends one request, and returns the response as soon as its head has arrived; the body is
    /// read from the response. A redirect is a response, and must not be followed, because that
    /// would forward the credentials. The request must not be sent twice.
    ///
    /// # Errors
    /// Returns the reason for a missing response. From it, the client decides if a creation may
    /// have been executed, so [`ConnectorError::NotSent`] must be certain.
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, ConnectorError>>;

    /// Closes the idle connections, so that the next request opens a new one. Requests in progress
    /// are not affected. The client calls this method when a response belongs to another request.
    /// The default implementation does nothing, for connectors that keep no idle connections.
    fn reset(&self) {}
}

/// Error of a connector: the reason for a missing response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectorError {
    /// Reqwest failed; its error states whether the request was sent.
    Http(reqwest::Error),
    /// The request was not sent, or no connection was made. It was not executed.
    NotSent(Box<dyn StdError + Send + Sync>),
    /// The connection broke after the request or a part of it was sent. It may have been executed.
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

/// Function that creates an HTTP client with the settings of a builder.
pub(super) type MakeHttp = dyn Fn() -> Result<reqwest::Client, Error> + Send + Sync;

/// The default connector: reqwest with its connection pool.
pub(crate) struct ReqwestConnector {
    http: RwLock<reqwest::Client>,
    make: Box<MakeHttp>,
}

impl ReqwestConnector {
    /// Creates a connector. `make` creates clients like `http`, each with a pool of its own.
    pub(crate) fn new(http: reqwest::Client, make: Box<MakeHttp>) -> Self {
        Self {
            http: RwLock::new(http),
            make,
        }
    }
}

impl fmt::Debug for ReqwestConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReqwestConnector")
    }
}

impl HttpConnector for ReqwestConnector {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, ConnectorError>> {
        // The HTTP client is replaced as a whole, so it is valid even after a panic of another
        // thread.
        let http = self.http.read().unwrap_or_else(PoisonError::into_inner);
        let answer = http.execute(request);
        Box::pin(async move { answer.await.map_err(ConnectorError::Http) })
    }

    fn reset(&self) {
        // A connection pool cannot be emptied, but a new HTTP client has a new pool.
        match (self.make)() {
            Ok(http) => *self.http.write().unwrap_or_else(PoisonError::into_inner) = http,
            Err(error) => tracing::warn!(%error, "cannot replace the connections"),
        }
    }
}
