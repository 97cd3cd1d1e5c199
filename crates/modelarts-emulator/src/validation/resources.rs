//! Validation rules for the resources of a job: pool, flavor, nodes, user, priority.

use std::num::ParseIntError;

use serde_json::Value;

use crate::{
    api::error::ApiError,
    catalog::{flavors, pools::PoolKind},
    validation::{
        creation::{Creation, list_of, text_of},
        rule::{Rule, advice, broken_if, must, refusal, refused_if},
    },
};

const POOL: &str = "/spec/resource/pool_id";
const FLAVOR: &str = "/spec/resource/flavor_id";
const NODES: &str = "/spec/resource/node_count";
const PRIORITY: &str = "/spec/schedule_policy/priority";
const AFFINITY: &str = "/spec/schedule_policy/required_affinity";

pub(super) const RULES: &[Rule] = &[
    must("flavor-or-pool", |job| {
        let placed = job.has_tasks() || job.has_pool() || job.has(FLAVOR);
        broken_if(
            job.at("/spec").is_some() && !placed,
            "spec.resource.flavor_id is required where there is no spec.resource.pool_id",
        )
    }),
    refusal("pool-exists", |job| {
        let id = job.text(POOL)?;
        job.pool().is_none().then(|| ApiError::of(2890, &[id]))
    }),
    refusal("pool-runs", |job| {
        let pool = job.pool()?;
        (!pool.running).then(|| ApiError::of(2887, &[&pool.id]))
    }),
    refusal("pool-trains", |job| {
        let pool = job.pool()?;
        (!pool.trains).then(|| ApiError::of(2886, &[&pool.id]))
    }),
    // GPU pools accept only pool flavors; CPU pools accept no flavor.
    refusal("flavor-of-pool", |job| {
        let flavor = job.flavor()?;
        let fits = match job.pool()?.kind {
            PoolKind::Cpu => false,
            PoolKind::Gpu => flavor.of_pools,
        };
        (!fits).then(|| ApiError::of(2781, &[flavor.id]))
    }),
    advice("pool-flavor-needs-pool", |job| {
        broken_if(
            job.flavor()?.of_pools && !job.has_pool(),
            "spec.resource.pool_id is required with a flavor of pools",
        )
    }),
    refusal("flavor-exists", |job| {
        let id = job.text(FLAVOR)?;
        job.flavor().is_none().then(|| ApiError::of(2781, &[id]))
    }),
    refusal("flavor-fits-algorithm", flavor_fits_algorithm),
    refusal("flavor-fits-engine", |job| {
        let unfit = !job.engine()?.runs_on(job.flavor()?.cards() > 0);
        refused_if(unfit && !job.has("/algorithm/engine/image_url"), 2840)
    }),
    refusal("nodes-of-flavor", |job| {
        let requested = job.at(NODES)?.as_i64()?;
        let maximum = match job.pool() {
            Some(pool) => pool.nodes,
            None => flavors::max_nodes(job.flavor()),
        };
        (requested > i64::from(maximum)).then(|| ApiError::too_many_nodes(requested, maximum))
    }),
    must("user-id-number", |job| {
        let error = || ApiError::of(2825, &["algorithm.engine.run_user"]);
        user_id(job)?.is_err().then(error)
    }),
    must("user-id-most", |job| {
        let error = || ApiError::of(2816, &["algorithm.engine.run_user", "65535"]);
        (user_id(job)?.ok()? > 65_535).then(error)
    }),
    refusal("user-id-least", |job| {
        let reserved = user_id(job)?.ok()? < 1000 && !job.has_pool();
        reserved.then(|| ApiError::of(2855, &["1000"]))
    }),
    must("priority-most", |job| priority_above(job, 3)),
    advice("priority-needs-pool", |job| priority_above(job, 1).filter(|_| !job.has_pool())),
    must("priority-permission", |job| {
        let refused = job.at(PRIORITY) == Some(&3.into()) && !job.may_prioritise;
        refused.then(|| ApiError::no_permission("modelarts:trainJob:setHighPriority"))
    }),
    // For a pool of supernodes, the service sets the size to 1 by default.
    must("affinity-group-size", |job| {
        let kind = job.text(&format!("{AFFINITY}/affinity_type"))?;
        let grouped = ["hyperinstance", "networkTopology"].contains(&kind);
        let sized = job.at(&format!("{AFFINITY}/affinity_group_size")).is_some();
        let supernode = job.pool().is_some_and(|pool| pool.supernode);
        broken_if(
            grouped && !sized && !supernode,
            format_args!(
                "spec.schedule_policy.required_affinity.affinity_group_size is required with {kind}"
            ),
        )
    }),
    must("condition-values", |job| {
        conditions(job).find_map(|condition| {
            let values = list_of(condition, "/values");
            let is_integer = |value: &Value| {
                let text = value.as_str().unwrap_or_default();
                text.parse::<i64>().is_ok()
            };
            let operator = text_of(condition, "/operator")?;
            let (fits, rule) = match operator {
                "In" | "NotIn" => (!values.is_empty(), "have values"),
                "Exists" | "DoesNotExist" => (values.is_empty(), "have no values"),
                "Gt" | "Lt" => {
                    (matches!(values, [one] if is_integer(one)), "have one value, an integer")
                }
                _ => return None,
            };
            broken_if(
                !fits,
                format_args!(
                    "spec.schedule_policy: a condition on nodes with {operator} must {rule}"
                ),
            )
        })
    }),
];

