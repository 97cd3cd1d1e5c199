//! Responses before serialisation.

use std::io;

use axum::{
    body::{Body, HttpBody},
    http::{
        HeaderValue, StatusCode,
        header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::Value;
use uuid::Uuid;

use crate::api::error::ApiError;

/// Point at which a fault cuts a connection. The server reads it from the response's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    BeforeAnswer,
    /// After the head and half of the body have been sent.
    MidBody,
}

/// Response whose JSON body is not serialised yet, so that a fault can change it.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: ResponseBody,
    pub(crate) cut: Option<Cut>,
    pub(crate) by_fault: bool,
}

#[derive(Debug)]
enum ResponseBody {
    Empty,
    Json(Value),
    /// Media type and content of a body that is not JSON.
    Other(&'static str, Bytes),
}

impl ResponseBody {
    fn bytes(&self) -> (Option<&'static str>, Bytes) {
        match self {
            Self::Empty => (None, Bytes::new()),
            Self::Json(value) => (Some("application/json"), value.to_string().into()),
            Self::Other(media_type, content) => (Some(media_type), content.clone()),
        }
    }
}

impl ApiResponse {
    pub(crate) fn json(status: StatusCode, body: Value) -> Self {
        Self::of(status, ResponseBody::Json(body))
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self::of(status, ResponseBody::Empty)
    }

    pub(crate) fn html(status: StatusCode, page: String) -> Self {
        Self::of(status, ResponseBody::Other("text/html", page.into()))
    }

    pub(crate) fn text(status: StatusCode, content: Vec<u8>) -> Self {
        let body = ResponseBody::Other("text/plain; charset=utf-8", content.into());
        Self::of(status, body)
    }

    pub(crate) fn cut(cut: Cut) -> Self {
        let mut response = Self::empty(StatusCode::SERVICE_UNAVAILABLE);
        response.cut = Some(cut);
        response
    }

    pub(crate) fn error(error: &ApiError, request_id: &str) -> Self {
        let response = Self::json(error.status, error.body(request_id));
        match error.status {
            // Otherwise, unread bytes of the request would be parsed as the next request.
            StatusCode::REQUEST_TIMEOUT => {
                response.header(CONNECTION, HeaderValue::from_static("close"))
            }
            _ => response,
        }
    }

    fn of(status: StatusCode, body: ResponseBody) -> Self {
        Self { status, headers: Vec::new(), body, cut: None, by_fault: false }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        if let ResponseBody::Json(body) = &mut self.body {
            change(body);
        }
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.body.bytes().1
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Builds the response, with the header `X-Request-Id` that all responses of the service have.
    pub(crate) fn with_request_id(self, request_id: &str) -> Response {
        let (content_type, bytes) = self.body.bytes();
        let length = bytes.len();
        let mut response = Response::new(Body::from(bytes));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if let Some(content_type) = content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        if let Ok(id) = HeaderValue::from_str(request_id) {
            headers.insert("x-request-id", id);
        }
        headers.extend(self.headers);
        if let Some(cut) = self.cut {
            response.extensions_mut().insert(cut);
        }
        match self.cut {
            Some(Cut::MidBody) => cut_in_half(response),
            _ => response,
        }
    }
}

pub(crate) type Reply = Result<ApiResponse, ApiError>;

pub(crate) fn ok(body: Value) -> Reply {
    Ok(ApiResponse::json(StatusCode::OK, body))
}

/// Returns a new request id in the format of the service: 32 hexadecimal digits.
pub(crate) fn new_request_id() -> String {
    Uuid::new_v4().simple().to_string()
}

impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        self.with_request_id(&new_request_id())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let request_id = new_request_id();
        ApiResponse::error(&self, &request_id).with_request_id(&request_id)
    }
}

/// Returns the response with a body that fails after half of its length.
pub(crate) fn cut_in_half(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let declared = parts.headers.get(CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let length = declared.or(HttpBody::size_hint(&body).exact()).unwrap_or_default();
    if length > 0 {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    let chunks = body.into_data_stream();
    let cut = stream::unfold((chunks, length / 2), |(mut chunks, rest)| async move {
        let next = if rest > 0 { chunks.next().await } else { None };
        let Some(chunk) = next else {
            // Yields once, so that the connection can send the first half.
            tokio::task::yield_now().await;
            return Some((Err(axum::Error::new(io::Error::other("cut on purpose"))), (chunks, 0)));
        };
        let chunk: Result<Bytes, axum::Error> = chunk;
        let kept = chunk.map(|chunk| {
            let kept = usize::try_from(rest).map_or(chunk.len(), |rest| rest.min(chunk.len()));
            chunk.slice(..kept)
        });
        let left = kept.as_ref().map_or(0, |kept| rest - kept.len() as u64);
        Some((kept, (chunks, left)))
    });
    Response::from_parts(parts, Body::from_stream(cut))
}
