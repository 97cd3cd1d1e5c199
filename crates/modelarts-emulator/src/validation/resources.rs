//! Rules on the resources of a job: pool, flavor, nodes, user, priority.

use serde_json::Value;

use crate::{
    api::error::ApiError,
    catalog::{flavors, pools::PoolKind},
    validation::creation::{Creation, text_of},
};

const POOL: &str = "/spec/resource/pool_id";
const FLAVOR: &str = "/spec/resource/flavor_id";
const PRIORITY: &str = "/spec/schedule_policy/priority";

pub(super) fn flavor_or_pool(creation: &Creation<'_>) -> Result<(), ApiError> {
    let placed = creation.has_tasks() || creation.has_pool() || creation.has(FLAVOR);
    if creation.at("/spec").is_some() && !placed {
        return Err(ApiError::invalid_parameter(
            "spec.resource.flavor_id is required where there is no spec.resource.pool_id",
        ));
    }
    Ok(())
}

pub(super) fn pool_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text(POOL) {
        Some(id) if creation.pool().is_none() => Err(ApiError::of(2890, &[id])),
        _ => Ok(()),
    }
}

pub(super) fn pool_runs(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.pool() {
        Some(pool) if !pool.running => Err(ApiError::of(2887, &[&pool.id])),
        _ => Ok(()),
    }
}

pub(super) fn pool_trains(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.pool() {
        Some(pool) if !pool.trains => Err(ApiError::of(2886, &[&pool.id])),
        _ => Ok(()),
    }
}

/// GPU pools take flavors of pools only, CPU pools none.
pub(super) fn flavor_of_pool(creation: &Creation<'_>) -> Result<(), ApiError> {
    let Some(flavor) = creation.flavor() else {
        return Ok(());
    };
    let fits = match creation.pool().map(|pool| pool.kind) {
        Some(PoolKind::Cpu) => false,
        Some(PoolKind::Gpu) => flavor.of_pools,
        None => true,
    };
    match creation.text(FLAVOR) {
        Some(id) if !fits => Err(ApiError::of(2781, &[id])),
        _ => Ok(()),
    }
}

pub(super) fn pool_flavor_needs_pool(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.flavor().is_some_and(|flavor| flavor.of_pools) && !creation.has_pool() {
        return Err(ApiError::invalid_parameter(
            "spec.resource.pool_id is required with a flavor of pools",
        ));
    }
    Ok(())
}

pub(super) fn flavor_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text(FLAVOR) {
        Some(id) if creation.flavor().is_none() => Err(ApiError::of(2781, &[id])),
        _ => Ok(()),
    }
}

/// The flavor meets `resource_requirements` of a stored algorithm.
pub(super) fn flavor_fits_algorithm(creation: &Creation<'_>) -> Result<(), ApiError> {
    let (Some(stored), Some(flavor)) = (creation.stored, creation.flavor()) else {
        return Ok(());
    };
    let nodes = creation
        .at("/spec/resource/node_count")
        .and_then(Value::as_i64);
    let multiple = |more: bool| if more { "multiple" } else { "singular" };
    let requirements = stored
        .get("resource_requirements")
        .and_then(Value::as_array);
    for requirement in requirements.into_iter().flatten() {
        let is = match requirement.get("key").and_then(Value::as_str) {
            Some("flavor_type") => flavor.kind(),
            Some("device_distributed_mode") => multiple(flavor.cards() > 1),
            Some("host_distributed_mode") => multiple(nodes.unwrap_or(1) > 1),
            _ => continue,
        };
        let values = requirement
            .get("values")
            .or_else(|| requirement.get("value"))
            .and_then(Value::as_array);
        // A mode that allows several nodes allows one as well.
        let allowed = values.is_none_or(|values| {
            values.is_empty()
                || values.iter().filter_map(Value::as_str).any(|value| {
                    value.eq_ignore_ascii_case(is) || (is == "singular" && value == "multiple")
                })
        });
        if !allowed {
            return Err(ApiError::of(2763, &[]));
        }
    }
    Ok(())
}

pub(super) fn flavor_fits_engine(creation: &Creation<'_>) -> Result<(), ApiError> {
    match (creation.flavor(), creation.engine()) {
        (Some(flavor), Some(engine))
            if !creation.has("/algorithm/engine/image_url")
                && !engine.runs_on(flavor.cards() > 0) =>
        {
            Err(ApiError::of(2840, &[]))
        }
        _ => Ok(()),
    }
}

pub(super) fn nodes_of_flavor(creation: &Creation<'_>) -> Result<(), ApiError> {
    let Some(asked) = creation
        .at("/spec/resource/node_count")
        .and_then(Value::as_i64)
    else {
        return Ok(());
    };
    let maximum = match creation.pool() {
        Some(pool) => pool.nodes,
        None => flavors::max_nodes(creation.flavor()),
    };
    if asked > i64::from(maximum) {
        return Err(ApiError::too_many_nodes(asked, maximum));
    }
    Ok(())
}

