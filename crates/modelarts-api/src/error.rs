//! Errors of calls that have no answer.

use std::sync::{Arc, Mutex, PoisonError};

use progenitor_client::Error;

use crate::generated::types::ApiError;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a request has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The HTTP client failed.
    Http(reqwest::Error),
    /// The transport itself failed, for instance because it has no credentials.
    Other(BoxError),
}

/// Carries a [`TransportError::Other`] out of a call, whose error type has no variant for it: the
/// failure is an extension of the response in `Error::UnexpectedResponse`. The status of that
/// response means nothing, because a service may answer with any status from 100 to 999; use
/// [`from_response`](Self::from_response) to detect a failure.
#[derive(Clone, Debug)]
pub struct Failure(Arc<Mutex<Option<BoxError>>>);

impl Failure {
    /// Takes the failure out of a response that carries one.
    #[must_use]
    pub fn from_response(response: &reqwest::Response) -> Option<BoxError> {
        let carried = response.extensions().get::<Self>()?;
        // Extensions must implement `Clone`; the error can be taken once.
        carried
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    #[cold]
    pub(crate) fn into_response(error: BoxError) -> reqwest::Response {
        let mut carrier = http::Response::new(reqwest::Body::default());
        // Real answers of this status are error responses, never unexpected responses.
        *carrier.status_mut() = reqwest::StatusCode::SERVICE_UNAVAILABLE;
        carrier
            .extensions_mut()
            .insert(Self(Arc::new(Mutex::new(Some(error)))));
        carrier.into()
    }
}

/// The error of a call with a parameter that is missing or has the wrong type.
#[cold]
pub(crate) fn invalid_request(name: &str, message: String) -> Error<ApiError> {
    Error::InvalidRequest(match message.is_empty() {
        true => format!("{name} was not initialized"),
        false => message,
    })
}
