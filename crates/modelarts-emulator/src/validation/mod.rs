//! The rules on a creation: first the table of fields, then the rules between them, in this
//! order. The first that is broken is the answer, with the service's own status and code; advice is
//! only logged.
//!
//! `openapi/SOURCES.md` has a row for each rule with what it rests on.

pub(crate) mod annotations;
pub(crate) mod body_shape;
mod channels;
mod code;
pub(crate) mod creation;
pub(crate) mod fields;
pub(crate) mod names;
mod parameters;
mod resources;
pub(crate) mod roles;
mod storage;
#[cfg(test)]
mod tests;
pub(crate) mod volumes;

use std::collections::BTreeMap;

use crate::{api::error::ApiError, validation::creation::Creation};

/// The evidence for a rule, as `openapi/SOURCES.md` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The service was seen to refuse such jobs, or its list of codes names this cause.
    Refusal,
    /// A document says that it must be so.
    Must,
    /// Advice of a document, or what seems to follow from one: such jobs are taken.
    Advice,
}

use Basis::{Advice, Must, Refusal};

/// One rule between fields, or between a field and what the service has.
pub(crate) struct Rule {
    /// Its name in `openapi/SOURCES.md`, and in the client.
    pub(crate) name: &'static str,
    basis: Basis,
    check: fn(&Creation<'_>) -> Result<(), ApiError>,
}

const fn rule(
    name: &'static str,
    basis: Basis,
    check: fn(&Creation<'_>) -> Result<(), ApiError>,
) -> Rule {
    Rule { name, basis, check }
}

/// All of them, in the order in which they are checked.
pub(crate) const RULES: &[Rule] = &[
    rule("kind-of-cloud", Must, annotations::kind),
    rule("tasks-or-spec", Advice, annotations::tasks_or_spec),
    rule("algorithm-required", Must, annotations::algorithm),
    rule("spec-required", Must, annotations::spec),
    rule("retries-in-range", Must, annotations::retries),
    rule("annotation-switches", Advice, annotations::switches),
    rule("hang-retry-needs-retries", Advice, annotations::hang_retry),
    rule("job-template-known", Advice, annotations::template),
    // ---- code ----
    rule("subscription-and-version", Must, code::subscription),
    rule("one-stored-algorithm", Advice, code::one_stored),
    rule("stored-algorithm-code", Advice, code::stored_code),
    rule("stored-algorithm-engine", Advice, code::stored_engine),
    rule("algorithm-exists", Refusal, code::stored),
    rule("job-fits-algorithm", Refusal, parameters::fits),
    rule("data-fits-algorithm", Refusal, parameters::data_fits),
    rule(
        "boot-file-needs-code-dir",
        Must,
        code::boot_file_needs_code_dir,
    ),
    rule("command-or-boot-file", Advice, code::command_or_boot_file),
    rule("image-and-command", Refusal, code::image_and_command),
    rule("boot-file-required", Must, code::boot_file),
    rule("command-one-line", Advice, code::one_line),
    rule("engine-for-boot-file", Must, code::engine_for_boot_file),
    rule("engine-name-and-version", Advice, code::engine_pair),
    rule(
        "engine-id-beside-image",
        Advice,
        code::engine_id_beside_image,
    ),
    rule(
        "image-without-registry",
        Advice,
        code::image_without_registry,
    ),
    rule(
        "engine-version-needs-name",
        Advice,
        code::engine_beside_image,
    ),
    rule("engine-exists", Refusal, code::engine_exists),
    rule("engine-not-retired", Refusal, code::engine_not_retired),
    rule("sys-packages-need-image", Advice, code::sys_packages),
    rule("obs-paths", Refusal, storage::paths),
    rule("boot-file-inside", Refusal, code::boot_file_inside),
    rule("boot-file-python", Must, code::boot_file_is_python),
    rule("local-code-dir", Refusal, code::local_code_dir),
    rule("local-code-dir-home", Advice, code::local_code_dir_home),
    rule("working-dir", Refusal, code::working_dir),
    rule("working-dir-plain", Advice, code::working_dir_plain),
    // ---- variables and hyper-parameters ----
    rule("variable-names", Must, annotations::environments),
    rule("variable-references", Must, annotations::no_references),
    rule(
        "parameter-names-different",
        Refusal,
        parameters::different_names,
    ),
    rule("parameter-types", Refusal, parameters::types),
    rule("parameter-ranges", Refusal, parameters::ranges),
    rule("parameter-required", Refusal, parameters::required),
    rule("parameter-typed", Refusal, parameters::typed),
    rule("parameter-chosen", Refusal, parameters::chosen),
    rule("parameter-in-range", Refusal, parameters::in_range),
    rule("search-rewards", Advice, parameters::search_indicators),
    rule("search-algorithms", Advice, parameters::search_algorithms),
    rule("search-rewards-different", Refusal, parameters::search),
    rule("search-engine", Advice, parameters::search_engine),
    rule("search-bounds", Refusal, parameters::search_bounds),
    rule("search-floats", Must, parameters::search_floats),
    // ---- data ----
    rule("input-named", Must, channels::inputs_named),
    rule("channel-names-different", Advice, channels::different),
    rule(
        "channel-directories-different",
        Advice,
        channels::different_places,
    ),
    rule("hosted-once", Refusal, channels::hosted),
    rule("channel-kind", Refusal, channels::kind),
    rule("channel-one-source", Must, channels::one_place),
    rule("channel-variable-name", Advice, channels::variable),
    rule("constraint-attributes", Advice, channels::attributes),
    rule("tasks-read-from-obs", Must, channels::tasks_from_obs),
    rule("dataset-version", Advice, channels::dataset_version_named),
    rule("dataset-exists", Refusal, channels::dataset),
    rule("dataset-version-exists", Refusal, channels::dataset_version),
    // ---- resources ----
    rule("flavor-or-pool", Must, resources::somewhere),
    rule("pool-exists", Refusal, resources::pool_exists),
    rule("pool-runs", Refusal, resources::pool_runs),
    rule("pool-trains", Refusal, resources::pool_trains),
    rule("flavor-of-pool", Refusal, resources::flavor_of_pool),
    rule(
        "pool-flavor-needs-pool",
        Advice,
        resources::pool_flavor_needs_pool,
    ),
    rule("flavor-exists", Refusal, resources::flavor_exists),
    rule(
        "flavor-fits-algorithm",
        Refusal,
        resources::flavor_fits_algorithm,
    ),
    rule("flavor-fits-engine", Refusal, resources::flavor_fits_engine),
    rule("nodes-of-flavor", Refusal, resources::nodes),
    rule("user-id-number", Must, resources::user_is_number),
    rule("user-id-most", Must, resources::user_at_most),
    rule("user-id-least", Refusal, resources::user_at_least),
    rule("priority-most", Must, resources::priority),
    rule(
        "priority-needs-pool",
        Advice,
        resources::priority_needs_pool,
    ),
    rule("priority-permission", Must, resources::highest_priority),
    rule("affinity-group-size", Must, resources::affinity),
    rule("condition-values", Must, resources::conditions),
    // ---- volumes ----
    rule("volume-one-kind", Advice, volumes::one_kind),
    rule("volume-path", Must, volumes::path),
    rule("nfs-needs-pool", Must, volumes::nfs_needs_pool),
    rule("volumes-at-most-8", Must, volumes::at_most_8),
    rule("volume-once", Must, volumes::once),
    rule("volume-places-different", Must, volumes::different_places),
    rule("volume-default-mount", Must, volumes::default_mount),
    rule("volume-path-plain", Advice, volumes::path_plain),
    rule("volume-over-home", Advice, volumes::over_home),
    rule("volume-over-channel", Advice, volumes::over_channel),
    // ---- metrics, notifications, boards ----
    rule("metrics-url-and-port", Must, annotations::metrics),
    rule("metrics-one-form", Must, annotations::metrics_in_one_form),
    rule("metrics-http-get", Must, annotations::http_get),
    rule("notification-topic", Must, annotations::notification_topic),
    rule(
        "notification-events",
        Must,
        annotations::notification_events,
    ),
    rule("ssh-key-pairs", Must, annotations::key_pairs),
    rule("summary-log-dir", Must, annotations::log_dir),
    rule("board-data-sources", Must, annotations::data_sources),
    rule("search-config-yaml", Advice, annotations::config_is_yaml),
    // ---- objects in OBS ----
    rule("bucket-not-encrypted", Must, storage::not_encrypted),
    rule("code-dir-exists", Refusal, storage::code_dir_exists),
    rule("code-dir-files", Refusal, storage::code_dir_few_files),
    rule("code-dir-depth", Refusal, storage::code_dir_not_deep),
    rule("code-dir-size", Refusal, storage::code_dir_small),
    rule("boot-file-exists", Refusal, storage::boot_file_exists),
    rule("input-exists", Refusal, storage::inputs_exist),
];

/// The first broken rule, if there is one. Features that this emulator does not have come last: a
/// request that the service would refuse is refused as the service does it. Fine-tuning comes before
/// the rules, as those on code and data are not its own.
pub(crate) fn check(draft: &Creation<'_>) -> Result<(), ApiError> {
    body_shape::check(draft.body)?;
    for rule in RULES {
        match (rule.check)(draft) {
            Err(error) if rule.basis == Advice => {
                tracing::warn!(
                    rule = rule.name,
                    advice = error.message,
                    "taken all the same"
                );
            }
            Err(error) => {
                tracing::debug!(rule = rule.name, "broken");
                return Err(error);
            }
            Ok(()) => {}
        }
    }
    check_roles(draft)?;
    body_shape::refuse_unmodelled(draft.body)?;
    if draft.terms.strict {
        body_shape::refuse_fine_tuning(draft.body)?;
        fields::ignored::refuse(draft.body)?;
    }
    Ok(())
}

/// Holds each role against the rules for ordinary jobs.
fn check_roles(draft: &Creation<'_>) -> Result<(), ApiError> {
    let mut in_pools: BTreeMap<&str, i64> = BTreeMap::new();
    let roles = roles::bodies(draft.body);
    for (at, (task, body)) in roles.iter().enumerate() {
        let role = Creation { body, ..*draft };
        check(&role).map_err(|error| roles::of_task(error, at, task))?;
        if let Some(pool) = role.pool() {
            let asked = task["task_resource"]["node_count"].as_i64().unwrap_or(1);
            let nodes = in_pools.entry(&pool.id).or_default();
            *nodes = nodes.saturating_add(asked);
            if *nodes > i64::from(pool.nodes) {
                return Err(ApiError::too_many_nodes(*nodes, pool.nodes));
            }
        }
    }
    Ok(())
}
