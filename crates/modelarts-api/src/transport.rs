//! The seam: every request that generated code makes goes through here.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use progenitor_client::{ClientHooks, ClientInfo, OperationInfo};
use reqwest::{Request, Response};

use crate::{Client, OPERATIONS, Operation, error_body};

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

/// A [`TransportError::Other`] on its way through generated code, which has no
/// place for it: it travels as an extension of an answer with status 999, which
/// no operation documents, and so arrives as `Error::UnexpectedResponse`.
#[derive(Clone, Debug)]
pub struct Failure(Arc<Mutex<Option<BoxError>>>);

impl Failure {
    /// The status of the answer that carries a failure.
    pub const STATUS: u16 = 999;

    /// Takes the failure out of an answer that carries one.
    #[must_use]
    pub fn from_response(response: &Response) -> Option<BoxError> {
        let carried = response.extensions().get::<Self>()?;
        // Extensions must be clones; the error itself is taken once.
        carried
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn carry(error: BoxError) -> Response {
        let mut carrier = http::Response::new(reqwest::Body::default());
        if let Ok(status) = http::StatusCode::from_u16(Self::STATUS) {
            *carrier.status_mut() = status;
        }
        carrier
            .extensions_mut()
            .insert(Self(Arc::new(Mutex::new(Some(error)))));
        Response::from(carrier)
    }
}

// Only `exec` is called: codegen takes `pre` and `post` out of the calls (`codegen/call.rs`).
impl ClientHooks<Context> for Client {
    async fn exec(&self, request: Request, info: &OperationInfo) -> reqwest::Result<Response> {
        let Some(operation) = operation(info.operation_id) else {
            let message = format!("operation {} is not in the table", info.operation_id);
            return Ok(Failure::carry(message.into()));
        };
        match self
            .inner()
            .0
            .execute(self.client(), request, operation)
            .await
        {
            // On the heap, so that calls that succeed need not carry its space around.
            Ok(response) if response.status().as_u16() >= 400 => {
                Box::pin(error_body::normalise(response)).await
            }
            Ok(response) => Ok(response),
            Err(TransportError::Http(error)) => Err(error),
            Err(TransportError::Other(error)) => Ok(Failure::carry(error)),
        }
    }
}

fn operation(method_name: &str) -> Option<&'static Operation> {
    OPERATIONS
        .iter()
        .find(|operation| operation.method_name == method_name)
}
