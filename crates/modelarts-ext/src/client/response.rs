//! What came of a call: an answer with its facts, or an error with them.

use std::{fmt, ops::Deref, sync::Arc, time::Duration};

use modelarts_api::{
    Failure,
    decode::{self, Skipped},
    types,
};

use crate::{
    client::Client,
    error::{Error, ErrorKind},
    http::signature_mismatch,
    transport::call::CallInfo,
};

/// What an operation answered, and what is known about the call.
pub struct Answer<T> {
    // A job is some kilobytes, which are not to be moved around.
    pub(crate) value: Box<T>,
    pub(crate) facts: Arc<CallInfo>,
}

impl<T> Answer<T> {
    /// The answer itself.
    pub fn into_inner(self) -> T {
        *self.value
    }

    /// As [`into_inner`](Self::into_inner), where it lies.
    pub(crate) fn into_boxed(self) -> Box<T> {
        self.value
    }

    /// Refuses the answer to another request, by what it says in `field`: `found` must be
    /// what was `asked` for. An answer that does not say it is taken. Connections that carry
    /// answers to other requests are replaced.
    pub(crate) fn about(
        self,
        client: &Client,
        field: &str,
        asked: &str,
        found: impl FnOnce(&T) -> Option<&str>,
    ) -> Result<Self, Error> {
        let other = match found(&self.value) {
            // Ids and names that differ in case only are not told apart everywhere.
            Some(other) if !other.eq_ignore_ascii_case(asked) => other,
            _ => return Ok(self),
        };
        let masked = self.facts.mask().text(other);
        let other = masked.as_deref().unwrap_or(other);
        client.reset_connections();
        let message = format!(
            "the answer is to another request: its {field} is {other:?}, and must be {asked:?}"
        );
        let solution = "something on the way mixes up answers, so the connections were replaced; \
                        try again";
        Err(Error::new(ErrorKind::Unexpected, message)
            .with_status(self.status())
            .with_solution(Some(solution.to_owned()))
            .in_call(self.facts.call())
            .passing())
    }

    /// What is kept about the call.
    pub(crate) fn told(&self) -> Arc<CallInfo> {
        Arc::clone(&self.facts)
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.facts.status.unwrap_or_default()
    }

    /// The id of the request, which support asks for.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.facts.request_id.as_deref()
    }

    /// How often the request was sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.facts.attempts
    }

    /// How long the call took, all attempts together.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.facts.elapsed
    }

    /// The body as it came; empty when the operation answers without one.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.facts.raw()
    }

    /// What could not be understood and was left out of lists.
    #[must_use]
    pub fn dropped(&self) -> &Skipped {
        &self.facts.dropped
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Gives an error of generated code the facts that it has lost.
pub(crate) fn convert(error: modelarts_api::Error<types::ApiError>, facts: &CallInfo) -> Error {
    use modelarts_api::Error as Generated;

    let converted = match error {
        Generated::ErrorResponse(response) => {
            let status = response.status().as_u16();
            let error = Error::service(status, &response.into_inner());
            let solution = error.message().and_then(|message| {
                // In the message secrets are masked already.
                let ours = facts.canonical_request.as_deref()?;
                let masked = facts.mask().text(ours);
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
        Generated::InvalidResponsePayload(..) if facts.late.is_some() => {
            let limit = facts.late.unwrap_or_default();
            let message = format!("the answer came, and was not decoded within {limit:?}");
            let error = Error::new(ErrorKind::Timeout, message);
            match facts.status {
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
            if let Some(status) = facts.status {
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
    converted.in_call(facts.call())
}
