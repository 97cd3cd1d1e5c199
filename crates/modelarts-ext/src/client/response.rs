//! Result of a call: a response or an error, with the facts about the call.

use std::{fmt, ops::Deref, sync::Arc, time::Duration};

use modelarts_api::{
    Failure,
    decode::{self, Skipped},
    types,
};

use crate::{
    error::{Error, ErrorKind},
    http::signature_mismatch,
    pagination::source::{Counts, RawPage},
    transport::call::CallInfo,
};

/// The response of an operation, and the facts about the call.
pub struct Response<T> {
    // Boxed: a job takes some kilobytes, which would be moved.
    pub(super) value: Box<T>,
    pub(super) call: Arc<CallInfo>,
}

impl<T> Response<T> {
    /// The decoded body.
    pub fn into_inner(self) -> T {
        *self.value
    }

    /// Like [`into_inner`](Self::into_inner), without unboxing.
    pub(crate) fn into_boxed(self) -> Box<T> {
        self.value
    }

    /// The facts about the call.
    pub(crate) fn call(&self) -> Arc<CallInfo> {
        Arc::clone(&self.call)
    }

    /// Converts it into a page of a list.
    pub(crate) fn into_page<R>(self, rows: impl FnOnce(T) -> (Vec<R>, Counts)) -> RawPage<R> {
        let (skipped, call) = (self.skipped().rows, self.call());
        let (items, counts) = rows(self.into_inner());
        RawPage {
            items,
            counts,
            skipped,
            call,
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.call.status.unwrap_or_default()
    }

    /// The id of the request, for the support of the service.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.call.request_id.as_deref()
    }

    /// The number of attempts.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.call.attempts
    }

    /// The duration of the call, including all attempts.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.call.elapsed
    }

    /// The body as received; empty if the response has none.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.call.raw()
    }

    /// The items of lists that could not be decoded and were left out.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.call.skipped
    }
}

impl<T> Deref for Response<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Response<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl Error {
    /// Converts the error of a generated operation, and adds the facts about the call, which
    /// generated code does not pass on.
    pub(super) fn from_api(error: modelarts_api::Error<types::ApiError>, call: &CallInfo) -> Self {
        use modelarts_api::Error as Generated;

        let converted = match error {
            Generated::ErrorResponse(response) => {
                let status = response.status().as_u16();
                let error = Error::service(status, &response.into_inner());
                let solution = error.message().and_then(|message| {
                    // The secrets in the message are masked already.
                    let ours = call.canonical_request.as_deref()?;
                    let masked = call.mask().text(ours);
                    signature_mismatch::explain(message, masked.as_deref().unwrap_or(ours))
                });
                error.with_solution(solution).without_token()
            }
            Generated::InvalidRequest(message) => Error::invalid(message),
            Generated::UnexpectedResponse(response) => match Failure::from_response(&response) {
                Some(failure) => match failure.downcast::<Error>() {
                    Ok(error) => *error,
                    Err(other) => Error::new(ErrorKind::Connection, other.to_string()),
                },
                None => {
                    let status = response.status().as_u16();
                    Error::new(
                        ErrorKind::Unexpected,
                        "an answer that no document describes",
                    )
                    .with_status(status)
                }
            },
            Generated::InvalidResponsePayload(..) if call.decode_timeout.is_some() => {
                let limit = call.decode_timeout.unwrap_or_default();
                let message = format!("the answer came, and was not decoded within {limit:?}");
                let error = Error::new(ErrorKind::Timeout, message);
                match call.status {
                    Some(status) => error.with_status(status),
                    None => error,
                }
            }
            Generated::InvalidResponsePayload(body, error) => {
                let text = String::from_utf8_lossy(&body).into_owned();
                let mut converted = Error::new(
                    ErrorKind::Decode,
                    format!(
                        "the answer is not understood: {}",
                        decode::strip_quoted_text(&error.to_string())
                    ),
                )
                .with_body(text);
                if let Some(status) = call.status {
                    converted = converted.with_status(status);
                }
                converted
            }
            Generated::Custom(message) => Error::new(ErrorKind::Unexpected, message),
            Generated::CommunicationError(error)
            | Generated::InvalidUpgrade(error)
            | Generated::ResponseBodyError(error) => {
                Error::new(ErrorKind::Connection, error.to_string()).with_source(error)
            }
        };
        converted.with_call(call.summary())
    }
}
