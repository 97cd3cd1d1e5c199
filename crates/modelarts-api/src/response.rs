//! Responses of the service: received and decoded.

use std::{fmt, ops::Deref};

use bytes::Bytes;
use http::Extensions;
use reqwest::{StatusCode, header::HeaderMap};

use crate::decode::skipped::Skipped;

/// A response of the service with its complete body.
#[derive(Clone)]
#[non_exhaustive]
pub struct RawResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers of the response.
    pub headers: HeaderMap,
    /// The body of the response.
    pub body: Bytes,
    /// Call metadata that the transport passes to the caller.
    pub extensions: Extensions,
}

impl RawResponse {
    /// Creates a response without extensions.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { status, headers, body, extensions: Extensions::new() }
    }

    /// Reads a response to its end. The length is not limited.
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
    // The body may contain secrets, so it is not printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A response with its decoded body. It dereferences to that body.
#[derive(Clone)]
pub struct Response<T> {
    value: T,
    raw: RawResponse,
    skipped: Skipped,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, raw: RawResponse, skipped: Skipped) -> Self {
        Self { value, raw, skipped }
    }

    /// Returns the HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.raw.status
    }

    /// Returns the headers of the response.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.raw.headers
    }

    /// Returns the response as received, with the extensions of the transport. Its body is empty if
    /// the operation returns none, and `{}` for status 204, which means "not ready". In
    /// [`Error::Service`](crate::Error::Service), the body is the JSON of the `ApiError`.
    #[must_use]
    pub fn raw(&self) -> &RawResponse {
        &self.raw
    }

    /// Returns the number of list elements that decoding skipped.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the decoded body.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the decoded body, the response as received, and the number of skipped list elements.
    pub fn into_parts(self) -> (T, RawResponse, Skipped) {
        (self.value, self.raw, self.skipped)
    }

    /// Converts the decoded body, and keeps the rest of the response.
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
