//! The seam: every request that generated code makes goes through here.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use progenitor_client::{ClientInfo, Error};
use reqwest::Request;

use crate::{Client, Operation, Response, error_body, types::ApiError};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

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

/// Why a request got no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The HTTP client failed.
    Http(reqwest::Error),
    /// The transport itself failed, for instance because it has no credentials.
    Other(BoxError),
}

/// What a [`Client`] is made with: the transport, shared by its clones.
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

/// A [`TransportError::Other`] on its way out of a call, whose error has no place for it: it
/// travels as an extension of the response in `Error::UnexpectedResponse`. The status of that
/// response means nothing, because a service may answer with any from 100 to 999:
/// [`from_response`](Self::from_response) tells whether there is a failure.
#[derive(Clone, Debug)]
pub struct Failure(Arc<Mutex<Option<BoxError>>>);

impl Failure {
    /// Takes the failure out of an answer that carries one.
    #[must_use]
    pub fn from_response(response: &reqwest::Response) -> Option<BoxError> {
        let carried = response.extensions().get::<Self>()?;
        // Extensions must be clones; the error itself is taken once.
        carried
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    #[cold]
    fn carry(error: BoxError) -> reqwest::Response {
        let mut carrier = http::Response::new(reqwest::Body::default());
        // Real ones of this status are error responses, never unexpected ones.
        *carrier.status_mut() = reqwest::StatusCode::SERVICE_UNAVAILABLE;
        carrier
            .extensions_mut()
            .insert(Self(Arc::new(Mutex::new(Some(error)))));
        carrier.into()
    }
}

/// Sends a request on the way of an operation: with the transport of the client, and what
/// comes back for an error has the shape of [`ApiError`]. Generated calls send what they have
/// put together with it, instead of with an HTTP client (`codegen/call.rs`).
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
        Err(TransportError::Other(error)) => Err(Error::UnexpectedResponse(Failure::carry(error))),
    }
}

/// The error of a call that lacks a value, or has one that is none of its kind.
#[cold]
pub(crate) fn invalid(name: &str, message: String) -> Error<ApiError> {
    Error::InvalidRequest(match message.is_empty() {
        true => format!("{name} was not initialized"),
        false => message,
    })
}
