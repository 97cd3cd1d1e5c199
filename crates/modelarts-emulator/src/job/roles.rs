//! Heterogeneous jobs: each element of `tasks` is a role, read and run like an ordinary job.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    job::request::{JobRequest, auto_stop},
    validation::roles::{rename_fields, role_bodies},
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
            read_heterogeneous(given)
        }
    }
}

/// Reads a body with `tasks`. The roles share the members that apply to the whole job.
fn read_heterogeneous(given: Value) -> Result<JobRequest, ApiError> {
    let algorithm = JsonField::root(&given).get("algorithm")?;
    if algorithm.is_some_and(|algorithm| !algorithm.is_empty_object()) {
        return Err(ApiError::not_modelled(
            "algorithm beside tasks (it must be empty: each of tasks has an algorithm)",
        ));
    }
    let mut roles: Vec<Arc<JobRequest>> = Vec::new();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for (at, (task, body)) in role_bodies(&given).into_iter().enumerate() {
        let mut role =
            JobRequest::read_ordinary(body).map_err(|error| rename_fields(error, at, &task))?;
        role.role = JsonField::root(&task).text_of("role")?.map(str::to_owned);
        let other = variables.entry(role_variable(role.role()));
        let other = other.or_insert_with(|| role.role().to_owned());
        if other != role.role() {
            return Err(ApiError::not_modelled(format!(
                "the roles {other} and {}, whose variables VC_{}_NUM would be the same \
                 (tasks[{at}].role must differ in more than letter case, - and _: rename it)",
                role.role(),
                role_variable(role.role()),
            )));
        }
        let same = roles.iter().filter(|other| other.role() == role.role());
        role.first_index = same.map(|other| other.node_count).sum();
        roles.push(Arc::new(role));
    }
    let Some(first) = roles.first() else {
        return Err(ApiError::not_modelled("a heterogeneous job without tasks"));
    };
    if let Some(at) = roles.iter().position(|role| role.pool_id != first.pool_id) {
        return Err(ApiError::not_modelled(format!(
            "tasks in different resource pools (tasks[{at}].task_resource.pool_id must be that of \
             tasks[0] on this emulator: give all the same, or none)"
        )));
    }
    Ok(JobRequest {
        name: first.name.clone(),
        workspace_id: first.workspace_id.clone(),
        annotations: first.annotations.clone(),
        retry: first.retry,
        auto_stop_hours: match JsonField::root(&given).get("spec")? {
            Some(spec) => auto_stop(&spec)?,
            None => None,
        },
        pool_id: first.pool_id.clone(),
        node_count: roles.iter().map(|role| role.node_count).sum(),
        roles,
        body: given,
        ..JobRequest::default()
    })
}

/// Returns a role as spelled in names of environment variables: upper case, `_` instead of `-`.
pub(crate) fn role_variable(role: &str) -> String {
    role.to_uppercase().replace('-', "_")
}
