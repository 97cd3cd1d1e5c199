//! Transport that sends every request of the generated code.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use http::Extensions;
use reqwest::Request;

use crate::{error::TransportError, operation::Operation, response::RawResponse};

/// Boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Transport that sends a request to the service and returns the response.
///
/// The request is complete except for credentials, which the implementation adds. The
/// implementation may send the request several times if the effect of the operation allows it.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request`, which calls `operation`, with the HTTP client `http`.
    ///
    /// Returns `Ok` for a response with any status, and an error only if no response is received.
    /// [`RawResponse::extensions`] can contain metadata of the call for the caller.
    fn execute<'a>(
        &'a self,
        http: &'a reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>>;

    /// Returns `true` if the time limit of the call with these extensions has passed. Decoding of
    /// the response then ends with an error. Called periodically during decoding, and once when a
    /// response cannot be decoded for another reason. Default: `false`.
    fn is_late(&self, call: &Extensions) -> bool {
        let _ = call;
        false
    }

    /// Masks the secrets of the call with these extensions in a text of the response, because the
    /// service may echo secrets. Called before the text becomes part of an error. Returns `None`
    /// if the text contains no secrets, and by default.
    fn mask(&self, call: &Extensions, text: &str) -> Option<String> {
        let _ = (call, text);
        None
    }
}

/// Transport of a [`Client`](crate::Client), shared by all clones of the client.
#[derive(Clone)]
pub struct Context(Arc<dyn Transport>);

impl Context {
    /// Creates a context that sends all requests through `transport`.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self(transport)
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.0
    }
}

impl fmt::Debug for Context {
    // The transport is not printed, because it contains credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
