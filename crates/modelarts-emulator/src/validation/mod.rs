//! The rules on a creation.
//!
//! First the table of fields is checked ([`fields`], with [`body_shape`]), then the rules between
//! fields, in the order of [`RULES`]. The first broken rule determines the response, with the
//! service's own status and code; advice is only logged. Each rule takes a [`creation`], the body
//! with the service's offer. [`roles`] converts the roles of a heterogeneous job to ordinary jobs.
//!
//! `openapi/SOURCES.md` has a row for each rule with its evidence.

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

/// The evidence for a rule, as given in `openapi/SOURCES.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The service refuses such jobs, as observed or by its list of codes.
    Refusal,
    /// A document requires it.
    Must,
    /// A document advises it, or it seems to follow from one: such jobs are accepted.
    Advice,
}

use Basis::{Advice, Must, Refusal};

/// A rule between fields, or between a field and the offer of the service.
pub(crate) struct Rule {
    /// Its name in `openapi/SOURCES.md` and in the client.
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

/// All rules, in the order in which they are checked.
pub(crate) const RULES: &[Rule] = &[
    rule("kind-of-cloud", Must, annotations::kind_of_cloud),
    rule("tasks-or-spec", Advice, annotations::tasks_or_spec),
    rule("algorithm-required", Must, annotations::algorithm_required),
    rule("spec-required", Must, annotations::spec_required),
    rule("retries-in-range", Must, annotations::retries_in_range),
    rule(
        "annotation-switches",
        Advice,
        annotations::annotation_switches,
    ),
    rule(
        "hang-retry-needs-retries",
        Advice,
        annotations::hang_retry_needs_retries,
    ),
    rule(
        "job-template-known",
        Advice,
        annotations::job_template_known,
    ),
    // ---- code ----
    rule(
        "subscription-and-version",
        Must,
        code::subscription_and_version,
    ),
    rule("one-stored-algorithm", Advice, code::one_stored_algorithm),
    rule("stored-algorithm-code", Advice, code::stored_algorithm_code),
    rule(
        "stored-algorithm-engine",
        Advice,
        code::stored_algorithm_engine,
    ),
    rule("algorithm-exists", Refusal, code::algorithm_exists),
    rule(
        "job-fits-algorithm",
        Refusal,
        parameters::job_fits_algorithm,
    ),
    rule(
        "data-fits-algorithm",
        Refusal,
        parameters::data_fits_algorithm,
    ),
    rule(
        "boot-file-needs-code-dir",
        Must,
        code::boot_file_needs_code_dir,
    ),
    rule("command-or-boot-file", Advice, code::command_or_boot_file),
    rule("image-and-command", Refusal, code::image_and_command),
    rule("boot-file-required", Must, code::boot_file_required),
    rule("command-one-line", Advice, code::command_one_line),
    rule("engine-for-boot-file", Must, code::engine_for_boot_file),
    rule(
        "engine-name-and-version",
        Advice,
        code::engine_name_and_version,
    ),
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
        code::engine_version_needs_name,
    ),
    rule("engine-exists", Refusal, code::engine_exists),
    rule("engine-not-retired", Refusal, code::engine_not_retired),
    rule(
        "sys-packages-need-image",
        Advice,
        code::sys_packages_need_image,
    ),
    rule("obs-paths", Refusal, storage::obs_paths),
    rule("boot-file-inside", Refusal, code::boot_file_inside),
    rule("boot-file-python", Must, code::boot_file_python),
    rule("local-code-dir", Refusal, code::local_code_dir),
    rule("local-code-dir-home", Advice, code::local_code_dir_home),
    rule("working-dir", Refusal, code::working_dir),
    rule("working-dir-plain", Advice, code::working_dir_plain),
    // ---- variables and hyper-parameters ----
    rule("variable-names", Must, annotations::variable_names),
    rule(
        "variable-references",
        Must,
        annotations::variable_references,
    ),
    rule(
        "parameter-names-different",
        Refusal,
        parameters::parameter_names_different,
    ),
    rule("parameter-types", Refusal, parameters::parameter_types),
    rule("parameter-ranges", Refusal, parameters::parameter_ranges),
    rule(
        "parameter-required",
        Refusal,
        parameters::parameter_required,
    ),
    rule("parameter-typed", Refusal, parameters::parameter_typed),
    rule("parameter-chosen", Refusal, parameters::parameter_chosen),
    rule(
        "parameter-in-range",
        Refusal,
        parameters::parameter_in_range,
    ),
    rule("search-rewards", Advice, parameters::search_rewards),
    rule("search-algorithms", Advice, parameters::search_algorithms),
    rule(
        "search-rewards-different",
        Refusal,
        parameters::search_rewards_different,
    ),
    rule("search-engine", Advice, parameters::search_engine),
    rule("search-bounds", Refusal, parameters::search_bounds),
    rule("search-floats", Must, parameters::search_floats),
    // ---- data ----
    rule("input-named", Must, channels::input_named),
    rule(
        "channel-names-different",
        Advice,
        channels::channel_names_different,
    ),
    rule(
        "channel-directories-different",
        Advice,
        channels::channel_directories_different,
    ),
    rule("hosted-once", Refusal, channels::hosted_once),
    rule("channel-kind", Refusal, channels::channel_kind),
    rule("channel-one-source", Must, channels::channel_one_source),
    rule(
        "channel-variable-name",
        Advice,
        channels::channel_variable_name,
    ),
    rule(
        "constraint-attributes",
        Advice,
        channels::constraint_attributes,
    ),
    rule("tasks-read-from-obs", Must, channels::tasks_read_from_obs),
    rule("dataset-version", Advice, channels::dataset_version),
    rule("dataset-exists", Refusal, channels::dataset_exists),
    rule(
        "dataset-version-exists",
        Refusal,
        channels::dataset_version_exists,
    ),
    // ---- resources ----
    rule("flavor-or-pool", Must, resources::flavor_or_pool),
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
    rule("nodes-of-flavor", Refusal, resources::nodes_of_flavor),
    rule("user-id-number", Must, resources::user_id_number),
    rule("user-id-most", Must, resources::user_id_most),
    rule("user-id-least", Refusal, resources::user_id_least),
    rule("priority-most", Must, resources::priority_most),
    rule(
        "priority-needs-pool",
        Advice,
        resources::priority_needs_pool,
    ),
    rule("priority-permission", Must, resources::priority_permission),
    rule("affinity-group-size", Must, resources::affinity_group_size),
    rule("condition-values", Must, resources::condition_values),
    // ---- volumes ----
    rule("volume-one-kind", Advice, volumes::volume_one_kind),
    rule("volume-path", Must, volumes::volume_path),
    rule("nfs-needs-pool", Must, volumes::nfs_needs_pool),
    rule("volumes-at-most-8", Must, volumes::volumes_at_most_8),
    rule("volume-once", Must, volumes::volume_once),
    rule(
        "volume-places-different",
        Must,
        volumes::volume_places_different,
    ),
    rule("volume-default-mount", Must, volumes::volume_default_mount),
    rule("volume-path-plain", Advice, volumes::volume_path_plain),
    rule("volume-over-home", Advice, volumes::volume_over_home),
    rule("volume-over-channel", Advice, volumes::volume_over_channel),
    // ---- metrics, notifications, boards ----
    rule(
        "metrics-url-and-port",
        Must,
        annotations::metrics_url_and_port,
    ),
    rule("metrics-one-form", Must, annotations::metrics_one_form),
    rule("metrics-http-get", Must, annotations::metrics_http_get),
    rule("notification-topic", Must, annotations::notification_topic),
    rule(
        "notification-events",
        Must,
        annotations::notification_events,
    ),
    rule("ssh-key-pairs", Must, annotations::ssh_key_pairs),
    rule("summary-log-dir", Must, annotations::summary_log_dir),
    rule("board-data-sources", Must, annotations::board_data_sources),
    rule(
        "search-config-yaml",
        Advice,
        annotations::search_config_yaml,
    ),
    // ---- objects in OBS ----
    rule("bucket-not-encrypted", Must, storage::bucket_not_encrypted),
    rule("code-dir-exists", Refusal, storage::code_dir_exists),
    rule("code-dir-files", Refusal, storage::code_dir_files),
    rule("code-dir-depth", Refusal, storage::code_dir_depth),
    rule("code-dir-size", Refusal, storage::code_dir_size),
    rule("boot-file-exists", Refusal, storage::boot_file_exists),
    rule("input-exists", Refusal, storage::input_exists),
];

/// Returns the error of the first broken rule. Features that the emulator lacks are checked last,
/// so that a request that the service would refuse is refused with its error. Fine-tuning is
/// checked before the rules, because those on code and data do not apply to it.
pub(crate) fn check(creation: &Creation<'_>) -> Result<(), ApiError> {
    body_shape::check(creation.body)?;
    for rule in RULES {
        match (rule.check)(creation) {
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
    check_roles(creation)?;
    body_shape::refuse_unmodelled(creation.body)?;
    if creation.offer.strict {
        body_shape::refuse_fine_tuning(creation.body)?;
        fields::ignored::refuse_ignored(creation.body)?;
    }
    Ok(())
}

/// Checks each role with the rules for ordinary jobs.
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