/// `engine.run_user`: requests have no documented field for the user id (SOURCES O, S, F3);
/// responses have this one.
fn run_user(creation: &Creation<'_>) -> Option<Result<u64, String>> {
    let value = creation.at("/algorithm/engine/run_user")?;
    let text = match value {
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(text.parse().map_err(|_| text))
}

pub(super) fn user_id_number(creation: &Creation<'_>) -> Result<(), ApiError> {
    match run_user(creation) {
        Some(Err(_)) => Err(ApiError::of(2825, &["algorithm.engine.run_user"])),
        _ => Ok(()),
    }
}

pub(super) fn user_id_most(creation: &Creation<'_>) -> Result<(), ApiError> {
    match run_user(creation) {
        Some(Ok(id)) if id > 65_535 => {
            Err(ApiError::of(2816, &["algorithm.engine.run_user", "65535"]))
        }
        _ => Ok(()),
    }
}

pub(super) fn user_id_least(creation: &Creation<'_>) -> Result<(), ApiError> {
    match run_user(creation) {
        Some(Ok(id)) if id < 1000 && !creation.has_pool() => Err(ApiError::of(2855, &["1000"])),
        _ => Ok(()),
    }
}

fn priority_at_most(creation: &Creation<'_>, highest: i64) -> Result<(), ApiError> {
    match creation.at(PRIORITY).and_then(Value::as_i64) {
        Some(asked) if asked > highest => Err(ApiError::of(
            2816,
            &["spec.schedule_policy.priority", &highest.to_string()],
        )),
        _ => Ok(()),
    }
}

pub(super) fn priority_most(creation: &Creation<'_>) -> Result<(), ApiError> {
    priority_at_most(creation, 3)
}

pub(super) fn priority_needs_pool(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.has_pool() {
        true => Ok(()),
        false => priority_at_most(creation, 1),
    }
}

pub(super) fn priority_permission(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.at(PRIORITY) == Some(&3.into()) && !creation.may_prioritise {
        return Err(ApiError::no_permission(
            "modelarts:trainJob:setHighPriority",
        ));
    }
    Ok(())
}

/// `affinity_group_size` is set where the affinity needs it. On a pool of supernodes the service
/// sets it to 1 by default.
pub(crate) fn affinity_group_size(creation: &Creation<'_>) -> Result<(), ApiError> {
    let affinity = "/spec/schedule_policy/required_affinity";
    let kind = creation.text(&format!("{affinity}/affinity_type"));
    let grouped = kind.filter(|kind| ["hyperinstance", "networkTopology"].contains(kind));
    let size = creation.at(&format!("{affinity}/affinity_group_size"));
    let supernode = creation.pool().is_some_and(|pool| pool.supernode);
    match grouped {
        Some(kind) if size.is_none() && !supernode => Err(ApiError::invalid_parameter(format!(
            "spec.schedule_policy.required_affinity.affinity_group_size is required with {kind}"
        ))),
        _ => Ok(()),
    }
}

/// The required and the preferred conditions on nodes.
fn terms<'a>(creation: &Creation<'a>) -> impl Iterator<Item = &'a Value> + use<'a> {
    let policy = "/spec/schedule_policy";
    let required = format!("{policy}/required_affinity/node_affinity/nodeSelectorTerms");
    let preferred = format!("{policy}/preferred_affinity/node_affinity");
    let required = creation.list(&required).iter();
    let preferred = creation.list(&preferred).iter();
    required.chain(preferred.filter_map(|wish| wish.get("preference")))
}

pub(super) fn condition_values(creation: &Creation<'_>) -> Result<(), ApiError> {
    let lists = terms(creation)
        .flat_map(|term| ["matchExpressions", "matchFields"].map(|name| term.get(name)))
        .flatten();
    for condition in lists.filter_map(Value::as_array).flatten() {
        let values = condition.get("values").and_then(Value::as_array);
        let values = values.map_or(&[][..], Vec::as_slice);
        let operator = text_of(condition, "/operator").unwrap_or_default();
        let (fits, what) = match operator {
            "In" | "NotIn" => (!values.is_empty(), "have values"),
            "Exists" | "DoesNotExist" => (values.is_empty(), "have no values"),
            "Gt" | "Lt" => {
                let number = |value: &Value| value.as_str()?.parse::<i64>().ok();
                let one = values.len() == 1 && values.iter().all(|value| number(value).is_some());
                (one, "have one value, an integer")
            }
            _ => (true, ""),
        };
        if !fits {
            return Err(ApiError::invalid_parameter(format!(
                "spec.schedule_policy: a condition on nodes with {operator} must {what}"
            )));
        }
    }
    Ok(())
}