/// Returns an error if the flavor does not meet `resource_requirements` of a stored algorithm.
fn flavor_fits_algorithm(job: &Creation<'_>) -> Option<ApiError> {
    let (stored, flavor) = (job.stored?, job.flavor()?);
    let nodes = job.at(NODES).and_then(Value::as_i64).unwrap_or(1);
    let multiple = |more: bool| if more { "multiple" } else { "singular" };
    let unmet = |requirement: &Value| {
        let is = match text_of(requirement, "/key") {
            Some("flavor_type") => flavor.kind(),
            Some("device_distributed_mode") => multiple(flavor.cards() > 1),
            Some("host_distributed_mode") => multiple(nodes > 1),
            _ => return false,
        };
        let values = requirement.get("values").or_else(|| requirement.get("value"));
        let values = values.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // A mode that permits several nodes also permits a single node.
        let allows = |value: &str| {
            value.eq_ignore_ascii_case(is) || (is == "singular" && value == "multiple")
        };
        !values.is_empty() && !values.iter().filter_map(Value::as_str).any(allows)
    };
    refused_if(list_of(stored, "/resource_requirements").iter().any(unmet), 2763)
}

/// Returns the user id (only responses document it), or an error if it is not a number.
fn user_id(job: &Creation<'_>) -> Option<Result<u64, ParseIntError>> {
    match job.at("/algorithm/engine/run_user")? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.parse()),
        other => Some(other.to_string().parse()),
    }
}

fn priority_above(job: &Creation<'_>, highest: i64) -> Option<ApiError> {
    let more = job.at(PRIORITY)?.as_i64()? > highest;
    let values = ["spec.schedule_policy.priority", &highest.to_string()];
    more.then(|| ApiError::of(2816, &values))
}

/// Returns the required and the preferred conditions on nodes, in this order.
fn conditions<'a>(job: &Creation<'a>) -> impl Iterator<Item = &'a Value> + use<'a> {
    let required = job.list(&format!("{AFFINITY}/node_affinity/nodeSelectorTerms")).iter();
    let preferred = job.list("/spec/schedule_policy/preferred_affinity/node_affinity").iter();
    let terms = required.chain(preferred.filter_map(|wish| wish.get("preference")));
    terms.flat_map(|term| {
        let lists = ["/matchExpressions", "/matchFields"].into_iter();
        lists.flat_map(move |list| list_of(term, list))
    })
}
