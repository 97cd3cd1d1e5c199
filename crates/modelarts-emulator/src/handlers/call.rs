//! Authenticated request for an operation, with access to its parameters and jobs.

use std::{collections::HashMap, ops::RangeInclusive, sync::Arc};

use axum::http::{HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use crate::{
    accounts::User,
    api::{
        error::ApiError,
        query::decode,
        response::{ApiResponse, Reply},
    },
    clock::timestamp::Timestamp,
    job::{Job, event_language::Language},
    state::EmulatorState,
    validation::fields::ignored,
};

pub(crate) struct ApiCall<'a> {
    pub(crate) state: &'a Arc<EmulatorState>,
    pub(crate) user: &'a User,
    /// Ids in the path, except that of the project.
    pub(crate) ids: &'a HashMap<String, String>,
    /// Query string of the URL, as received.
    pub(crate) query: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) language: Language,
}

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
        serde_json::from_slice(self.body).map_err(|_| ApiError::of(2787, &[]))
    }

    /// Returns a parameter of the query, or `None` if it is absent or empty.
    pub(crate) fn param(&self, name: &str) -> Result<Option<String>, ApiError> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|(key, value)| *key == name && !value.is_empty());
        let decoded = value.map(|(_, value)| decode(value).ok_or_else(|| bad_param(name)));
        decoded.transpose()
    }

    pub(crate) fn required_param(&self, name: &str) -> Result<String, ApiError> {
        self.param(name)?.ok_or_else(|| bad_param(name))
    }

    /// Returns a number in the query. It must be in `range` and fit into a signed 32-bit integer.
    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<usize>,
        default: usize,
    ) -> Result<usize, ApiError> {
        let Some(text) = self.param(name)? else {
            return Ok(default);
        };
        let fits = |number: &usize| range.contains(number) && i32::try_from(*number).is_ok();
        let number = text.parse().ok().filter(fits);
        number.ok_or_else(|| bad_param(name))
    }

    pub(crate) fn choice(
        &self,
        name: &str,
        values: &[&'static str],
    ) -> Result<Option<&'static str>, ApiError> {
        let Some(text) = self.param(name)? else {
            return Ok(None);
        };
        let value = values.iter().find(|value| **value == text);
        value.map(|value| Some(*value)).ok_or_else(|| bad_param(name))
    }

    pub(crate) fn read<R>(&self, look: impl FnOnce(&Job) -> R) -> Result<R, ApiError> {
        self.read_job(self.job_id(), look)
    }

    /// Reads a job of the user's project.
    pub(crate) fn read_job<R>(
        &self,
        id: &str,
        look: impl FnOnce(&Job) -> R,
    ) -> Result<R, ApiError> {
        let own = |job: &Job| (job.owner.project == self.user.project_id).then(|| look(job));
        let value = self.state.store.read(id, own).flatten();
        value.ok_or_else(|| ApiError::job_not_found(id))
    }

    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Job) -> R) -> Result<R, ApiError> {
        let id = self.job_id();
        let own = |job: &mut Job| (job.owner.project == self.user.project_id).then(|| change(job));
        let done = self.state.store.update(id, own).flatten();
        done.ok_or_else(|| ApiError::job_not_found(id))
    }
}

pub(super) fn bad_param(name: &str) -> ApiError {
    ApiError::of(2764, &[name])
}

pub(super) fn with_ignored_fields(
    status: StatusCode,
    body: Value,
    ignored: Option<HeaderValue>,
) -> Reply {
    let response = ApiResponse::json(status, body);
    Ok(match ignored {
        Some(fields) => {
            tracing::warn!(?fields, "the request has fields without an effect here");
            response.header(HeaderName::from_static(ignored::HEADER), fields)
        }
        None => response,
    })
}
