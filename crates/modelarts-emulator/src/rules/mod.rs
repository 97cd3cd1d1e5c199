//! The rules on a creation: first the table of fields, then the rules between them, in this
//! order. The first that is broken is the answer, with the service's own status and code; advice is
//! only logged.
//!
//! `openapi/SOURCES.md` has a row for each rule with what it rests on.

mod algorithm;
mod channels;
mod draft;
mod extras;
pub(crate) mod fields;
#[cfg(test)]
mod fields_tests;
mod ignored;
mod names;
mod place;
mod shape;
mod source;
mod storage;
mod tasks_and_models;
#[cfg(test)]
mod tests;
mod volumes;

pub(crate) use draft::{Draft, Terms, tuned};
pub(crate) use extras::Annotations;
pub(crate) use ignored::{
    HEADER as IGNORED, give_back, header as ignored_header, idle_start, ignored, ignored_of, known,
    visible, visible_of,
};
pub(crate) use names::is_name;
pub(crate) use shape::against;
pub(crate) use volumes::hides_platform;

use crate::error::ApiError;
use crate::roles;

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
    check: fn(&Draft<'_>) -> Result<(), ApiError>,
}

const fn rule(
    name: &'static str,
    basis: Basis,
    check: fn(&Draft<'_>) -> Result<(), ApiError>,
) -> Rule {
    Rule { name, basis, check }
}

/// All of them, in the order in which they are checked.
pub(crate) const RULES: &[Rule] = &[
    rule("kind-of-cloud", Must, extras::kind),
    rule("tasks-or-spec", Advice, extras::tasks_or_spec),
    rule("algorithm-required", Must, extras::algorithm),
    rule("spec-required", Must, extras::spec),
    rule("retries-in-range", Must, extras::retries),
    rule("annotation-switches", Advice, extras::switches),
    rule("hang-retry-needs-retries", Advice, extras::hang_retry),
    rule("job-template-known", Advice, extras::template),
    // ---- code ----
    rule("subscription-and-version", Must, source::subscription),
    rule("one-stored-algorithm", Advice, source::one_stored),
    rule("stored-algorithm-code", Advice, source::stored_code),
    rule("stored-algorithm-engine", Advice, source::stored_engine),
    rule("algorithm-exists", Refusal, source::stored),
    rule("job-fits-algorithm", Refusal, algorithm::fits),
    rule("data-fits-algorithm", Refusal, algorithm::data_fits),
    rule(
        "boot-file-needs-code-dir",
        Must,
        source::boot_file_needs_code_dir,
    ),
    rule("command-or-boot-file", Advice, source::command_or_boot_file),
    rule("image-and-command", Refusal, source::image_and_command),
    rule("boot-file-required", Must, source::boot_file),
    rule("command-one-line", Advice, source::one_line),
    rule("engine-for-boot-file", Must, source::engine_for_boot_file),
    rule("engine-name-and-version", Advice, source::engine_pair),
    rule(
        "engine-id-beside-image",
        Advice,
        source::engine_id_beside_image,
    ),
    rule(
        "image-without-registry",
        Advice,
        source::image_without_registry,
    ),
    rule(
        "engine-version-needs-name",
        Advice,
        source::engine_beside_image,
    ),
    rule("engine-exists", Refusal, source::engine_exists),
    rule("engine-not-retired", Refusal, source::engine_not_retired),
    rule("sys-packages-need-image", Advice, source::sys_packages),
    rule("obs-paths", Refusal, storage::paths),
    rule("boot-file-inside", Refusal, source::boot_file_inside),
    rule("boot-file-python", Must, source::boot_file_is_python),
    rule("local-code-dir", Refusal, source::local_code_dir),
    rule("local-code-dir-home", Advice, source::local_code_dir_home),
    rule("working-dir", Refusal, source::working_dir),
    rule("working-dir-plain", Advice, source::working_dir_plain),
    // ---- variables and hyper-parameters ----
    rule("variable-names", Must, extras::environments),
    rule("variable-references", Must, extras::no_references),
    rule(
        "parameter-names-different",
        Refusal,
        algorithm::different_names,
    ),
    rule("parameter-types", Refusal, algorithm::types),
    rule("parameter-ranges", Refusal, algorithm::ranges),
    rule("parameter-required", Refusal, algorithm::required),
    rule("parameter-typed", Refusal, algorithm::typed),
    rule("parameter-chosen", Refusal, algorithm::chosen),
    rule("parameter-in-range", Refusal, algorithm::in_range),
    rule("search-rewards", Advice, algorithm::search_indicators),
    rule("search-algorithms", Advice, algorithm::search_algorithms),
    rule("search-rewards-different", Refusal, algorithm::search),
    rule("search-engine", Advice, algorithm::search_engine),
    rule("search-bounds", Refusal, algorithm::search_bounds),
    rule("search-floats", Must, algorithm::search_floats),
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
    rule("flavor-or-pool", Must, place::somewhere),
    rule("pool-exists", Refusal, place::pool_exists),
    rule("pool-runs", Refusal, place::pool_runs),
    rule("pool-trains", Refusal, place::pool_trains),
    rule("flavor-of-pool", Refusal, place::flavor_of_pool),
    rule(
        "pool-flavor-needs-pool",
        Advice,
        place::pool_flavor_needs_pool,
    ),
    rule("flavor-exists", Refusal, place::flavor_exists),
    rule(
        "flavor-fits-algorithm",
        Refusal,
        place::flavor_fits_algorithm,
    ),
    rule("flavor-fits-engine", Refusal, place::flavor_fits_engine),
    rule("nodes-of-flavor", Refusal, place::nodes),
    rule("user-id-number", Must, place::user_is_number),
    rule("user-id-most", Must, place::user_at_most),
    rule("user-id-least", Refusal, place::user_at_least),
    rule("priority-most", Must, place::priority),
    rule("priority-needs-pool", Advice, place::priority_needs_pool),
    rule("priority-permission", Must, place::highest_priority),
    rule("affinity-group-size", Must, place::affinity),
    rule("condition-values", Must, place::conditions),
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
    rule("metrics-url-and-port", Must, extras::metrics),
    rule("metrics-one-form", Must, extras::metrics_in_one_form),
    rule("metrics-http-get", Must, extras::http_get),
    rule("notification-topic", Must, extras::notification_topic),
    rule("notification-events", Must, extras::notification_events),
    rule("ssh-key-pairs", Must, extras::key_pairs),
    rule("summary-log-dir", Must, extras::log_dir),
    rule("board-data-sources", Must, extras::data_sources),
    rule("search-config-yaml", Advice, extras::config_is_yaml),
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
pub(crate) fn check(draft: &Draft<'_>) -> Result<(), ApiError> {
    shape::check(draft.body)?;
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
    roles::check(draft)?;
    shape::refuse_unmodelled(draft.body)?;
    if draft.terms.strict {
        shape::refuse_fine_tuning(draft.body)?;
        ignored::refuse(draft.body)?;
    }
    Ok(())
}
