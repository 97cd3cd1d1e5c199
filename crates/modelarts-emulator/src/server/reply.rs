//! Responses of routes other than operations, and request ids.

use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use crate::api::{error::ApiError, response::ApiResponse};

/// The result of a route other than an operation.
pub(super) type Reply = Result<ApiResponse, ApiError>;

/// A request id in the form of the service: 32 hexadecimal digits.
pub(super) fn new_request_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A response with a new request id.
impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        self.with_request_id(&new_request_id())
    }
}

/// A response with a new request id, also in its body.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let request_id = new_request_id();
        ApiResponse::error(&self, &request_id).with_request_id(&request_id)
    }
}
