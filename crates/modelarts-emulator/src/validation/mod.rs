//! Validation rules for create requests: first the table of fields, then the rules between fields.
//! The first violated rule determines the error. A violated rule that is only advice is logged.
//!
//! `openapi/SOURCES.md` contains a row for each rule with its evidence.

pub(crate) mod annotations;
pub(crate) mod body_shape;
mod channels;
mod code;
pub(crate) mod creation;
pub(crate) mod fields;
mod monitoring;
pub(crate) mod names;
mod parameters;
mod resources;
pub(crate) mod roles;
mod rule;
mod storage;
mod stored_algorithm;
#[cfg(test)]
mod tests;
pub(crate) mod volumes;

use std::collections::BTreeMap;

use crate::{
    api::error::ApiError,
    validation::{
        creation::Creation,
        rule::{Basis, Rule},
    },
};

fn rules() -> impl Iterator<Item = &'static Rule> {
    let subjects = [
        annotations::RULES,
        stored_algorithm::RULES,
        code::RULES,
        parameters::RULES,
        channels::RULES,
        resources::RULES,
        volumes::RULES,
        monitoring::RULES,
        storage::RULES,
    ];
    subjects.into_iter().flatten()
}

/// Validates a request. Missing features of the emulator are reported after errors of the service.
pub(crate) fn check(creation: &Creation<'_>) -> Result<(), ApiError> {
    body_shape::check(creation.body)?;
    for rule in rules() {
        let Some(error) = (rule.check)(creation) else {
            continue;
        };
        if rule.basis != Basis::Advice {
            tracing::debug!(rule = rule.name, "broken");
            return Err(error);
        }
        let advice = error.message;
        tracing::warn!(rule = rule.name, advice, "taken all the same");
    }
    check_roles(creation)?;
    body_shape::refuse_unmodelled(creation.body)?;
    if creation.offer.strict {
        body_shape::refuse_fine_tuning(creation.body)?;
        fields::ignored::refuse_ignored(creation.body)?;
    }
    Ok(())
}

/// Applies the rules for ordinary jobs to each role of a heterogeneous job.
fn check_roles(creation: &Creation<'_>) -> Result<(), ApiError> {
    let mut nodes_in_pools: BTreeMap<&str, i64> = BTreeMap::new();
    let roles = roles::role_bodies(creation.body);
    for (at, (task, body)) in roles.iter().enumerate() {
        let role = Creation { body, ..*creation };
        check(&role).map_err(|error| roles::rename_fields(error, at, task))?;
        if let Some(pool) = role.pool() {
            let requested = task["task_resource"]["node_count"].as_i64().unwrap_or(1);
            let nodes = nodes_in_pools.entry(&pool.id).or_default();
            *nodes = nodes.saturating_add(requested);
            if *nodes > i64::from(pool.nodes) {
                return Err(ApiError::too_many_nodes(*nodes, pool.nodes));
            }
        }
    }
    Ok(())
}
