//! Responses of routes other than operations, and request ids.

use axum::response::Response;
use uuid::Uuid;

use crate::api::{error::ApiError, response::ApiResponse};

/// A request id in the form of the service: 32 hexadecimal digits.
pub(super) fn new_request_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A response with a new request id, which the body of an error repeats.
pub(super) fn reply(result: Result<ApiResponse, ApiError>) -> Response {
    let request_id = new_request_id();
    let response = result.unwrap_or_else(|error| ApiResponse::error(&error, &request_id));
    response.into_response(&request_id)
}
