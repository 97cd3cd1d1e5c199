//! The transport, which every request of generated code goes through.

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

/// Carries one request to the service and brings its answer back.
///
/// The request is complete except for what this is for: credentials. An
/// implementation may send it several times; it gets the operation so that it
/// knows whether it may.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request`, which belongs to `operation`, with `http`.
    ///
    /// Every answer is a success here, whatever its status; only a request that
    /// got no answer is an error.
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
    /// The observer of decoding.
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

    /// Reads an answer to its end, however long it is.
    ///
    /// # Errors
    /// When the connection breaks in the middle of it.
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

/// For errors of generated code, which hold such a response.
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
    // A transport holds credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}

/// Sends a request with the transport of the client, and converts the body of an error to
/// [`ApiError`]. Generated calls send what they have
/// put together with it, instead of with an HTTP client (`codegen/rewrite/calls.rs`).
///
/// # Errors
/// When there is no answer.
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
