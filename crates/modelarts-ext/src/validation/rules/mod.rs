//! Rules between fields, and rules on single fields that the description does not state.
//!
//! `rules.yaml` contains the texts of each rule, `CONDITIONS` its condition, and
//! `openapi/SOURCES.md` the evidence. Rules without a condition depend on a response or on files.

mod channels;
mod code;
mod command;
mod features;
pub(crate) mod parameters;
pub(crate) mod resources;
mod shell;
#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeMap, sync::LazyLock};

use modelarts_api::request_path::{
    create_training_job::{
        ALGORITHM, KIND, SPEC, TASKS,
        algorithm::{self, policies::auto_search},
        endpoints,
        spec::{self, notification, resource},
    },
    input,
    job_algorithm::{BOOT_FILE, CODE_DIR, WORKING_DIR},
    job_engine::{ENGINE_ID, IMAGE_URL},
    reward_attribute, volume,
};

use crate::validation::{
    draft::Draft,
    json_path::Fields,
    obs_path::{is_absolute_plain_path, is_name},
    report::{Report, Rule},
};

pub(crate) static RULES: LazyLock<BTreeMap<String, Rule>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("rules.yaml")).unwrap_or_default());

/// Rule for a key that is missing in `rules.yaml`. A test ensures that there is no such key.
static UNKNOWN: LazyLock<Rule> = LazyLock::new(Rule::default);

pub(crate) fn rule(key: &'static str) -> &'static Rule {
    RULES.get(key).unwrap_or(&UNKNOWN)
}

pub(crate) fn check(job: Draft<'_>, report: &mut Report) {
    for (key, broken_fields) in CONDITIONS {
        for field in broken_fields(job) {
            report.add_in_words_of(rule(key), field.path(), job.actual(&field));
        }
    }
}

type Condition = for<'a> fn(Draft<'a>) -> Fields<'a>;

