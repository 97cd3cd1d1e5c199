//! `Visitor` and `Fields`: the user of a request, and the values that the user has entered.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::{Method, request::Parts},
};

use crate::problem::Problem;

/// The user of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visitor {
    /// Value that changes of this session must contain; empty without a session.
    pub(crate) csrf: String,
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// Fields of a form or of a query, in their order. A name may occur several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// Parses fields.
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first value of a field, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, value)| known == name && !value.is_empty());
        found.next().map(|(_, value)| value.as_str())
    }

    /// Returns all values of a field.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }
}

/// Takes the fields of the body of a form, or those of the query of another request.
impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if request.method() == Method::GET || request.method() == Method::HEAD {
            return Ok(Self::parse(request.uri().query().unwrap_or_default().as_bytes()));
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Self::parse(&body))
    }
}
