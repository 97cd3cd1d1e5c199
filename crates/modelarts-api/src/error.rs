//! Errors of calls.

use std::fmt;

use reqwest::{StatusCode, header::InvalidHeaderValue};

use crate::{
    decode::skipped::strip_quoted_text,
    generated::types::ApiError,
    response::{RawResponse, Response},
};

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A failed call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error<E = ApiError> {
    /// A parameter is missing or invalid. Nothing was sent.
    Invalid(String),
    /// There is no response.
    Transport(TransportError),
    /// The service responded with an error.
    Service(Response<E>),
    /// The response could not be decoded.
    Decode {
        /// The response. Its body is empty if time ran out: masking a long body takes time as well,
        /// and an unmasked one must not be shown.
        response: RawResponse,
        /// The reason, which begins with the path of the value.
        error: serde_json::Error,
        /// `true` if time ran out; see [`Transport::is_late`](crate::Transport::is_late).
        timed_out: bool,
    },
    /// The status of the response is neither that of a success nor that of an error.
    Unexpected(RawResponse),
}

impl<E> Error<E> {
    /// The status of the response, if there is one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Invalid(_) | Self::Transport(_) => None,
            Self::Service(response) => Some(response.status()),
            Self::Decode { response, .. } | Self::Unexpected(response) => Some(response.status),
        }
    }
}

impl<E: fmt::Debug> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) => f.write_str(message),
            Self::Transport(error) => error.fmt(f),
            Self::Service(response) => write!(f, "HTTP {}: {response:?}", response.status()),
            Self::Decode { error, .. } => {
                let error = strip_quoted_text(&error.to_string());
                write!(f, "the answer is not understood: {error}")
            }
            Self::Unexpected(response) => {
                write!(f, "HTTP {}, which no document describes", response.status)
            }
        }
    }
}

impl<E: fmt::Debug> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Transport(TransportError::Http(error)) => Some(error),
            Self::Transport(TransportError::Other(error)) => Some(&**error),
            Self::Decode { error, .. } => Some(error),
            Self::Invalid(_) | Self::Service(_) | Self::Unexpected(_) => None,
        }
    }
}

impl<E> From<reqwest::Error> for Error<E> {
    fn from(error: reqwest::Error) -> Self {
        Self::Transport(TransportError::Http(error))
    }
}

impl<E> From<InvalidHeaderValue> for Error<E> {
    fn from(error: InvalidHeaderValue) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// The reason why a request has no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The HTTP client failed.
    Http(reqwest::Error),
    /// The transport itself failed, for instance because it has no credentials.
    Other(BoxError),
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(error) => error.fmt(f),
            Self::Other(error) => error.fmt(f),
        }
    }
}

/// The error of a call with a parameter that is missing or has the wrong type.
#[cold]
pub(crate) fn invalid_request(name: &str, message: String) -> Error {
    Error::Invalid(match message.is_empty() {
        true => format!("{name} was not initialized"),
        false => message,
    })
}
