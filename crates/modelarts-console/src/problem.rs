//! `Problem`: the reason why a request did not succeed, as a page or as JSON.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use modelarts_ext::{Error, ErrorKind};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Problem {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    /// Sentence that states the reason.
    pub(crate) message: String,
    /// Advice about the next step of the user.
    pub(crate) advice: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) request_id: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, title: &'static str, message: impl Into<String>) -> Self {
        Self { status, title, message: message.into(), advice: None, code: None, request_id: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", message)
    }

    /// Creates the problem of a request that breaks a rule of the page.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Invalid request", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Not allowed", message)
    }

    /// Creates the problem of a defect of the page.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Error of the page", message)
    }

    /// Returns the reason, the advice and the request id as one text.
    pub(crate) fn sentence(&self) -> String {
        let mut text = self.message.clone();
        if let Some(advice) = &self.advice {
            text = format!("{text}; {advice}");
        }
        match &self.request_id {
            Some(id) if !text.contains(id.as_str()) => format!("{text} (request id {id})"),
            _ => text,
        }
    }

    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, title) = match error.kind() {
            _ if error.is_not_found() => (StatusCode::NOT_FOUND, "Not found"),
            _ if error.is_conflict() => (StatusCode::CONFLICT, "Not possible now"),
            ErrorKind::Invalid => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid request"),
            _ => (StatusCode::BAD_GATEWAY, "The service did not do it"),
        };
        let message = error.to_string();
        // Most messages end with the advice, without its full stop.
        let is_known = |advice: &str| message.contains(advice.trim_end_matches('.'));
        let advice = error.advice().filter(|advice| !is_known(advice));
        Self {
            status,
            title,
            advice: advice.map(str::to_owned),
            message,
            code: error.code().map(str::to_owned),
            request_id: error.request_id().map(str::to_owned),
        }
    }
}

/// Creates a response without a body. The guard of the site renders the problem as HTML or JSON.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
