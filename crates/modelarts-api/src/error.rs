//! Errors of calls that have no answer.

use std::sync::{Arc, Mutex, PoisonError};

use progenitor_client::Error;

use crate::generated::types::ApiError;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason for which a request got no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The HTTP client failed.
    Http(reqwest::Error),
    /// The transport itself failed, for instance because it has no credentials.
    Other(BoxError),
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
    pub(crate) fn into_response(error: BoxError) -> reqwest::Response {
        let mut carrier = http::Response::new(reqwest::Body::default());
        // Real ones of this status are error responses, never unexpected ones.
        *carrier.status_mut() = reqwest::StatusCode::SERVICE_UNAVAILABLE;
        carrier
            .extensions_mut()
            .insert(Self(Arc::new(Mutex::new(Some(error)))));
        carrier.into()
    }
}

/// The error of a call that lacks a parameter, or has one of the wrong type.
#[cold]
pub(crate) fn invalid_request(name: &str, message: String) -> Error<ApiError> {
    Error::InvalidRequest(match message.is_empty() {
        true => format!("{name} was not initialized"),
        false => message,
    })
}
