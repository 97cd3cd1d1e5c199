//! What a creation must fulfil: first the table of fields, then the rules between them, in this
//! order. The first that is broken is the answer, with the service's own status and code.
//!
//! Sources: domain.md section 6, the rules under Table B and the limits of Table C of checklist.md.

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
#[cfg(test)]
mod tests;
mod unmodelled;

pub(crate) use draft::{Draft, Terms};
pub(crate) use extras::Annotations;
pub(crate) use ignored::{HEADER as IGNORED, give_back, header as ignored_header, ignored};
pub(crate) use names::is_name;
pub(crate) use shape::against;

use crate::error::ApiError;

/// One rule between fields, or between a field and what the service has.
pub(crate) struct Rule {
    /// What must be so.
    pub(crate) says: &'static str,
    check: fn(&Draft<'_>) -> Result<(), ApiError>,
}

const fn rule(says: &'static str, check: fn(&Draft<'_>) -> Result<(), ApiError>) -> Rule {
    Rule { says, check }
}

/// All of them, in the order in which they are looked at.
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    rule("kind is a kind of job of this cloud", extras::kind),
    rule("tasks stand in the place of algorithm and spec", extras::tasks),
    rule("the number of retries is 1 to 3 (Huawei Cloud: 128)", extras::retries),
    rule("annotations that switch say true or false", extras::switches),
    rule("hang-retry needs job-retry-num", extras::hang_retry),
    rule("a job template is one of two", extras::template),

    rule("subscription_id and item_version_id come together", source::subscription),
    rule("with id or subscription_id there is no code_dir, boot_file, engine or command", source::one),
    rule("a stored algorithm exists", source::stored),
    rule("a job's settings fit its stored algorithm", algorithm::fits),
    rule("boot_file needs code_dir", source::boot_file_needs_code_dir),
    rule("command and boot_file exclude each other", source::command_or_boot_file),
    rule("a command needs an image, an image a command or a boot_file", source::image_and_command),
    rule("without an image there is a boot_file", source::boot_file),
    rule("a command is one line", source::one_line),
    rule("a boot_file needs an engine: id, or name and version, or image", source::engine_complete),
    rule("an engine_id stands alone", source::engine_named_once),
    rule("an engine_version beside an image needs a name", source::engine_beside_image),
    rule("a preset engine exists", source::engine_exists),
    rule("a preset engine is not retired", source::engine_not_retired),
    rule("install_sys_packages needs engine_name, engine_version and image_url", source::sys_packages),
    rule("OBS paths can be read, and lead nowhere else", storage::paths),
    rule("boot_file lies in code_dir", source::boot_file_inside),
    rule("boot_file ends in .py", source::boot_file_is_python),
    rule("local_code_dir lies below /home, and not where the service keeps things", source::local_code_dir),
    rule("working_dir is a directory", source::working_dir),

    rule("environment variables have names", extras::environments),
    rule("values of environment variables refer to no others", extras::no_references),
    rule("parameters have different names", algorithm::different_names),
    rule("constraints have a documented type", algorithm::types),
    rule("a choice or a range has values, a range two in order", algorithm::ranges),
    rule("a required parameter has a value", algorithm::required),
    rule("a parameter's value is of its type", algorithm::typed),
    rule("a text is one of its choices", algorithm::chosen),
    rule("a number lies in its range", algorithm::in_range),
    rule("hyper-parameter search has an indicator", algorithm::search_indicators),
    rule("hyper-parameter search has a known algorithm and different indicators", algorithm::search),
    rule("hyper-parameter search runs on its two engines", algorithm::search_engine),
    rule("searched parameters are numbers with bounds", algorithm::search_params),

    rule("inputs, and outputs, have different names and directories", channels::different),
    rule("only one output is hosted", channels::hosted),
    rule("a channel's data is of a known kind", channels::kind),
    rule("a channel has exactly one place", channels::one_place),
    rule("a channel handed over as a variable has the name of one", channels::variable),
    rule("constraints on an input know three attributes", channels::attributes),
    rule("tasks read from OBS", channels::tasks_from_obs),
    rule("a data set's version is named", channels::dataset_version_named),
    rule("a data set exists", channels::dataset),
    rule("a data set's version exists", channels::dataset_version),

    rule("there is a flavor or a pool", place::somewhere),
    rule("the pool exists", place::pool_exists),
    rule("the pool is running", place::pool_runs),
    rule("the pool is for training", place::pool_trains),
    rule("the flavor exists, and is one for this pool", place::flavor_exists),
    rule("the flavor fits the algorithm", place::flavor_fits_algorithm),
    rule("the flavor fits the engine", place::flavor_fits_engine),
    rule("no more nodes than the flavor allows", place::nodes),
    rule("the user id is a number", place::user_is_number),
    rule("the user id is 65535 at most", place::user_at_most),
    rule("the user id is 1000 at least outside of pools", place::user_at_least),
    rule("the priority is 3 at most, 1 outside of pools", place::priority),
    rule("the priority 3 needs a permission", place::highest_priority),
    rule("hyperinstance and networkTopology need affinity_group_size", place::affinity),
    rule("conditions on nodes have the values that they compare with", place::conditions),

    rule("a volume is one of nfs, pfs and obs", storage::one_kind),
    rule("nfs needs a pool", storage::nfs_needs_pool),
    rule("at most 8 nfs volumes", storage::few_nfs),
    rule("a file system is mounted once", storage::once),
    rule("volumes are mounted at different places", storage::different_places),
    rule("volumes are not mounted over the service's directories", storage::free_places),

    rule("custom metrics have URL and port, or neither", extras::metrics),
    rule("custom metrics come in one form", extras::metrics_in_one_form),
    rule("log_dir is there when log_type is", extras::log_dir),
    rule("data_sources are there when a board is enabled", extras::data_sources),
    rule("autosearch_config_path is a YAML file", extras::config_is_yaml),

    rule("buckets are not encrypted", storage::not_encrypted),
    rule("code_dir is there", storage::code_dir_exists),
    rule("code_dir has at most 1,000 files and directories", storage::code_dir_few_files),
    rule("code_dir is at most 32 directories deep", storage::code_dir_not_deep),
    rule("code_dir has at most 5 GB", storage::code_dir_small),
    rule("boot_file is there", storage::boot_file_exists),
];

/// The first broken rule, if there is one. Features that this emulator does not have come last: a
/// request that the service would refuse is refused as the service does it. Fine-tuning comes before
/// the rules, as those on code and data are not its own.
pub(crate) fn check(draft: &Draft<'_>) -> Result<(), ApiError> {
    shape::check(draft.body)?;
    shape::refuse_fine_tuning(draft.body)?;
    for rule in RULES {
        (rule.check)(draft).inspect_err(|_| tracing::debug!(rule = rule.says, "broken"))?;
    }
    shape::refuse_unmodelled(draft.body)?;
    if draft.terms.strict {
        ignored::refuse(draft.body)?;
    }
    storage::servers(draft)
}
