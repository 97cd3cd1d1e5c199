//! An authenticated request for an operation.

use std::{collections::HashMap, sync::Arc};

use axum::http::{HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use crate::{
    accounts::User,
    api::{error::ApiError, query::decode, response::ApiResponse},
    clock::timestamp::Timestamp,
    job::{Job, event_language::Language},
    state::EmulatorState,
    validation::fields::ignored,
};

/// A request for an operation, with its user and the shared state.
pub(crate) struct ApiCall<'a> {
    pub(crate) state: &'a Arc<EmulatorState>,
    pub(crate) user: &'a User,
    /// What the path names, beside the project.
    pub(crate) ids: &'a HashMap<String, String>,
    /// The query as sent.
    pub(crate) query: &'a str,
    pub(crate) body: &'a [u8],
    /// Of the texts of events.
    pub(crate) language: Language,
}

/// The response of an operation, or its error.
pub(super) type ApiResult = Result<ApiResponse, ApiError>;

impl ApiCall<'_> {
    pub(crate) fn id(&self, name: &str) -> &str {
        self.ids.get(name).map_or("", String::as_str)
    }

    pub(crate) fn job_id(&self) -> &str {
        self.id("training_job_id")
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now(self.state.clock.as_ref())
    }

    pub(crate) fn json(&self) -> Result<Value, ApiError> {
        serde_json::from_slice(self.body).map_err(|_| ApiError::invalid_json())
    }

    /// A value of the query; blank ones count as absent.
    pub(crate) fn param(&self, name: &str) -> Result<Option<String>, ApiError> {
        for pair in self.query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if key != name || value.is_empty() {
                continue;
            }
            let value = decode(value).ok_or_else(|| bad_param(name))?;
            return Ok(Some(value));
        }
        Ok(None)
    }

    /// A number of the query. All of them have 32 bits, and answers repeat some.
    pub(crate) fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<usize>,
        default: usize,
    ) -> Result<usize, ApiError> {
        match self.param(name)? {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(number) if range.contains(&number) && i32::try_from(number).is_ok() => {
                    Ok(number)
                }
                _ => Err(bad_param(name)),
            },
        }
    }

    /// One of these texts of the query.
    pub(crate) fn choice(
        &self,
        name: &str,
        values: &[&'static str],
    ) -> Result<Option<&'static str>, ApiError> {
        match self.param(name)? {
            None => Ok(None),
            Some(text) => values
                .iter()
                .find(|value| **value == text)
                .map(|value| Some(*value))
                .ok_or_else(|| bad_param(name)),
        }
    }

    /// Looks at a job of the user's project.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&Job) -> R) -> Result<R, ApiError> {
        let id = self.job_id();
        let own = |job: &Job| (job.project == self.user.project_id).then(|| look(job));
        let seen = self.state.store.read(id, own).flatten();
        seen.ok_or_else(|| ApiError::job_not_found(id))
    }

    /// Changes a job of the user's project.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Job) -> R) -> Result<R, ApiError> {
        let id = self.job_id();
        let own = |job: &mut Job| (job.project == self.user.project_id).then(|| change(job));
        let done = self.state.store.update(id, own).flatten();
        done.ok_or_else(|| ApiError::job_not_found(id))
    }
}

pub(super) fn bad_param(name: &str) -> ApiError {
    ApiError::of(2764, &[name])
}

pub(super) fn ok(body: Value) -> ApiResult {
    Ok(ApiResponse::json(StatusCode::OK, body))
}

/// The response with a header that names the fields of the request that have no effect.
pub(super) fn with_ignored_fields(
    response: ApiResponse,
    ignored: Option<HeaderValue>,
) -> ApiResponse {
    match ignored {
        Some(fields) => {
            tracing::warn!(?fields, "the request has fields without an effect here");
            response.header(HeaderName::from_static(ignored::HEADER), fields)
        }
        None => response,
    }
}
