//! Responses of the service, as received and with a decoded body.

use std::{fmt, ops::Deref};

use bytes::Bytes;
use http::Extensions;
use reqwest::{StatusCode, header::HeaderMap};

use crate::decode::skipped::Skipped;

/// Response of the service with the complete body, as received.
#[derive(Clone)]
#[non_exhaustive]
pub struct RawResponse {
    /// HTTP status of the response.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Body of the response.
    pub body: Bytes,
    /// Metadata of the call that the transport passes to the caller.
    pub extensions: Extensions,
}

impl RawResponse {
    /// Creates a response without extensions.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { status, headers, body, extensions: Extensions::new() }
    }

    /// Reads the complete body of a response. The length of the body is not limited.
    ///
    /// # Errors
    /// Returns an error if the connection breaks before the end of the response.
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

/// Response with a decoded body. Dereferences to the decoded body.
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

    /// Returns the response as received, with the extensions of the transport. The raw body is
    /// empty if the operation returns no body, and `{}` for status 204, which means "not ready". In
    /// [`Error::Service`](crate::Error::Service), the raw body is the `ApiError` as JSON.
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

    /// Converts the decoded body with `convert`, and keeps the rest of the response.
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
