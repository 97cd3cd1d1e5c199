//! Responses before serialisation.

use axum::{
    body::Body,
    http::{
        HeaderValue, StatusCode,
        header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName},
    },
    response::Response,
};
use bytes::Bytes;
use futures::stream;
use serde_json::Value;

use crate::api::error::ApiError;

/// Point at which a fault cuts a connection, passed to the server with the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    BeforeAnswer,
    /// After the head and half of the body have been sent.
    MidBody,
}

/// Response whose JSON body stays a value until it is sent.
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
    /// Body of another media type, with its bytes.
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

    /// Builds the response, with the header `X-Request-Id` of all responses of the service.
    pub(crate) fn with_request_id(self, request_id: &str) -> Response {
        let (content_type, bytes) = self.body.bytes();
        let length = bytes.len();
        let body = match self.cut {
            Some(Cut::MidBody) => half_body(bytes),
            _ => Body::from(bytes),
        };
        let mut response = Response::new(body);
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
        response
    }
}

/// Returns a body that declares its full length, delivers half of its bytes, and then fails.
fn half_body(bytes: Bytes) -> Body {
    let first = bytes.slice(..bytes.len() / 2);
    Body::from_stream(stream::unfold(Some(first), |rest| async move {
        match rest {
            Some(first) => Some((Ok(first), None)),
            None => {
                // Yields once, so that the connection can send the first half.
                tokio::task::yield_now().await;
                Some((Err(std::io::Error::other("cut on purpose")), None))
            }
        }
    }))
}
