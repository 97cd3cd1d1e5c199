//! Error of an operation call, and error of a request that receives no response.

use std::fmt;

use reqwest::{StatusCode, header::InvalidHeaderValue};

use crate::{
    generated::types::ApiError,
    response::{RawResponse, Response},
};

/// Error of any type that a [`Transport`](crate::Transport) returns.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Error of an operation call.
///
/// ```no_run
/// use modelarts_api::{Client, Error};
///
/// # async fn show(client: &Client) -> Result<(), Error> {
/// let call = client.show_training_job_details().project_id("…").training_job_id("…");
/// match call.send().await {
///     Ok(job) => println!("{:?}", job.status),
///     Err(Error::Service(response)) if response.status() == 404 => {
///         println!("no such job: {:?}", response.error_msg);
///     }
///     Err(error) => return Err(error),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is missing or invalid. No request was sent.
    Invalid(String),
    /// No response was received.
    Transport(TransportError),
    /// The service returned an error. The body of [`raw()`](Response::raw) is the [`ApiError`] as
    /// JSON, regardless of the shape of the body that the service sent.
    Service(Response<ApiError>),
    /// The body of the response could not be decoded.
    Decode {
        /// Response whose body [`Transport::mask`](crate::Transport::mask) has masked. The body is
        /// empty if the time limit was reached, because masking a long body takes additional time,
        /// and an unmasked body must not be shown.
        response: RawResponse,
        /// Path of the value and reason of the failure. The reason does not quote string values of
        /// the response, because they may be secrets. The path may contain keys of the response.
        error: serde_json::Error,
        /// `true` if the time limit was reached; see
        /// [`Transport::is_late`](crate::Transport::is_late).
        timed_out: bool,
    },
    /// The response, for example a redirect, has neither a success status nor an error status.
    Unexpected(RawResponse),
}

impl Error {
    /// Returns the HTTP status of the response. Returns `None` if no response was received.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Invalid(_) | Self::Transport(_) => None,
            Self::Service(response) => Some(response.status()),
            Self::Decode { response, .. } | Self::Unexpected(response) => Some(response.status),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) => f.write_str(message),
            Self::Transport(error) => error.fmt(f),
            Self::Service(response) => {
                write!(f, "HTTP {}", response.status().as_u16())?;
                let texts = [&response.error_code, &response.error_msg];
                let mut texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
                texts.try_for_each(|text| write!(f, ": {text}"))
            }
            Self::Decode { error, .. } => write!(f, "the answer is not understood: {error}"),
            Self::Unexpected(response) => {
                write!(f, "HTTP {}, which no document describes", response.status)
            }
        }
    }
}

impl std::error::Error for Error {
    // The message contains the message of the inner error. The source is therefore the source of
    // the inner error.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Transport(TransportError::Http(error)) => error.source(),
            Self::Transport(TransportError::Other(error)) => error.source(),
            Self::Decode { error, .. } => error.source(),
            Self::Invalid(_) | Self::Service(_) | Self::Unexpected(_) => None,
        }
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::Transport(TransportError::Http(error))
    }
}

impl From<InvalidHeaderValue> for Error {
    fn from(error: InvalidHeaderValue) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Error of a request that received no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The HTTP client returned an error.
    Http(reqwest::Error),
    /// The transport failed for another reason, for example because it has no credentials.
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

/// Creates the error for a parameter that is missing (if `message` is empty) or invalid.
#[cold]
pub(crate) fn invalid_request(name: &str, message: String) -> Error {
    Error::Invalid(match message.is_empty() {
        true => format!("{name} must be given"),
        false => message,
    })
}
