//! The body of a request: how much of it is taken, and how long it may take to come.

use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use bytes::Bytes;
use tokio::time::timeout;

use crate::api::error::ApiError;

/// Bodies above 12 MB are refused, as on the service.
const MOST: usize = 12 * 1024 * 1024;
/// The time that the head of a request may take, and the time that its body may take, in real time.
pub(crate) const MOST_TIME: Duration = Duration::from_secs(30);

/// All of a body. One that says that it is too long is refused before any of it has come.
pub(crate) async fn whole(body: Body) -> Result<Bytes, ApiError> {
    if body.size_hint().lower() > MOST as u64 {
        return Err(ApiError::body_too_large());
    }
    match timeout(MOST_TIME, to_bytes(body, MOST)).await {
        Ok(read) => read.map_err(|_| ApiError::body_too_large()),
        Err(_) => Err(ApiError::body_too_slow(MOST_TIME)),
    }
}
