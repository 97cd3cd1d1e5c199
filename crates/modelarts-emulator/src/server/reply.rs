//! Responses of routes that are not operations of the service, and request IDs.

use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use crate::api::{error::ApiError, response::ApiResponse};

/// Result of a route that is not an operation of the service.
pub(super) type Reply = Result<ApiResponse, ApiError>;

/// Returns a new request ID in the format of the service: 32 hexadecimal digits.
pub(crate) fn new_request_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Conversion to a response with a new request ID.
impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        self.with_request_id(&new_request_id())
    }
}

/// Conversion to a response with a new request ID, which the body also contains.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let request_id = new_request_id();
        ApiResponse::error(&self, &request_id).with_request_id(&request_id)
    }
}
