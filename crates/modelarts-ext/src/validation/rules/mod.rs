//! Table of rules: the rules between fields, and rules on single fields that the description does
//! not state.
//!
//! `openapi/SOURCES.md` contains a row for each rule with its evidence.

mod annotations;
mod channels;
mod code;
mod command;
pub(crate) mod external_facts;
mod names;
pub(crate) mod parameters;
pub(crate) mod resources;
mod services;
mod shell;
mod volumes;

use modelarts_api::request_path::{
    create_training_job::{
        ALGORITHM, KIND, SPEC, TASKS,
        algorithm::{self, engine, inputs, outputs, policies::auto_search, summary},
        endpoints, metadata,
        spec::{self, custom_metrics, notification, resource, schedule_policy},
        tasks,
    },
    input,
    job_algorithm::{BOOT_FILE, CODE_DIR, WORKING_DIR},
    job_engine::{ENGINE_ID, IMAGE_URL},
    reward_attribute, volume,
};

use crate::validation::{
    draft::Draft,
    json_path::Fields,
    report::{
        Basis::{self, Advice, Must, Refusal},
        Report,
    },
    rules::names::{is_absolute_plain_path, is_name},
};

/// Rule on the request body of a job creation.
pub(crate) struct Rule {
    /// The name of the rule in `openapi/SOURCES.md` and in the emulator.
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests of the table"))]
    name: &'static str,
    /// General names of the fields that the rule concerns.
    #[cfg_attr(not(test), expect(dead_code, reason = "for CREATING.md"))]
    pub(crate) on: &'static [&'static str],
    /// Requirement: "must …", or "should …" for advice. The requirement names its subject if a
    /// field of `on` would be ambiguous.
    pub(crate) requirement: &'static str,
    basis: Basis,
    /// Correction for a job that violates the rule.
    advice: &'static str,
    /// Returns the fields that violate the rule.
    broken_fields: for<'a> fn(Draft<'a>) -> Fields<'a>,
}

const fn rule(
    name: &'static str,
    on: &'static [&'static str],
    requirement: &'static str,
    basis: Basis,
    advice: &'static str,
    broken_fields: for<'a> fn(Draft<'a>) -> Fields<'a>,
) -> Rule {
    Rule {
        name,
        on,
        requirement,
        basis,
        advice,
        broken_fields,
    }
}

/// Adds all violated rules to the report.
pub(crate) fn check(job: Draft<'_>, report: &mut Report) {
    for rule in RULES {
        for field in (rule.broken_fields)(job) {
            let actual = job.actual(&field);
            report.add_value(
                rule.basis,
                field.path(),
                actual,
                rule.requirement,
                rule.advice,
            );
        }
    }
}

// Reasons why a violated rule yields only a warning.
const ACCEPTED_BY_SERVICE: &str =
    "the documents advise against it; the service is known to accept it";
const NOT_NEEDED: &str = "the documents leave it out; the service accepts it";
const NO_KNOWN_JOB: &str = "the documents leave it out; no accepted job with it is known";
const OWN_READING: &str =
    "the error code of the service has a general text that does not name this cause";
const NO_REFUSAL_DOCUMENTED: &str = "no document says that the service refuses it";
const LIVE_RUN: &str = "a job on the live service received its arguments so";
const REFUSAL_UNCLEAR: &str = "the service refused it once, perhaps for another cause";

const SCRIPT_AS_COMMAND: &str = "put the steps into a script in the code directory that passes \"$@\" to the program, and make bash with its full path the command";

const INVALID: &str = "ModelArts.2788";
const TYPE: &str = "ModelArts.2825";
const RANGE: &str = "ModelArts.2816";
const IMAGE: &str = "ModelArts.2806";
const OBS: &str = "ModelArts.2791";

const LOCAL_PATHS: &[&str] = &[
    spec::volumes::nfs::LOCAL_PATH,
    spec::volumes::pfs::LOCAL_PATH,
    spec::volumes::obs::LOCAL_PATH,
];

