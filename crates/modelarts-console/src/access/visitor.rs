//! `Visitor`, `Fields` and `Secrets`: the user of a request, the submitted values, and the masks
//! that replace secrets until the user asks for them.

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
    /// CSRF token, which changes in this session must contain; empty without a session.
    pub(crate) csrf: String,
}

/// Fields of a form or of a query, in order. A name may occur several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first value of a field that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, value)| known == name && !value.is_empty());
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Reads the fields of the query of a GET or HEAD request, or else of the form in the body.
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

/// Choice of the user of a page between secrets and masks.
pub(crate) struct Secrets {
    pub(crate) are_shown: bool,
    /// `true` if the page contains a secret or its mask.
    pub(crate) exist: bool,
}

impl Secrets {
    /// Returns the choice in the query of the page. By default, secrets are masked.
    pub(crate) fn of(fields: &Fields) -> Self {
        Self { are_shown: fields.get("secrets") == Some("shown"), exist: false }
    }

    /// Masks the secrets of a value, unless the user has asked for them.
    pub(crate) fn apply(&mut self, value: &mut Value) {
        let mut masked = value.clone();
        self.exist |= mask(&mut masked) > 0;
        if !self.are_shown {
            *value = masked;
        }
    }
}
