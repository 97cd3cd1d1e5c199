//! The transport that sends every request of generated code.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use progenitor_client::{ClientInfo, Error};
use reqwest::{Request, StatusCode, header::HeaderMap};

use crate::{
    decode::skipped::Observer,
    error::{Failure, TransportError},
    error_body,
    generated::{Client, types::ApiError},
    operation::Operation,
};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one request to the service and returns its answer.
///
/// The request is complete except for credentials, which the implementation adds. It may send the
/// request several times; `operation` says whether that is safe.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request`, which belongs to `operation`, with `http`.
    ///
    /// Every answer is a success here, for any status; only a request without an answer is an
    /// error.
    fn execute<'a>(
        &'a self,
        http: &'a reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> BoxFuture<'a, Result<Response, TransportError>>;
}

/// An answer of the service, read to its end.
#[derive(Clone)]
#[non_exhaustive]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The observer of decoding, if any.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Response {
    /// Creates an answer without an observer.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self {
            status,
            headers,
            body,
            observer: None,
        }
    }

    /// Reads an answer to its end, without a limit on its length.
    ///
    /// # Errors
    /// Returned when the connection breaks before the end of the answer.
    pub async fn read(mut response: reqwest::Response) -> reqwest::Result<Self> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        Ok(Self::new(status, headers, response.bytes().await?))
    }
}

impl fmt::Debug for Response {
    // The body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Used for errors of generated code, which hold such a response.
impl From<Response> for reqwest::Response {
    fn from(response: Response) -> Self {
        let mut plain = http::Response::new(response.body);
        *plain.status_mut() = response.status;
        *plain.headers_mut() = response.headers;
        plain.into()
    }
}

/// The transport of a [`Client`], shared by its clones.
#[derive(Clone)]
pub struct Context(Arc<dyn Transport>);

impl Context {
    /// A context that sends everything through `transport`.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self(transport)
    }
}

impl fmt::Debug for Context {
    // A transport holds credentials, which must not be printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}

/// Sends a request with the transport of the client, and converts the body of an error to
/// [`ApiError`]. Generated calls send their requests with it instead of with an HTTP client
/// (`codegen/rewrite/calls.rs`).
///
/// # Errors
/// Returned when there is no answer.
pub async fn send(
    client: &Client,
    request: Request,
    operation: &'static Operation,
) -> Result<Response, Error<ApiError>> {
    let transport = &client.inner().0;
    match transport.execute(client.client(), request, operation).await {
        Ok(mut response) => {
            if response.status.as_u16() >= 400 {
                error_body::normalise(&mut response.body);
            }
            Ok(response)
        }
        Err(TransportError::Http(error)) => Err(Error::CommunicationError(error)),
        Err(TransportError::Other(error)) => {
            Err(Error::UnexpectedResponse(Failure::into_response(error)))
        }
    }
}
