//! Rules on flavor, pool, priority and node affinity.

use modelarts_api::request_path::{
    create_training_job::{
        KIND, SPEC, TASKS,
        spec::{
            resource::FLAVOR_ID,
            schedule_policy::{PRIORITY, preferred_affinity, required_affinity},
        },
    },
    job_resource, node_selector_requirement, node_selector_term, preferred_scheduling_term,
};

use crate::validation::{
    draft::{Draft, names_pool},
    json_path::{Fields, Located},
};

/// Prefix of flavors of dedicated pools; the rest of the name indicates the number of cards.
pub(crate) const POOL_FLAVOR_PREFIX: &str = "modelarts.pool.visual.";

pub(super) fn is_federated(job: Draft<'_>) -> bool {
    job.at(KIND).is("federated_pool_job")
}

pub(super) fn flavor_or_pool(job: Draft<'_>) -> Fields<'_> {
    let is_missing = job.has(SPEC) && !job.has(FLAVOR_ID) && !job.has_pool();
    let flavor = job.at(FLAVOR_ID);
    flavor.when(is_missing && !job.has(TASKS) && !is_federated(job))
}

/// Returns the flavors of the job and of its tasks that match both conditions: `of_pools` selects
/// by the prefix of the flavor, `in_pool` by the presence of a dedicated pool in the same
/// resources.
pub(super) fn flavors(job: Draft<'_>, of_pools: bool, in_pool: bool) -> Fields<'_> {
    let resources = job.resources();
    resources
        .filter(|resource| names_pool(resource) == in_pool)
        .at(job_resource::FLAVOR_ID)
        .texts(|flavor| flavor.starts_with(POOL_FLAVOR_PREFIX) == of_pools)
}

pub(super) fn priority(job: Draft<'_>, wrong: impl Fn(i64) -> bool) -> Fields<'_> {
    let priority = job.at(PRIORITY);
    let is_wrong = priority.integer().is_some_and(wrong);
    priority.when(is_wrong)
}

pub(super) fn affinity_group_size(job: Draft<'_>) -> Fields<'_> {
    let size = job.at(required_affinity::AFFINITY_GROUP_SIZE);
    let kind = job.at(required_affinity::AFFINITY_TYPE).text();
    let is_wrong = match size.integer() {
        Some(number) => number < 1,
        None => matches!(kind, Some("hyperinstance" | "networkTopology")),
    };
    size.when(is_wrong)
}

/// Returns all affinity conditions on nodes, both required and preferred.
fn conditions(job: Draft<'_>) -> Fields<'_> {
    let required = required_affinity::node_affinity::NODE_SELECTOR_TERMS;
    let preferred = job.at(preferred_affinity::NODE_AFFINITY).items();
    let terms: Fields<'_> = (job.at(required).items().into_iter())
        .chain(preferred.at(preferred_scheduling_term::PREFERENCE))
        .collect();
    let lists = [node_selector_term::MATCH_EXPRESSIONS, node_selector_term::MATCH_FIELDS];
    terms.at_all(&lists).items()
}

pub(super) fn condition_values(job: Draft<'_>) -> Fields<'_> {
    let is_wrong = |condition: &Located<'_>| {
        let values = condition.at(node_selector_requirement::VALUES).items();
        let values: Vec<_> = values.into_iter().collect();
        match condition.at(node_selector_requirement::OPERATOR).text() {
            Some("In" | "NotIn") => values.is_empty(),
            Some("Exists" | "DoesNotExist") => !values.is_empty(),
            Some("Gt" | "Lt") => match values.as_slice() {
                [only] => only.text().is_none_or(|text| text.parse::<i64>().is_err()),
                _ => true,
            },
            _ => false,
        }
    };
    let conditions = conditions(job).filter(is_wrong);
    conditions.at(node_selector_requirement::VALUES)
}
