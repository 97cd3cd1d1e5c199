//! Result of a call: a response or an error, with the details of the call.

use std::{fmt, ops::Deref, sync::Arc};

use bytes::Bytes;
use modelarts_api::{RawResponse, TransportError, codes, decode::Skipped, error_body};

use crate::{
    error::{Error, ErrorKind},
    pagination::source::{Counts, RawPage},
    transport::{HttpTransport, call::CallInfo},
};

/// Response of an operation, with the details of the call. Dereferences to the decoded body.
///
/// For example, `response.status` is a field of the body, and `response.status()` the HTTP status.
pub struct Response<T> {
    // The value is boxed, because a move of an unboxed job would copy some kilobytes.
    pub(super) value: Box<T>,
    pub(super) call: Arc<CallInfo>,
}

impl<T> Response<T> {
    pub(super) fn new(response: modelarts_api::Response<T>) -> Result<Self, Error> {
        let (value, raw, skipped) = response.into_parts();
        let call = completed_call(raw, skipped)?;
        Ok(Self { value: Box::new(value), call: Arc::new(call) })
    }

    /// Returns the decoded body.
    pub fn into_inner(self) -> T {
        *self.value
    }

    pub(crate) fn into_parts(self) -> (Box<T>, Arc<CallInfo>) {
        (self.value, self.call)
    }

    /// Copies the body, which otherwise keeps the whole buffer of its connection in memory.
    pub(crate) fn copy_body(mut self) -> Self {
        if let Some(call) = Arc::get_mut(&mut self.call) {
            call.body = Bytes::copy_from_slice(&call.body);
        }
        self
    }

    /// Returns the details of the call, such as request id, number of attempts and duration.
    #[must_use]
    pub fn call(&self) -> &CallInfo {
        &self.call
    }

    #[cold]
    pub(crate) fn without(&self, field: &str) -> Error {
        let message = format!("the answer is not understood: {field} must be given");
        Error::new(ErrorKind::Decode, message)
            .with_status(self.status())
            .with_call(self.call.summary.clone())
    }

    /// Converts the response to a page of a list. Returns an error if the body has no content.
    pub(crate) fn into_page<R>(
        self,
        rows: impl FnOnce(T) -> (Vec<R>, Counts),
    ) -> Result<RawPage<R>, Error> {
        if has_no_content(self.raw()) {
            return Err(self.without("a list"));
        }
        let (items, counts) = rows(*self.value);
        Ok(RawPage { items, counts, skipped: self.call.skipped.rows, call: self.call })
    }

    /// Returns the HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.call.status.unwrap_or_default()
    }

    /// Returns the body as received. Empty if the response has no body.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.call.body
    }

    /// Returns the number of list elements that decoding skipped, which the body omits.
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

/// Returns `true` if the body is empty, `null`, an empty string, or an object without fields.
pub(crate) fn has_no_content(body: &[u8]) -> bool {
    let body = body.iter().filter(|byte| !byte.is_ascii_whitespace());
    matches!(body.take(5).copied().collect::<Vec<_>>().as_slice(), b"" | b"{}" | b"null" | b"\"\"")
}

fn completed_call(mut response: RawResponse, skipped: Skipped) -> Result<CallInfo, Error> {
    let mut call = CallInfo::take_from(&mut response);
    // Status 204 is a result only if the operation returns no body; otherwise it means "not ready".
    if response.status.as_u16() == 204 && !response.body.is_empty() {
        return Err(Error::new(ErrorKind::NotReady, "not ready yet")
            .with_status(204)
            .with_call(call.summary));
    }
    call.status = Some(response.status.as_u16());
    call.body = response.body;
    call.skipped = skipped;
    call.canonical_request = None;
    Ok(call)
}

/// Rewrites the generated message about a missing body field. Returns `None` for other messages.
fn missing_field(message: &str) -> Option<String> {
    let (start, reason) = message.split_once("` for body failed: ")?;
    let body = start.strip_prefix("conversion to `")?;
    let field = reason.strip_prefix("no value supplied for ")?;
    Some(format!("{body}: {field} must be given"))
}

impl Error {
    pub(super) fn from_api(error: modelarts_api::Error) -> Self {
        use modelarts_api::Error as Generated;

        match error {
            Generated::Invalid(message) => {
                Self::invalid(missing_field(&message).unwrap_or(message))
            }
            Generated::Transport(TransportError::Other(error)) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(other) => Self::new(ErrorKind::Connection, other.to_string()),
            },
            Generated::Transport(TransportError::Http(error)) => {
                Self::new(ErrorKind::Connection, error.to_string()).with_source(error)
            }
            Generated::Service(response) => {
                let (body, mut response, _) = response.into_parts();
                let call = CallInfo::take_from(&mut response);
                let error = Self::service(response.status.as_u16(), &body).without_token();
                let error = match call.advice {
                    // The advice of the service does not mention the setting with the project.
                    Some(hint) if error.code() == Some(codes::TOKEN_PROJECT_ID_NOT_MATCH) => {
                        error.with_hint(&hint)
                    }
                    advice => error.with_advice(advice),
                };
                error.with_call(call.summary)
            }
            Generated::Decode { mut response, error, timed_out } => {
                let call = CallInfo::take_from(&mut response);
                let converted = if timed_out {
                    let limit = call.timeout;
                    let message = format!("the answer came, and was not decoded within {limit:?}");
                    Self::new(ErrorKind::Timeout, message)
                } else {
                    let body = String::from_utf8_lossy(&response.body).into_owned();
                    let message = match error_body::html_page(&body) {
                        Some(page) => {
                            let page = call.mask().text(&page).unwrap_or(page);
                            format!("the answer is {page}, instead of JSON")
                        }
                        None => format!("the answer is not understood: {error}"),
                    };
                    Self::new(ErrorKind::Decode, message).with_body(body)
                };
                let converted = converted.with_advice(call.advice);
                let status = response.status.as_u16();
                converted.with_status(status).with_call(call.summary)
            }
            Generated::Unexpected(mut response) => {
                let call = CallInfo::take_from(&mut response);
                let message = "an answer that no document describes";
                Self::new(ErrorKind::Unexpected, message)
                    .with_status(response.status.as_u16())
                    .with_call(call.summary)
            }
            other => Self::new(ErrorKind::Unexpected, other.to_string()),
        }
    }
}

impl<T> Response<T> {
    /// Returns an error unless `field` is `asked`. Another value also closes idle connections.
    pub(crate) fn require_match(
        self,
        transport: &HttpTransport,
        field: &str,
        asked: &str,
        found: impl FnOnce(&T) -> Option<&str>,
    ) -> Result<Self, Error> {
        let other = match found(&self.value) {
            // Some components of the service ignore the case of ids and names.
            Some(other) if !other.eq_ignore_ascii_case(asked) => other,
            Some(_) => return Ok(self),
            None => return Err(self.without(field)),
        };
        let masked = self.call.mask().text(other);
        let other = masked.as_deref().unwrap_or(other);
        transport.connector.reset();
        let message = format!(
            "the answer is to another request: its {field} is {other:?}, and must be {asked:?}"
        );
        let solution = "something on the way mixes up answers, so the connections were replaced; \
                        try again";
        Err(Error::new(ErrorKind::Unexpected, message)
            .with_status(self.status())
            .with_solution(Some(solution.to_owned()))
            .with_call(self.call.summary.clone())
            .with_retryable(true))
    }
}
