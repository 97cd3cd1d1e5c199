//! What a transport brings back.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use reqwest::{StatusCode, header::HeaderMap};

use crate::decode::Observer;

/// An answer of the service, read to its end.
#[derive(Clone)]
#[non_exhaustive]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Is told what becomes of the body.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Response {
    /// An answer that nobody observes.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self {
            status,
            headers,
            body,
            observer: None,
        }
    }

    /// Reads an answer to its end, however long it is.
    ///
    /// # Errors
    /// When the connection breaks in the middle of it.
    pub async fn read(mut response: reqwest::Response) -> reqwest::Result<Self> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        Ok(Self::new(status, headers, response.bytes().await?))
    }
}

impl fmt::Debug for Response {
    // The body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// For errors of generated code, which hold such a response.
impl From<Response> for reqwest::Response {
    fn from(response: Response) -> Self {
        let mut plain = http::Response::new(response.body);
        *plain.status_mut() = response.status;
        *plain.headers_mut() = response.headers;
        plain.into()
    }
}