/// All rules, in the order of the report. A condition of one expression is written in the row of
/// its rule; a longer condition is a function in the module of its subject.
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    // Whole job.
    rule("kind-of-cloud", &[KIND], "must be a kind of job that the cloud has: job or visualization_job; on Huawei Cloud also federated_pool_job, edge_job, hetero_job, mrs_job, autosearch_job and diag_job", Must(INVALID), "use job",
        |job| job.at(KIND).when_text(|kind| !job.cloud.job_kinds().contains(&kind))),
    rule("tasks-or-spec", &[TASKS, SPEC], "tasks and spec should not be given together", Advice(NO_REFUSAL_DOCUMENTED), "leave one out",
        |job| job.at(TASKS).when(job.has(TASKS) && job.has(SPEC))),
    rule("retries-in-range", &[metadata::annotations::ENTRY], "the number of retries must be 1 to 3, on Huawei Cloud 1 to 128", Must(INVALID), "set a number in this range, or leave auto restart out", annotations::retries),
    rule("annotation-switches", &[metadata::annotations::ENTRY], "a switch should be true or false", Advice(NO_REFUSAL_DOCUMENTED), "write \"true\" or \"false\"", annotations::switches),
    rule("hang-retry-needs-retries", &[metadata::annotations::ENTRY], "a number of retries should be given with hang-retry", Advice(NO_REFUSAL_DOCUMENTED), "set auto restart too", annotations::hang_retry),
    rule("job-template-known", &[metadata::annotations::ENTRY], "job_template should be Template RL or Template DL", Advice(NO_REFUSAL_DOCUMENTED), "leave it out unless the job is heterogeneous", annotations::template),

    // Code and engine.
    rule("algorithm-required", &[ALGORITHM], "must be given, unless the job has tasks, tunes a model or only shows logs", Must(INVALID), "give an algorithm by id or by subscription, code directory and boot file, or an image and its command",
        |job| job.at(ALGORITHM).when(job.runs_code() && !job.has(ALGORITHM))),
    rule("subscription-and-version", &[algorithm::SUBSCRIPTION_ID, algorithm::ITEM_VERSION_ID], "subscription_id and item_version_id must be given together", Must(INVALID), "give both",
        |job| job.root().missing_of([algorithm::SUBSCRIPTION_ID, algorithm::ITEM_VERSION_ID])),
    rule("one-stored-algorithm", &[algorithm::ID, algorithm::SUBSCRIPTION_ID], "id and subscription_id should not be given together", Advice(NO_REFUSAL_DOCUMENTED), "give either the id of an algorithm or a subscription",
        |job| job.at(algorithm::SUBSCRIPTION_ID).when(job.has(algorithm::ID)).given()),
    rule("stored-algorithm-code", &[algorithm::CODE_DIR, algorithm::BOOT_FILE], "should not be given with a stored algorithm, which has its own code directory and boot file", Advice(NOT_NEEDED), "leave both out unless they are to replace those of the algorithm",
        |job| code::first_beside_stored(job, [algorithm::CODE_DIR, algorithm::BOOT_FILE])),
    rule("stored-algorithm-engine", &[algorithm::COMMAND, algorithm::ENGINE], "should not be given with a stored algorithm, which has its own command and engine", Advice(NO_KNOWN_JOB), "leave both out unless they are to replace those of the algorithm",
        |job| code::first_beside_stored(job, [algorithm::COMMAND, algorithm::ENGINE])),
    rule("boot-file-needs-code-dir", &[algorithm::CODE_DIR], "must be given with a boot file", Must(INVALID), "give the directory that holds the boot file",
        |job| job.programs().filter(|program| program.has(BOOT_FILE)).at(CODE_DIR).missing()),
    rule("boot-file-required", &[algorithm::BOOT_FILE], "must be given, unless the job has a command", Must(INVALID), "name the script to start", code::boot_file),
    rule("command-or-boot-file", &[algorithm::COMMAND], "should not be given together with a boot file", Advice(NO_REFUSAL_DOCUMENTED), "leave one out: a boot file is for a preset image, a command for a custom image", code::boot_or_command),
    rule("image-and-command", &[algorithm::COMMAND, engine::IMAGE_URL], "image_url and command must be given together", Refusal(IMAGE), "give both, or name the engine of a preset image", code::image_and_command),
    rule("command-one-line", &[algorithm::COMMAND], "should be one line", Advice(ACCEPTED_BY_SERVICE), "join commands with ; or &&, or put them into a script",
        |job| job.at(algorithm::COMMAND).when_text(|text| text.contains(['\n', '\r']))),
    rule("command-not-wrapped", &[algorithm::COMMAND], "should not be wrapped in bash -c or sh -c with hyper-parameters or channels, which are appended to its text and become arguments of that shell", Advice(LIVE_RUN), SCRIPT_AS_COMMAND, command::wrapped),
    rule("command-ends-in-program", &[algorithm::COMMAND], "should end in the only program that it runs with hyper-parameters or channels, which are appended to its text: what precedes the last operator (&&, ||, ;, |, &) or line does not receive them", Advice(LIVE_RUN), SCRIPT_AS_COMMAND, command::followed),
    rule("command-offline", &[algorithm::COMMAND], "should not install or download from the internet, which training containers do not reach", Advice("a user of the public pool reports it; no document states it"), "put packages into the image or the code directory, and models and data into OBS as inputs", command::downloads),
    rule("code-folder-named", &[algorithm::COMMAND, algorithm::WORKING_DIR, algorithm::environments::ENTRY, algorithm::parameters::VALUE], "the folder of the code should be spelled like the last segment of code_dir, which the service keeps letter by letter", Advice("a job on the live service found its code there"), "correct the path below ${MA_JOB_DIR} or local_code_dir", command::code_folder),
    rule("engine-for-boot-file", &[algorithm::ENGINE], "must name the engine of the boot file, by id, by name and version, or by image", Must(INVALID), "name the engine that runs the boot file", code::engine),
    rule("engine-name-and-version", &[engine::ENGINE_NAME, engine::ENGINE_VERSION], "engine_name and engine_version should be given together", Advice(NO_REFUSAL_DOCUMENTED), "give both", code::engine_pair),
    rule("engine-version-needs-name", &[engine::ENGINE_NAME], "engine_name should be given with engine_version beside an image", Advice(NO_REFUSAL_DOCUMENTED), "give both or neither", code::engine_beside_image),
    rule("engine-id-beside-image", &[engine::ENGINE_ID], "engine_id should not be given with image_url", Advice(REFUSAL_UNCLEAR), "leave it out",
        |job| code::engines(job).filter(|engine| engine.has(IMAGE_URL)).at(ENGINE_ID).given()),
    rule("image-without-registry", &[engine::IMAGE_URL], "should be organization/name:tag, without a registry", Advice(REFUSAL_UNCLEAR), "leave the registry out", code::image_without_registry),
    rule("sys-packages-need-image", &[engine::INSTALL_SYS_PACKAGES], "should be given only with engine_name, engine_version and image_url", Advice(NO_REFUSAL_DOCUMENTED), "give all three, or leave it out", code::sys_packages),
    rule("boot-file-inside", &[algorithm::BOOT_FILE], "must lie in the code directory", Refusal("ModelArts.2792"), "move the boot file, or name the directory that holds it", code::boot_file_inside),
    rule("boot-file-python", &[algorithm::BOOT_FILE], "must end in .py", Must("ModelArts.2758"), "start a Python file; other programs need an image and a command",
        |job| job.programs().at(BOOT_FILE).texts(|path| !path.ends_with(".py"))),
    rule("user-id-number", &[engine::RUN_USER], "must be a number", Must(TYPE), "write it in digits",
        |job| code::users(job, |id| id.is_none())),
    rule("user-id-most", &[engine::RUN_USER], "must be at most 65535", Must(RANGE), "choose a smaller id; 1000 is the default",
        |job| code::users(job, |id| id.is_some_and(|id| id > 65_535))),
    rule("user-id-least", &[engine::RUN_USER], "must be at least 1000 in the public pool", Refusal("ModelArts.2855"), "choose a larger id, or run in a dedicated pool",
        |job| code::users(job, |id| id.is_some_and(|id| id < 1000) && !job.has_pool())),
    rule("local-code-dir", &[algorithm::LOCAL_CODE_DIR], "must be a path in /home, without . and .., that the cloud does not reserve", Refusal("ModelArts.2857"), "choose another directory below /home", code::local_code_dir),
    rule("local-code-dir-home", &[algorithm::LOCAL_CODE_DIR], "should lie below /home", Advice(NO_REFUSAL_DOCUMENTED), "choose a directory in /home",
        |job| code::local_code_dirs(job, |path| path == "/home")),
    rule("working-dir", &[algorithm::WORKING_DIR], "must be an absolute path", Refusal("ModelArts.2859"), "begin it with /",
        |job| job.programs().at(WORKING_DIR).texts(|path| !path.starts_with('/'))),
    rule("working-dir-plain", &[algorithm::WORKING_DIR], "should have no . or .. in its path", Advice(OWN_READING), "write the path without them", code::working_dir_plain),
    rule("search-config-yaml", &[algorithm::AUTOSEARCH_CONFIG_PATH], "should be a YAML file", Advice(NO_REFUSAL_DOCUMENTED), "name a .yaml file", code::search_config),

    // Variables and hyper-parameters.
    rule("variable-names", &[algorithm::environments::ENTRY], "a name must be up to 8192 letters, digits and _, without a digit at the start", Must(INVALID), "rename the variable", annotations::variable_names),
    rule("variable-references", &[algorithm::environments::ENTRY], "a value must not refer to another variable with $", Must(INVALID), "write the value itself; the service does not expand it", annotations::references),
    rule("variable-of-service", &[algorithm::environments::ENTRY], "MA_CODE_DIR should not be set: the service sets it to the folder of the code", Advice("a user of the service reports it; no document names the variable"), "leave it out, or rename the variable", command::variables_of_service),
    rule("parameter-names", &[algorithm::parameters::NAME], "the name must be 1 to 64 letters, digits, _ and -", Must(INVALID), "rename the hyper-parameter", parameters::names),
    rule("parameter-names-different", &[algorithm::parameters::NAME], "the name must differ from those of other hyper-parameters", Refusal("ModelArts.2767"), "leave one out", parameters::repeated_names),
    rule("parameter-ranges", &[algorithm::parameters::constraint::VALID_RANGE], "must list the values of a Choice, or the lower and the upper end of a Range", Refusal("ModelArts.2770"), "correct the range", parameters::ranges),
    rule("parameter-required", &[algorithm::parameters::VALUE], "the value of a required hyper-parameter must be given", Refusal("ModelArts.2766"), "give it a value", parameters::required_values),
    rule("parameter-typed", &[algorithm::parameters::VALUE], "the value must be of the type of the hyper-parameter", Refusal("ModelArts.2768"), "correct the value",
        |job| parameters::values(job, parameters::admits_type)),
    rule("parameter-chosen", &[algorithm::parameters::VALUE], "the value must be one of the choices", Refusal("ModelArts.2765"), "choose one of them",
        |job| parameters::values(job, parameters::admits_choice)),
    rule("parameter-in-range", &[algorithm::parameters::VALUE], "the value must lie in the range", Refusal("ModelArts.2769"), "choose a value in the range",
        |job| parameters::values(job, parameters::admits_number)),
    rule("parameter-plain", &[algorithm::parameters::VALUE], "the value should have no blanks, quotes and other special characters of a shell with a command, to whose text it is appended", Advice("how the service quotes such values is not known"), "write it without them, or put it into a file in the code directory", command::special_values),
    rule("argument-once", &[algorithm::parameters::NAME, inputs::NAME, outputs::NAME], "the name should not occur as an argument in the command: the program receives both", Advice(LIVE_RUN), "leave it out of the command", command::given_twice),
    rule("search-rewards", &[auto_search::REWARD_ATTRS], "a search should have metrics with name, mode and regex", Advice(NO_REFUSAL_DOCUMENTED), "name the metric to improve, and the regex that finds it in the log", parameters::rewards),
    rule("search-rewards-different", &[auto_search::reward_attrs::NAME], "must differ from the names of the other metrics", Refusal("ModelArts.2824"), "leave one out",
        |job| job.at(auto_search::REWARD_ATTRS).items().at(reward_attribute::NAME).repeated()),
    rule("search-bounds", &[auto_search::search_params::ELEMENT], "must have two numbers in order as bounds, or a list of values", Refusal("ModelArts.2826"), "give lower_bound and upper_bound, or discrete_values", parameters::search_bounds),
    rule("search-floats", &[auto_search::search_params::NAME], "must be a hyper-parameter of type Float", Must("ModelArts.2826"), "leave it out of the search, or make it a Float", parameters::search_floats),
    rule("search-algorithms", &[auto_search::algo_configs::NAME], "should be one of bayes_opt_search, tpe_search and anneal_search", Advice(NO_REFUSAL_DOCUMENTED), "choose one of them", parameters::search_algorithms),
    rule("search-engine", &[algorithm::policies::AUTO_SEARCH], "should be pytorch_1.8.0 or tensorflow_2.1.0 for a search", Advice("the guide of Open Telekom Cloud names these two"), "choose one of these engines", parameters::search_engine),

    // Data.
    rule("input-named", &[inputs::NAME], "must be given, unless the job tunes a model", Must(INVALID), "name the input", channels::input_names),
    rule("channel-names", &[inputs::NAME, outputs::NAME], "must be 1 to 64 letters, digits, _ and -", Must(INVALID), "rename the channel",
        |job| job.channels().at(input::NAME).texts(|name| !is_name(name))),
    rule("channel-names-different", &[inputs::NAME, outputs::NAME], "should be unique among the inputs, or among the outputs", Advice(OWN_READING), "rename one", channels::repeated_names),
    rule("channel-directories-different", &[inputs::LOCAL_DIR, outputs::LOCAL_DIR], "should differ from the local directories of other channels", Advice("they would share one directory"), "choose another, or let the service choose", channels::repeated_directories),
    rule("channel-local-directory", &[inputs::LOCAL_DIR, outputs::LOCAL_DIR], "should be an absolute path without . and ..", Advice(NO_REFUSAL_DOCUMENTED), "begin it with /, and write it without . and ..",
        |job| job.channels().at(input::LOCAL_DIR).texts(|path| !is_absolute_plain_path(path))),
    rule("channel-variable-name", &[inputs::NAME, outputs::NAME], "should be the name of a variable where access_method is env", Advice(NO_REFUSAL_DOCUMENTED), "use letters, digits and _, without a digit at the start, or pass the channel as a parameter", channels::variable_names),
    rule("channel-one-source", &[inputs::REMOTE], "must have exactly one source, OBS or a data set", Must(INVALID), "give one of the two", channels::sources),
    rule("dataset-version", &[inputs::remote::dataset::VERSION_ID], "version_id should be given, unless service_type is V3", Advice("the documents disagree"), "give the version", channels::dataset_version),
    rule("tasks-read-from-obs", &[tasks::algorithm::inputs::remote::DATASET], "must not be given for a task of a heterogeneous job", Must(INVALID), "give an OBS path", channels::task_datasets),
    rule("obs-paths", &[algorithm::CODE_DIR, algorithm::BOOT_FILE, inputs::remote::obs::OBS_URL, outputs::remote::obs::OBS_URL, summary::log_dir::pfs::PFS_PATH, spec::log_export_path::OBS_URL, spec::volumes::pfs::PFS_PATH, spec::volumes::obs::OBS_PATH, spec::output_model::obs::OBS_PATH], "must be an OBS path, obs://bucket/path or /bucket/path, without . and ..", Refusal(OBS), "write it in full, such as obs://bucket/directory/ (for a boot file obs://bucket/directory/train.py)", channels::obs_paths),

    // Resources, scheduling and volumes.
    rule("spec-required", &[SPEC], "must be given, unless the job has tasks", Must(INVALID), "give a flavor or a pool",
        |job| job.at(SPEC).when(!job.has(SPEC) && !job.has(TASKS))),
    rule("flavor-or-pool", &[resource::FLAVOR_ID, resource::POOL_ID], "flavor_id or pool_id must be given", Must(INVALID), "give a flavor of the public pool, or a dedicated pool", resources::flavor_or_pool),
    rule("flavor-of-pool", &[resource::FLAVOR_ID], "must begin with modelarts.pool.visual. in a dedicated pool, such as modelarts.pool.visual.xlarge", Refusal("ModelArts.2781"), "choose a flavor of the pool, or leave it out for a pool of CPU nodes",
        |job| resources::flavors(job, false, true)),
    rule("pool-flavor-needs-pool", &[resource::FLAVOR_ID], "should begin with modelarts.pool.visual. only in a dedicated pool", Advice(NO_REFUSAL_DOCUMENTED), "name the pool, or choose a flavor of the public pool",
        |job| resources::flavors(job, true, false)),
    rule("federation-named", &[resource::POOL_GROUP_ID], "must be given for a federated_pool_job", Must(INVALID), "name the federation of pools",
        |job| job.at(resource::POOL_GROUP_ID).when(resources::is_federated(job)).missing()),
    rule("priority-least", &[schedule_policy::PRIORITY], "must be at least 0", Must(INVALID), "choose 1, 2 or 3",
        |job| resources::priority(job, |number| number < 0)),
    // The Swagger file admits 0 (`openapi/SOURCES.md`, W), but no source states its meaning (D-68).
    rule("priority-zero", &[schedule_policy::PRIORITY], "should be at least 1", Advice("the published schema admits 0, the guide does not"), "choose 1, 2 or 3",
        |job| resources::priority(job, |number| number == 0)),
    rule("priority-most", &[schedule_policy::PRIORITY], "must be at most 3", Must(RANGE), "choose 1, 2 or 3",
        |job| resources::priority(job, |number| number > 3)),
    rule("priority-needs-pool", &[schedule_policy::PRIORITY], "should be above 1 only in a dedicated pool", Advice("documented for dedicated pools only; no refusal elsewhere is known"), "leave it out, or run in a dedicated pool",
        |job| resources::priority(job, |number| matches!(number, 2 | 3) && !job.has_pool())),
    rule("affinity-group-size", &[schedule_policy::required_affinity::AFFINITY_GROUP_SIZE], "must be at least 1, and must be given for hyperinstance and networkTopology", Must(INVALID), "give the number of tasks that stay together", resources::affinity_group_size),
    rule("condition-values", &[schedule_policy::required_affinity::NODE_AFFINITY], "must hold values for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt", Must(INVALID), "correct the values", resources::condition_values),
    rule("volume-one-kind", &[spec::volumes::ELEMENT], "should have exactly one of nfs, pfs and obs", Advice(NO_REFUSAL_DOCUMENTED), "give each volume one of them", volumes::kinds),
    rule("volume-path", &[spec::volumes::pfs::PFS_PATH, spec::volumes::obs::OBS_PATH], "a volume of OBS must have a path or a local_path", Must(INVALID), "give the path in OBS and the local_path that it is mounted at", volumes::sources),
    rule("nfs-needs-pool", &[spec::volumes::NFS], "SFS Turbo must be mounted in a dedicated pool only", Must(INVALID), "run in a dedicated pool",
        |job| volumes::volumes(job).at(volume::NFS).present().filter(|_| !job.has_pool())),
    // In the user guide, volumes are called disks (`openapi/SOURCES.md`, F3).
    rule("volumes-at-most-8", &[spec::VOLUMES], "a job must have at most 8 volumes", Must(INVALID), "mount fewer",
        |job| volumes::volumes(job).into_iter().skip(8).collect()),
    rule("volume-once", &[spec::volumes::nfs::NFS_SERVER_PATH, spec::volumes::pfs::PFS_PATH], "a file system must not be mounted twice", Must(INVALID), "leave one out", volumes::repeated_file_systems),
    rule("volume-server-once", &[spec::volumes::nfs::NFS_SERVER_PATH], "should not name the server of another volume", Advice("the guide mounts a file system only once and to one path; no refusal of two directories is known"), "mount a directory that contains both", volumes::repeated_servers),
    rule("volume-places-different", LOCAL_PATHS, "local_path must differ from those of other volumes", Must(INVALID), "choose another path",
        |job| volumes::local_paths(job).repeated_paths()),
    rule("volume-default-mount", LOCAL_PATHS, "local_path must not be a default mount of the platform: /, /cache or /home/ma-user/modelarts", Must(INVALID), "choose another path, such as /mnt/data",
        |job| volumes::local_paths_where(job, |path| volumes::DEFAULT_MOUNTS.contains(&path))),
    rule("volume-path-plain", LOCAL_PATHS, "local_path should be an absolute path without . and ..", Advice(NO_REFUSAL_DOCUMENTED), "begin it with /, such as /mnt/data",
        |job| volumes::local_paths_where(job, |path| !is_absolute_plain_path(path))),
    rule("volume-over-home", LOCAL_PATHS, "local_path should not hide a directory of the platform below /home", Advice(NO_REFUSAL_DOCUMENTED), "choose another path, such as /mnt/data",
        |job| volumes::local_paths_where(job, |path| volumes::PLATFORM_DIRS.contains(&path))),
    rule("volume-over-channel", LOCAL_PATHS, "local_path should not be the directory of an input or output", Advice(NO_REFUSAL_DOCUMENTED), "choose another path, such as /mnt/data", volumes::over_channel),

    // Metrics, notifications, SSH and visualisation.
    rule("metrics-url-and-port", &[custom_metrics::ELEMENT], "metrics_url and metrics_port must be given together", Must(INVALID), "give both", services::metrics_url),
    rule("metrics-one-form", &[custom_metrics::ELEMENT], "must have exactly one form: metrics_url and metrics_port, exec, or http_get", Must(INVALID), "give one of them", services::metrics_form),
    rule("metrics-http-get", &[custom_metrics::HTTP_GET], "http_get must have path and port", Must(INVALID), "give both", services::http_get),
    rule("notification-topic", &[notification::TOPIC_URN], "must be given with notifications", Must(INVALID), "name the topic that they are sent to",
        |job| services::required_with(job, spec::NOTIFICATION, notification::TOPIC_URN)),
    rule("notification-events", &[notification::EVENTS], "must be given with notifications", Must(INVALID), "name the events to send",
        |job| services::required_with(job, spec::NOTIFICATION, notification::EVENTS)),
    rule("ssh-key-pairs", &[endpoints::ssh::KEY_PAIR_NAMES], "must be given for access by SSH", Must(INVALID), "name a key pair",
        |job| services::required_with(job, endpoints::SSH, endpoints::ssh::KEY_PAIR_NAMES)),
    rule("summary-log-dir", &[summary::LOG_DIR], "must be given with log_type", Must(INVALID), "give the directory of the logs", services::log_dir),
    rule("board-data-sources", &[summary::DATA_SOURCES], "must be given for TensorBoard and MindStudio Insight", Must(INVALID), "name the jobs or directories whose logs are shown", services::data_sources),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::validation::rules::external_facts::FACTS;

    /// Returns the name of the basis as spelled in `openapi/SOURCES.md`.
    fn word(basis: Basis) -> &'static str {
        match basis {
            Refusal(_) => "refusal",
            Must(_) => "must",
            Advice(_) => "advice",
        }
    }

    #[test]
    fn a_violation_says_must_and_advice_says_should() {
        for rule in RULES {
            let word = match rule.basis {
                Refusal(_) | Must(_) => "must",
                Advice(_) => "should",
            };
            let requirement = rule.requirement;
            assert!(
                requirement.split(' ').any(|part| part == word),
                "{requirement}"
            );
        }
    }

    #[test]
    fn every_rule_is_in_sources_with_its_basis() {
        let sources = include_str!("../../../../../openapi/SOURCES.md");
        let (_, section) = sources.split_once("\n## Rules\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|row| row.strip_prefix("| `"));
        let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
        // Columns of a row: `name`, basis, evidence, client, emulator.
        let listed: BTreeMap<_, _> = cells
            .filter(|cells| cells[3] == "yes")
            .map(|cells| (cells[0].trim_end_matches('`'), cells[1]))
            .collect();
        let table = RULES.iter().map(|rule| (rule.name, word(rule.basis)));
        let facts = FACTS.iter().map(|fact| (fact.name, word(fact.basis)));
        let rules: BTreeMap<_, _> = table.chain(facts).collect();
        assert_eq!(listed, rules);
        let names: std::collections::BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
    }

    #[test]
    fn every_rule_has_a_case() {
        let cases = include_str!("../../../tests/cases/rules.yaml").replace("\\\"", "\"");
        let broken = |rule: &&Rule| {
            let Rule {
                requirement,
                advice,
                ..
            } = rule;
            let line = match rule.basis {
                Refusal(code) | Must(code) => format!(": {requirement} ({code}); {advice}"),
                Advice(why) => format!(": {requirement}; {advice} ({why})"),
            };
            cases.contains(&line)
        };
        let without: Vec<_> = RULES.iter().filter(|rule| !broken(rule)).collect();
        let names: Vec<_> = without.iter().map(|rule| rule.name).collect();
        // The cases apply to Open Telekom Cloud, which has no federated jobs. The test
        // `clouds_have_rules_of_their_own` covers this rule.
        assert_eq!(names, ["federation-named"]);
    }
}
