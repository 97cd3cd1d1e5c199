//! Reading of requests for ordinary and heterogeneous jobs.

use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    job::{request::JobRequest, roles},
};

impl JobRequest {
    /// Reads the validated body of an ordinary or heterogeneous job.
    pub(crate) fn read(given: Value) -> Result<Self, ApiError> {
        let body = JsonField::root(&given);
        let kind = body.required("kind")?.text()?;
        if !["job", "hetero_job"].contains(&kind) {
            return Err(ApiError::not_modelled(format!("the job kind {kind:?}")));
        }
        if body.items_of("tasks")?.is_empty() {
            Self::read_ordinary(given)
        } else {
            roles::read_heterogeneous(given)
        }
    }
}
