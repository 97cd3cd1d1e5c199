//! The transport that sends every request of generated code.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use http::Extensions;
use reqwest::Request;

use crate::{error::TransportError, operation::Operation, response::RawResponse};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Transport that sends one request to the service and returns its response.
///
/// The request is complete except for credentials, which the implementation adds. The
/// implementation may send the request several times if the effect of the operation allows it.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request`, which belongs to `operation`, with `http`.
    ///
    /// Returns `Ok` for a response with any status, and an error only if the request has no
    /// response. Call metadata for the caller is passed in [`RawResponse::extensions`].
    fn execute<'a>(
        &'a self,
        http: &'a reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>>;

    /// Returns `true` if the time limit of the call with these extensions has passed; decoding its
    /// response then ends with an error. Called periodically during decoding, and once when a
    /// response cannot be decoded for another reason.
    fn is_late(&self, call: &Extensions) -> bool {
        let _ = call;
        false
    }

    /// Masks the secrets of the call with these extensions in a text of the response, which may
    /// echo them. Called before the text becomes part of an error. Returns `None` when the text
    /// contains no secrets.
    fn mask(&self, call: &Extensions, text: &str) -> Option<String> {
        let _ = (call, text);
        None
    }
}

/// The transport of a [`Client`](crate::Client), shared by its clones.
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
    // A transport holds credentials, so it is not printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
