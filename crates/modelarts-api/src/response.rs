//! Responses: as received, and decoded.

use std::{fmt, ops::Deref};

use bytes::Bytes;
use http::Extensions;
use reqwest::{StatusCode, header::HeaderMap};

use crate::decode::skipped::Skipped;

/// A response of the service, read to its end.
#[derive(Clone)]
#[non_exhaustive]
pub struct RawResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The facts about the call that the transport passes to the caller.
    pub extensions: Extensions,
}

impl RawResponse {
    /// Creates a response without extensions.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self {
            status,
            headers,
            body,
            extensions: Extensions::new(),
        }
    }

    /// Reads a response to its end, without a limit on its length.
    ///
    /// # Errors
    /// Returned when the connection breaks before the end of the response.
    pub async fn read(mut response: reqwest::Response) -> reqwest::Result<Self> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        Ok(Self::new(status, headers, response.bytes().await?))
    }
}

impl fmt::Debug for RawResponse {
    // The body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// A response with its decoded body, to which it dereferences.
#[derive(Clone)]
pub struct Response<T> {
    value: T,
    raw: RawResponse,
    skipped: Skipped,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, raw: RawResponse, skipped: Skipped) -> Self {
        Self {
            value,
            raw,
            skipped,
        }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.raw.status
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.raw.headers
    }

    /// The response as received, with the extensions of the transport. The body is empty for an
    /// operation whose responses have none, and `{}` for a 204, which means "not ready". That of
    /// [`Error::Service`](crate::Error::Service) is the JSON of the `ApiError`.
    #[must_use]
    pub fn raw(&self) -> &RawResponse {
        &self.raw
    }

    /// The list elements that decoding skipped.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The decoded body.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The decoded body, the response as received, and the elements that decoding skipped.
    pub fn into_parts(self) -> (T, RawResponse, Skipped) {
        (self.value, self.raw, self.skipped)
    }

    /// Converts the decoded body.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Response<U> {
        Response::new(convert(self.value), self.raw, self.skipped)
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