/// Rules with their conditions, which return the invalid fields, in the order of the report.
const CONDITIONS: &[(&str, Condition)] = &[
    ("kind-of-cloud", |job| job.at(KIND).when_text(|kind| !job.cloud.job_kinds().contains(&kind))),
    ("tasks-or-spec", |job| job.at(TASKS).when(job.has(TASKS) && job.has(SPEC))),
    ("retries-in-range", features::retries),
    ("annotation-switches", features::switches),
    ("hang-retry-needs-retries", features::hang_retry),
    ("job-template-known", features::template),
    ("algorithm-required", |job| job.at(ALGORITHM).when(job.runs_code() && !job.has(ALGORITHM))),
    ("subscription-and-version", |job| {
        job.root().missing_of([algorithm::SUBSCRIPTION_ID, algorithm::ITEM_VERSION_ID])
    }),
    ("one-stored-algorithm", |job| {
        job.at(algorithm::SUBSCRIPTION_ID).when(job.has(algorithm::ID)).given()
    }),
    ("stored-algorithm-code", |job| {
        code::first_beside_stored(job, [algorithm::CODE_DIR, algorithm::BOOT_FILE])
    }),
    ("stored-algorithm-engine", |job| {
        code::first_beside_stored(job, [algorithm::COMMAND, algorithm::ENGINE])
    }),
    ("boot-file-needs-code-dir", |job| {
        job.programs().filter(|program| program.has(BOOT_FILE)).at(CODE_DIR).missing()
    }),
    ("boot-file-required", code::boot_file),
    ("command-or-boot-file", code::boot_or_command),
    ("image-and-command", code::image_and_command),
    ("command-one-line", |job| {
        job.at(algorithm::COMMAND).when_text(|text| text.contains(['\n', '\r']))
    }),
    ("command-not-wrapped", command::wrapped),
    ("command-ends-in-program", command::followed),
    ("command-offline", command::downloads),
    ("code-folder-named", command::code_folder),
    ("engine-for-boot-file", code::engine),
    ("engine-name-and-version", code::engine_pair),
    ("engine-version-needs-name", code::engine_beside_image),
    ("engine-id-beside-image", |job| {
        code::engines(job).filter(|engine| engine.has(IMAGE_URL)).at(ENGINE_ID).given()
    }),
    ("image-without-registry", code::image_without_registry),
    ("sys-packages-need-image", code::sys_packages),
    ("boot-file-inside", code::boot_file_inside),
    ("boot-file-python", |job| job.programs().at(BOOT_FILE).texts(|path| !path.ends_with(".py"))),
    ("user-id-number", |job| code::users(job, |id| id.is_none())),
    ("user-id-most", |job| code::users(job, |id| id.is_some_and(|id| id > 65_535))),
    ("user-id-least", |job| {
        code::users(job, |id| id.is_some_and(|id| id < 1000) && !job.has_pool())
    }),
    ("local-code-dir", code::local_code_dir),
    ("local-code-dir-home", |job| code::local_code_dirs(job, |path| path == "/home")),
    ("working-dir", |job| job.programs().at(WORKING_DIR).texts(|path| !path.starts_with('/'))),
    ("working-dir-plain", code::working_dir_plain),
    ("search-config-yaml", code::search_config),
    ("variable-names", features::variable_names),
    ("variable-references", features::references),
    ("variable-of-service", command::variables_of_service),
    ("parameter-names", parameters::names),
    ("parameter-names-different", parameters::repeated_names),
    ("parameter-ranges", parameters::ranges),
    ("parameter-required", parameters::required_values),
    ("parameter-typed", |job| parameters::values(job, parameters::admits_type)),
    ("parameter-chosen", |job| parameters::values(job, parameters::admits_choice)),
    ("parameter-in-range", |job| parameters::values(job, parameters::admits_number)),
    ("parameter-plain", command::special_values),
    ("argument-once", command::given_twice),
    ("search-rewards", parameters::rewards),
    ("search-rewards-different", |job| {
        job.at(auto_search::REWARD_ATTRS).items().at(reward_attribute::NAME).repeated()
    }),
    ("search-bounds", parameters::search_bounds),
    ("search-floats", parameters::search_floats),
    ("search-algorithms", parameters::search_algorithms),
    ("search-engine", parameters::search_engine),
    ("input-named", channels::input_names),
    ("channel-names", |job| job.channels().at(input::NAME).texts(|name| !is_name(name))),
    ("channel-names-different", channels::repeated_names),
    ("channel-directories-different", channels::repeated_directories),
    ("channel-local-directory", |job| {
        job.channels().at(input::LOCAL_DIR).texts(|path| !is_absolute_plain_path(path))
    }),
    ("channel-variable-name", channels::variable_names),
    ("channel-one-source", channels::sources),
    ("dataset-version", channels::dataset_version),
    ("tasks-read-from-obs", channels::task_datasets),
    ("obs-paths", channels::obs_paths),
    ("spec-required", |job| job.at(SPEC).when(!job.has(SPEC) && !job.has(TASKS))),
    ("flavor-or-pool", resources::flavor_or_pool),
    ("flavor-of-pool", |job| resources::flavors(job, false, true)),
    ("pool-flavor-needs-pool", |job| resources::flavors(job, true, false)),
    ("federation-named", |job| {
        job.at(resource::POOL_GROUP_ID).when(resources::is_federated(job)).missing()
    }),
    ("priority-least", |job| resources::priority(job, |number| number < 0)),
    ("priority-zero", |job| resources::priority(job, |number| number == 0)),
    ("priority-most", |job| resources::priority(job, |number| number > 3)),
    ("priority-needs-pool", |job| {
        resources::priority(job, |number| matches!(number, 2 | 3) && !job.has_pool())
    }),
    ("affinity-group-size", resources::affinity_group_size),
    ("condition-values", resources::condition_values),
    ("volume-one-kind", resources::kinds),
    ("volume-path", resources::sources),
    ("nfs-needs-pool", |job| {
        resources::volumes(job).at(volume::NFS).present().filter(|_| !job.has_pool())
    }),
    ("volumes-at-most-8", |job| resources::volumes(job).into_iter().skip(8).collect()),
    ("volume-once", resources::repeated_file_systems),
    ("volume-server-once", resources::repeated_servers),
    ("volume-places-different", |job| resources::local_paths(job).repeated_paths()),
    ("volume-default-mount", |job| {
        resources::local_paths_where(job, |path| resources::DEFAULT_MOUNTS.contains(&path))
    }),
    ("volume-path-plain", |job| {
        resources::local_paths_where(job, |path| !is_absolute_plain_path(path))
    }),
    ("volume-over-home", |job| {
        resources::local_paths_where(job, |path| resources::PLATFORM_DIRS.contains(&path))
    }),
    ("volume-over-channel", resources::over_channel),
    ("metrics-url-and-port", features::metrics_url),
    ("metrics-one-form", features::metrics_form),
    ("metrics-http-get", features::http_get),
    ("notification-topic", |job| {
        features::required_with(job, spec::NOTIFICATION, notification::TOPIC_URN)
    }),
    ("notification-events", |job| {
        features::required_with(job, spec::NOTIFICATION, notification::EVENTS)
    }),
    ("ssh-key-pairs", |job| {
        features::required_with(job, endpoints::SSH, endpoints::ssh::KEY_PAIR_NAMES)
    }),
    ("summary-log-dir", features::log_dir),
    ("board-data-sources", features::data_sources),
];
