//! `Visitor`, `Fields` and `Secrets`: the CSRF token of a request, the submitted values, and the
//! masks that replace secrets until the user asks for them.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::Method,
};

use modelarts_ext::masking::mask;
use serde_json::Value;

use crate::problem::Problem;

#[derive(Clone, Debug, Default)]
pub(crate) struct Visitor {
    /// CSRF token that requests for changes must contain; empty without a session.
    pub(crate) csrf: String,
}

/// Fields of a form or of a query, in order. A name may occur several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first non-empty value of the field `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, value)| known == name && !value.is_empty());
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Reads the fields from the query of a GET or HEAD request, or else from the form in the body.
    pub(crate) async fn of_request<S: Send + Sync>(
        request: Request,
        state: &S,
    ) -> Result<Self, Problem> {
        if request.method() == Method::GET || request.method() == Method::HEAD {
            return Ok(Self::parse(request.uri().query().unwrap_or_default().as_bytes()));
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Self::parse(&body))
    }
}

/// Display of the secrets on a page: in plain text or masked.
pub(crate) struct Secrets {
    pub(crate) are_shown: bool,
    /// `true` if the page contains a secret or its mask.
    pub(crate) exist: bool,
}

impl Secrets {
    /// Reads the field `secrets` of the query. Secrets are masked unless its value is `shown`.
    pub(crate) fn of(fields: &Fields) -> Self {
        Self { are_shown: fields.get("secrets") == Some("shown"), exist: false }
    }

    /// Masks the secrets of a value unless they are shown. Sets `exist` if there are any.
    pub(crate) fn apply(&mut self, value: &mut Value) {
        let mut masked = value.clone();
        self.exist |= mask(&mut masked) > 0;
        if !self.are_shown {
            *value = masked;
        }
    }
}
