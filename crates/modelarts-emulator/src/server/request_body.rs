//! Reading of request bodies, with limits of size and time.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody, to_bytes},
    extract::{FromRequest, Request},
};
use bytes::Bytes;
use tokio::time::timeout;

use crate::api::error::ApiError;

/// Maximum size of a body in bytes: 12 MB, as on the service.
const MAX_BODY: usize = 12 * 1024 * 1024;
/// Time limit for the head of a request, and separately for its body, in real time.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a body. A body whose declared length exceeds the limit is rejected before it is read.
pub(crate) async fn read(body: Body) -> Result<Bytes, ApiError> {
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(ApiError::body_too_large());
    }
    match timeout(READ_TIMEOUT, to_bytes(body, MAX_BODY)).await {
        Ok(read) => read.map_err(|_| ApiError::body_too_large()),
        Err(_) => Err(ApiError::body_too_slow(READ_TIMEOUT)),
    }
}

/// Extractor of the body of a request, with the limits of [`read`].
pub(super) struct RequestBody(pub(super) Bytes);

impl<S: Sync> FromRequest<S> for RequestBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read(request.into_body()).await.map(Self)
    }
}
