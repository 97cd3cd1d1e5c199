//! Rules on flavor, pool, priority and placement.

use crate::validation::{
    draft::{Draft, names_pool},
    json_path::{Located, field_if},
};

const FLAVOR: &str = "spec.resource.flavor_id";
const PRIORITY: &str = "spec.schedule_policy.priority";

/// The prefix of flavors of dedicated pools; the rest of the name stands for the number of cards.
pub(crate) const POOL_FLAVOR_PREFIX: &str = "modelarts.pool.visual.";

pub(super) fn spec<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    field_if(!draft.has("spec") && !draft.has("tasks"), draft.at("spec"))
}

pub(super) fn flavor_or_pool<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let federated = draft.at("kind").is("federated_pool_job");
    let missing = draft.has("spec") && !draft.has(FLAVOR) && !draft.has_pool();
    let missing = missing && !draft.has("tasks") && !federated;
    field_if(missing, draft.at(FLAVOR))
}

/// The flavors of the job and of its tasks, selected by prefix (`of_pools`) and by the presence of
/// a dedicated pool beside them (`in_pool`).
fn flavors<'a>(draft: &Draft<'a>, of_pools: bool, in_pool: bool) -> Vec<Located<'a>> {
    let tasks = draft.at("tasks").items().into_iter();
    let resources = tasks.map(|task| task.at("task_resource"));
    let resources = std::iter::once(draft.at("spec.resource")).chain(resources);
    resources
        .filter(|resource| names_pool(resource) == in_pool)
        .map(|resource| resource.at("flavor_id"))
        .filter(|flavor| {
            let text = flavor.text();
            text.is_some_and(|flavor| flavor.starts_with(POOL_FLAVOR_PREFIX) == of_pools)
        })
        .collect()
}

pub(super) fn flavor_of_pool<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    flavors(draft, false, true)
}

pub(super) fn pool_flavor_needs_pool<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    flavors(draft, true, false)
}

pub(super) fn federation<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let group = draft.at("spec.resource.pool_group_id");
    field_if(
        draft.at("kind").is("federated_pool_job") && !group.is_given(),
        group,
    )
}

pub(super) fn priority_least<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let priority = draft.at(PRIORITY);
    field_if(
        priority.integer().is_some_and(|number| number < 0),
        priority,
    )
}

/// The Swagger file admits 0 (`openapi/SOURCES.md`, W), and no source states its meaning (D-68).
pub(super) fn priority_zero<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let priority = draft.at(PRIORITY);
    field_if(priority.integer() == Some(0), priority)
}

pub(super) fn priority_most<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let priority = draft.at(PRIORITY);
    field_if(
        priority.integer().is_some_and(|number| number > 3),
        priority,
    )
}

/// Priorities above the default outside dedicated pools.
pub(super) fn priority_needs_pool<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let priority = draft.at(PRIORITY);
    let above = priority
        .integer()
        .is_some_and(|number| (2..=3).contains(&number));
    field_if(above && !draft.has_pool(), priority)
}

pub(super) fn affinity_group_size<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let affinity = draft.at("spec.schedule_policy.required_affinity");
    let size = affinity.at("affinity_group_size");
    let needed = affinity
        .at("affinity_type")
        .text()
        .is_some_and(|kind| ["hyperinstance", "networkTopology"].contains(&kind));
    let wrong = match size.integer() {
        Some(number) => number < 1,
        None => needed,
    };
    field_if(wrong, size)
}

/// All conditions on nodes, required and preferred.
fn conditions<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let policy = draft.at("spec.schedule_policy");
    let required = policy
        .at("required_affinity.node_affinity.nodeSelectorTerms")
        .items();
    let preferred = policy.at("preferred_affinity.node_affinity").items();
    let preferred = preferred.iter().map(|term| term.at("preference"));
    required
        .into_iter()
        .chain(preferred)
        .flat_map(|term| ["matchExpressions", "matchFields"].map(|name| term.at(name)))
        .flat_map(|list| list.items())
        .collect()
}

pub(super) fn condition_values<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let wrong = |condition: &Located<'_>| {
        let values = condition.at("values").items();
        match condition.at("operator").text() {
            Some("In" | "NotIn") => values.is_empty(),
            Some("Exists" | "DoesNotExist") => !values.is_empty(),
            Some("Gt" | "Lt") => match values.as_slice() {
                [only] => only.text().is_none_or(|text| text.parse::<i64>().is_err()),
                _ => true,
            },
            _ => false,
        }
    };
    let conditions = conditions(draft).into_iter().filter(wrong);
    conditions.map(|condition| condition.at("values")).collect()
}
