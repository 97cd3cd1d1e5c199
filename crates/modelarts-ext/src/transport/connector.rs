//! Connectors: the network below a client.
//!
//! A client sends through reqwest unless it gets another [`HttpConnector`]. Another connector can
//! record the traffic, add a header for a proxy, or simulate a network in tests, while signing,
//! retries, time limits and decoding stay above it.
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
//! let client = Client::builder()
//!     .endpoint(emulator.url())
//!     .project_id(emulator.project_id())
//!     .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
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

/// Sends the requests of a [`Client`](crate::client::Client), each one once.
///
/// A connector gets signed requests. Signing, retries, time limits, decoding and the limit on the
/// length of a response are the concern of the client. Set by
/// [`ClientBuilder::connector`](crate::client::ClientBuilder::connector).
///
/// Providers of credentials (IAM, STS, the metadata service) do not use it, but
/// [`ProviderContext::http`](crate::credentials::ProviderContext::http).
pub trait HttpConnector: fmt::Debug + Send + Sync + 'static {
    /// Sends one request, and returns the response as soon as its head has arrived; the body is
    /// read from the response. A redirect is a response, and must not be followed, because that
    /// would forward the credentials. The request must not be sent twice.
    ///
    /// # Errors
    /// The reason why there is no response. The client uses it to decide whether a create may have
    /// been executed, so [`ConnectorError::NotSent`] must be certain.
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, ConnectorError>>;

    /// Closes the idle connections, so that the next request opens a new one. Requests in progress
    /// are not affected. The client calls it when a response belongs to another request. The
    /// default does nothing, for connectors that keep none.
    fn reset(&self) {}
}

/// The reason why a connector has no response.
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

/// Creates an HTTP client with the settings of a builder.
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
        // A client is replaced as a whole, so a panic elsewhere leaves a valid one.
        let http = self.http.read().unwrap_or_else(PoisonError::into_inner);
        let answer = http.execute(request);
        Box::pin(async move { answer.await.map_err(ConnectorError::Http) })
    }

    fn reset(&self) {
        // A pool cannot be emptied, but a new client has a new pool.
        match (self.make)() {
            Ok(http) => *self.http.write().unwrap_or_else(PoisonError::into_inner) = http,
            Err(error) => tracing::warn!(%error, "cannot replace the connections"),
        }
    }
}
