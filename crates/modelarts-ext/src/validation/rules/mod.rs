//! The rules between fields, and those of single fields that the description does
//! not state: one list.
//!
//! `openapi/SOURCES.md` has a row for each with what it rests on. A rule says what is so
//! in a job that is right.

mod annotations;
mod channels;
mod code;
pub(crate) mod external_facts;
mod names;
pub(crate) mod parameters;
pub(crate) mod resources;
mod services;
mod volumes;

use crate::validation::{
    draft::Draft,
    json_path::Located,
    report::{
        Basis::{self, Advice, Must, Refusal},
        Report,
    },
};

/// One rule.
pub(crate) struct Rule {
    /// Its name in `openapi/SOURCES.md`, and in the emulator.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests compare the table with SOURCES")
    )]
    name: &'static str,
    /// The fields it is about, by their general names.
    pub(crate) on: &'static [&'static str],
    /// The rule as a sentence on jobs that keep it.
    pub(crate) says: &'static str,
    basis: Basis,
    /// The way to mend a job that breaks it.
    advice: &'static str,
    /// The fields that break it.
    broken_fields: for<'a> fn(&Draft<'a>) -> Vec<Located<'a>>,
}

const fn rule(
    name: &'static str,
    on: &'static [&'static str],
    says: &'static str,
    basis: Basis,
    advice: &'static str,
    broken_fields: for<'a> fn(&Draft<'a>) -> Vec<Located<'a>>,
) -> Rule {
    Rule {
        name,
        on,
        says,
        basis,
        advice,
        broken_fields,
    }
}

/// Finds every rule that is broken.
pub(crate) fn check(draft: &Draft<'_>, report: &mut Report) {
    for rule in RULES {
        for field in (rule.broken_fields)(draft) {
            let actual = draft.actual(&field);
            report.add(rule.basis, field.path(), actual, rule.says, rule.advice);
        }
    }
}

/// Reasons why a rule is a warning only.
const TAKEN_BY_SERVICE: &str = "the documents advise against it; the service is known to take it";
const NOT_NEEDED: &str = "the documents do without it; the service takes it";
const NO_KNOWN_JOB: &str =
    "the documents do without it; no job that the service took is known to have it";
const OWN_READING: &str =
    "the code of the service for it has a general text, and this cause is not named";
const NO_REFUSAL_DOCUMENTED: &str = "no document says that the service refuses it";
const REFUSAL_UNCLEAR: &str = "the service refused it once, perhaps for another cause";

const INVALID: &str = "ModelArts.2788";
const TYPE: &str = "ModelArts.2825";
const RANGE: &str = "ModelArts.2816";
const IMAGE: &str = "ModelArts.2806";
const OBS: &str = "ModelArts.2791";

const CODE_DIR: &str = "algorithm.code_dir";
const BOOT_FILE: &str = "algorithm.boot_file";
const COMMAND: &str = "algorithm.command";
const IMAGE_URL: &str = "algorithm.engine.image_url";
const POOL: &str = "spec.resource.pool_id";
const FLAVOR: &str = "spec.resource.flavor_id";
const RUN_USER: &str = "algorithm.engine.run_user";
const PRIORITY: &str = "spec.schedule_policy.priority";
const ANNOTATIONS: &str = "metadata.annotations{}";
const LOCAL_PATHS: &[&str] = &[
    "spec.volumes[].nfs.local_path",
    "spec.volumes[].pfs.local_path",
    "spec.volumes[].obs.local_path",
];

/// All of them.
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    // The job as a whole.
    rule("kind-of-cloud", &["kind"], "the cloud has this kind of job: job or visualization_job; Huawei Cloud also federated_pool_job, edge_job, hetero_job, mrs_job, autosearch_job and diag_job", Must(INVALID), "use job", annotations::kind),
    rule("tasks-or-spec", &["tasks", "spec"], "tasks and spec exclude each other", Advice(NO_REFUSAL_DOCUMENTED), "leave one out", code::tasks_or_spec),
    rule("retries-in-range", &[ANNOTATIONS], "the number of retries is 1 to 3; on Huawei Cloud 1 to 128", Must(INVALID), "set a number that the cloud takes, or leave auto restart out", annotations::retries),
    rule("annotation-switches", &[ANNOTATIONS], "switches are true or false", Advice(NO_REFUSAL_DOCUMENTED), "write \"true\" or \"false\"", annotations::switches),
    rule("hang-retry-needs-retries", &[ANNOTATIONS], "hang-retry needs a number of retries", Advice(NO_REFUSAL_DOCUMENTED), "set auto restart too", annotations::hang_retry),
    rule("job-template-known", &[ANNOTATIONS], "the template is Template RL or Template DL", Advice(NO_REFUSAL_DOCUMENTED), "leave it out unless the job is heterogeneous", annotations::template),

    // Code and engine.
    rule("algorithm-required", &["algorithm"], "a job has an algorithm", Must(INVALID), "give an algorithm by id or by subscription, code directory and boot file, or an image and its command", code::algorithm_present),
    rule("subscription-and-version", &["algorithm.subscription_id", "algorithm.item_version_id"], "subscription_id and item_version_id come together", Must(INVALID), "give both", code::subscription),
    rule("one-stored-algorithm", &["algorithm.id", "algorithm.subscription_id"], "there is one source of the algorithm", Advice(NO_REFUSAL_DOCUMENTED), "give either the id of an algorithm or a subscription", code::subscription_beside_id),
    rule("stored-algorithm-code", &[CODE_DIR, BOOT_FILE], "an algorithm that the service keeps brings its own code directory and boot file", Advice(NOT_NEEDED), "leave them out unless they are to run in the place of the algorithm's", code::code_beside_stored),
    rule("stored-algorithm-engine", &[COMMAND, "algorithm.engine"], "an algorithm that the service keeps brings its own command and engine", Advice(NO_KNOWN_JOB), "leave them out unless they are to run in the place of the algorithm's", code::engine_beside_stored),
    rule("boot-file-needs-code-dir", &[CODE_DIR], "a boot file needs its code directory", Must(INVALID), "give the directory that holds the boot file", code::code_dir),
    rule("boot-file-required", &[BOOT_FILE], "without a command a job has a boot file", Must(INVALID), "give the script that is started", code::boot_file),
    rule("command-or-boot-file", &[COMMAND], "boot file and command exclude each other", Advice(NO_REFUSAL_DOCUMENTED), "leave one out: a boot file is for a preset image, a command for an image of your own", code::boot_or_command),
    rule("image-and-command", &[COMMAND, IMAGE_URL], "a custom image and its command come together", Refusal(IMAGE), "give both, or name the engine of a preset image", code::image_and_command),
    rule("command-one-line", &[COMMAND], "a command is one line", Advice(TAKEN_BY_SERVICE), "join commands with ; or &&", code::command_one_line),
    rule("engine-for-boot-file", &["algorithm.engine"], "a boot file needs an engine: by id, by name and version, or an image", Must(INVALID), "name the engine that runs the boot file", code::engine),
    rule("engine-name-and-version", &["algorithm.engine.engine_name", "algorithm.engine.engine_version"], "the name and the version of an engine come together", Advice(NO_REFUSAL_DOCUMENTED), "give both", code::engine_pair),
    rule("engine-version-needs-name", &["algorithm.engine.engine_name"], "the version of an engine beside an image needs its name", Advice(NO_REFUSAL_DOCUMENTED), "give the name too, or neither", code::engine_beside_image),
    rule("engine-id-beside-image", &["algorithm.engine.engine_id"], "a custom image needs no engine_id", Advice(REFUSAL_UNCLEAR), "leave it out", code::engine_id_beside_image),
    rule("image-without-registry", &[IMAGE_URL], "an image is named organization/name:tag, without a registry", Advice(REFUSAL_UNCLEAR), "leave the registry out", code::image_without_registry),
    rule("sys-packages-need-image", &["algorithm.engine.install_sys_packages"], "install_sys_packages needs engine_name, engine_version and image_url", Advice(NO_REFUSAL_DOCUMENTED), "give all three, or leave it out", code::sys_packages),
    rule("boot-file-inside", &[BOOT_FILE], "the boot file lies in the code directory", Refusal("ModelArts.2792"), "move the boot file, or name the directory that holds it", code::boot_file_inside),
    rule("boot-file-python", &[BOOT_FILE], "the boot file ends in .py", Must("ModelArts.2758"), "start a Python file; other programs need an image and a command", code::boot_file_python),
    rule("user-id-number", &[RUN_USER], "the user id is a number", Must(TYPE), "write digits", code::user_number),
    rule("user-id-most", &[RUN_USER], "the user id is 65535 at most", Must(RANGE), "choose a smaller one; 1000 is the default", code::user_most),
    rule("user-id-least", &[RUN_USER], "the user id is 1000 or more in the public pool", Refusal("ModelArts.2855"), "choose a larger one, or run in a dedicated pool", code::user_least),
    rule("local-code-dir", &["algorithm.local_code_dir"], "the local code directory is a plain path in /home, and none that the cloud keeps for itself", Refusal("ModelArts.2857"), "choose another directory below /home", code::local_code_dir),
    rule("local-code-dir-home", &["algorithm.local_code_dir"], "the local code directory lies below /home", Advice(NO_REFUSAL_DOCUMENTED), "choose a directory in it", code::local_code_dir_home),
    rule("working-dir", &["algorithm.working_dir"], "the working directory is an absolute path", Refusal("ModelArts.2859"), "write it from / on", code::working_dir),
    rule("working-dir-plain", &["algorithm.working_dir"], "the working directory has no . and .. in its path", Advice(OWN_READING), "write the path without them", code::working_dir_plain),
    rule("search-config-yaml", &["algorithm.autosearch_config_path"], "the configuration of a search is a YAML file", Advice(NO_REFUSAL_DOCUMENTED), "name a .yaml file", code::search_config),

    // Variables and hyper-parameters.
    rule("variable-names", &["algorithm.environments{}"], "names of variables have letters, digits and _, up to 8192, no digit first", Must(INVALID), "rename it", annotations::variable_names),
    rule("variable-references", &["algorithm.environments{}"], "values of variables do not refer to others with $", Must(INVALID), "write the value itself; the service does not expand it", annotations::references),
    rule("parameter-names", &["algorithm.parameters[].name"], "names of hyper-parameters are 1 to 64 letters, digits, _ and -", Must(INVALID), "rename it", parameters::names),
    rule("parameter-names-different", &["algorithm.parameters[].name"], "hyper-parameters have different names", Refusal("ModelArts.2767"), "leave one out", parameters::repeated_names),
    rule("parameter-ranges", &["algorithm.parameters[].constraint.valid_range"], "a choice has values, a range its two ends in order", Refusal("ModelArts.2770"), "correct the range", parameters::ranges),
    rule("parameter-required", &["algorithm.parameters[].value"], "a required hyper-parameter has a value", Refusal("ModelArts.2766"), "give it a value", parameters::required_values),
    rule("parameter-typed", &["algorithm.parameters[].value"], "the value is of the type of the hyper-parameter", Refusal("ModelArts.2768"), "correct the value", parameters::value_types),
    rule("parameter-chosen", &["algorithm.parameters[].value"], "the value is one of the choices", Refusal("ModelArts.2765"), "choose one of them", parameters::choices),
    rule("parameter-in-range", &["algorithm.parameters[].value"], "the value lies in the range", Refusal("ModelArts.2769"), "choose a value in the range", parameters::numbers_in_range),
    rule("search-rewards", &["algorithm.policies.auto_search.reward_attrs"], "a search has metrics with name, mode and regex", Advice(NO_REFUSAL_DOCUMENTED), "say what the search improves, and how it is found in the log", parameters::rewards),
    rule("search-rewards-different", &["algorithm.policies.auto_search.reward_attrs[].name"], "metrics of a search have different names", Refusal("ModelArts.2824"), "leave one out", parameters::repeated_rewards),
    rule("search-bounds", &["algorithm.policies.auto_search.search_params[]"], "what a search varies has two numbers as its ends, in order, or a list of values", Refusal("ModelArts.2826"), "give lower_bound and upper_bound, or discrete_values", parameters::search_bounds),
    rule("search-floats", &["algorithm.policies.auto_search.search_params[].name"], "a search varies hyper-parameters of type Float only", Must("ModelArts.2826"), "leave it out of the search, or make it a Float", parameters::search_floats),
    rule("search-algorithms", &["algorithm.policies.auto_search.algo_configs[].name"], "search algorithms are bayes_opt_search, tpe_search and anneal_search", Advice(NO_REFUSAL_DOCUMENTED), "choose one of them", parameters::search_algorithms),
    rule("search-engine", &["algorithm.policies.auto_search"], "a search runs on pytorch_1.8.0 or tensorflow_2.1.0", Advice("the guide of Open Telekom Cloud names these two"), "choose one of these engines", parameters::search_engine),

    // Data.
    rule("input-named", &["algorithm.inputs[].name"], "an input has a name, unless the job tunes a model", Must(INVALID), "give it", channels::input_names),
    rule("channel-names", &["algorithm.inputs[].name", "algorithm.outputs[].name"], "names of channels are 1 to 64 letters, digits, _ and -", Must(INVALID), "rename it", channels::names),
    rule("channel-names-different", &["algorithm.inputs[].name", "algorithm.outputs[].name"], "inputs, and outputs, have different names", Advice(OWN_READING), "rename one", channels::repeated_names),
    rule("channel-directories-different", &["algorithm.inputs[].local_dir", "algorithm.outputs[].local_dir"], "channels have different local directories", Advice("they would share one directory"), "choose another, or let the service choose", channels::repeated_directories),
    rule("channel-local-directory", &["algorithm.inputs[].local_dir", "algorithm.outputs[].local_dir"], "the local directory is an absolute, plain path", Advice(NO_REFUSAL_DOCUMENTED), "write it from / on, without . and ..", channels::local_dirs),
    rule("channel-variable-name", &["algorithm.inputs[].name", "algorithm.outputs[].name"], "a channel that is handed over as a variable has the name of one", Advice(NO_REFUSAL_DOCUMENTED), "use letters, digits and _, no digit first, or hand it over as a parameter", channels::variable_names),
    rule("channel-one-source", &["algorithm.inputs[].remote"], "an input comes from OBS or from a data set, one of the two", Must(INVALID), "give one of the two", channels::sources),
    rule("dataset-version", &["algorithm.inputs[].remote.dataset.version_id"], "a data set needs its version, unless service_type is V3", Advice("documents disagree"), "give the version", channels::dataset_version),
    rule("tasks-read-from-obs", &["tasks[].algorithm.inputs[].remote.dataset"], "tasks of heterogeneous jobs read from OBS only", Must(INVALID), "give an OBS path", channels::task_datasets),
    rule("obs-paths", &[CODE_DIR, BOOT_FILE, "algorithm.inputs[].remote.obs.obs_url", "algorithm.outputs[].remote.obs.obs_url", "algorithm.summary.log_dir.pfs.pfs_path", "spec.log_export_path.obs_url", "spec.volumes[].pfs.pfs_path", "spec.volumes[].obs.obs_path", "spec.output_model.obs.obs_path"], "an OBS path is obs://bucket/path or /bucket/path, without . and ..", Refusal(OBS), "write it in full, such as obs://bucket/directory/file", channels::obs_paths),

    // Where it runs.
    rule("spec-required", &["spec"], "a job has resources", Must(INVALID), "give a flavor or a pool", resources::spec),
    rule("flavor-or-pool", &[FLAVOR, POOL], "a job runs on a flavor or in a pool", Must(INVALID), "give a flavor of the public pool, or a dedicated pool", resources::flavor_or_pool),
    rule("flavor-of-pool", &[FLAVOR], "a dedicated pool takes no flavors of the public pool: its own begin with modelarts.pool.visual., such as modelarts.pool.visual.xlarge", Refusal("ModelArts.2781"), "choose a flavor of the pool; a pool of CPU nodes takes none", resources::flavor_of_pool),
    rule("pool-flavor-needs-pool", &[FLAVOR], "flavors that begin with modelarts.pool.visual. are for dedicated pools", Advice(NO_REFUSAL_DOCUMENTED), "name the pool, or choose a flavor of the public pool", resources::pool_flavor_needs_pool),
    rule("federation-named", &["spec.resource.pool_group_id"], "a federated_pool_job has a pool_group_id", Must(INVALID), "give the federation of pools", resources::federation),
    rule("priority-least", &[PRIORITY], "the priority is not below 0", Must(INVALID), "choose 1, 2 or 3", resources::priority_least),
    rule("priority-zero", &[PRIORITY], "the priority is 1 or more", Advice("the published schema admits 0, the guide does not"), "choose 1, 2 or 3", resources::priority_zero),
    rule("priority-most", &[PRIORITY], "the priority is 3 at most", Must(RANGE), "choose 1, 2 or 3", resources::priority_most),
    rule("priority-needs-pool", &[PRIORITY], "priorities above 1 are for dedicated pools", Advice("documented for dedicated pools only; no refusal elsewhere is known"), "leave it out, or run in a dedicated pool", resources::priority_needs_pool),
    rule("affinity-group-size", &["spec.schedule_policy.required_affinity.affinity_group_size"], "hyperinstance and networkTopology need affinity_group_size, 1 or more", Must(INVALID), "say how many tasks stay together", resources::affinity_group_size),
    rule("condition-values", &["spec.schedule_policy.required_affinity.node_affinity"], "In and NotIn take values, Exists and DoesNotExist none, Gt and Lt one whole number", Must(INVALID), "correct the values", resources::condition_values),
    rule("volume-one-kind", &["spec.volumes[]"], "a volume is one of nfs, pfs and obs", Advice(NO_REFUSAL_DOCUMENTED), "make it several volumes", volumes::kinds),
    rule("volume-path", &["spec.volumes[].pfs.pfs_path", "spec.volumes[].obs.obs_path"], "a volume of OBS has a path or a local path", Must(INVALID), "say what is mounted, and where", volumes::sources),
    rule("nfs-needs-pool", &["spec.volumes[].nfs"], "SFS Turbo needs a dedicated pool", Must(INVALID), "run in a dedicated pool", volumes::nfs_needs_pool),
    rule("volumes-at-most-8", &["spec.volumes"], "a job mounts at most 8 volumes", Must(INVALID), "mount fewer", volumes::count),
    rule("volume-once", &["spec.volumes[].nfs.nfs_server_path", "spec.volumes[].pfs.pfs_path"], "a file system is mounted once", Must(INVALID), "leave one out", volumes::repeated_file_systems),
    rule("volume-places-different", LOCAL_PATHS, "volumes are mounted at different paths", Must(INVALID), "choose another path", volumes::repeated_mount_paths),
    rule("volume-default-mount", LOCAL_PATHS, "a volume is not mounted at a default mount of the platform: /, /cache or /home/ma-user/modelarts", Must(INVALID), "choose another path, such as /mnt/data", volumes::default_mount),
    rule("volume-path-plain", LOCAL_PATHS, "a volume is mounted at an absolute path without . and ..", Advice(NO_REFUSAL_DOCUMENTED), "write it from / on, such as /mnt/data", volumes::plain_paths),
    rule("volume-over-home", LOCAL_PATHS, "a volume does not hide the directories of the platform below /home", Advice(NO_REFUSAL_DOCUMENTED), "choose another path, such as /mnt/data", volumes::over_home),
    rule("volume-over-channel", LOCAL_PATHS, "a volume is not mounted where an input or output lies", Advice(NO_REFUSAL_DOCUMENTED), "choose another path, such as /mnt/data", volumes::over_channel),

    // Metrics, notifications, access, boards.
    rule("metrics-url-and-port", &["spec.custom_metrics[]"], "metrics_url and metrics_port come together", Must(INVALID), "give both", services::metrics_url),
    rule("metrics-one-form", &["spec.custom_metrics[]"], "metrics come in one form: metrics_url and metrics_port, exec, or http_get", Must(INVALID), "give one of them", services::metrics_form),
    rule("metrics-http-get", &["spec.custom_metrics[].http_get"], "http_get has path and port", Must(INVALID), "give both", services::http_get),
    rule("notification-topic", &["spec.notification.topic_urn"], "notifications have a topic", Must(INVALID), "name the topic that they are sent to", services::topic),
    rule("notification-events", &["spec.notification.events"], "notifications have events", Must(INVALID), "name the events that are sent", services::events),
    rule("ssh-key-pairs", &["endpoints.ssh.key_pair_names"], "access by SSH needs a key pair", Must(INVALID), "name a key pair", services::key_pairs),
    rule("summary-log-dir", &["algorithm.summary.log_dir"], "a log_type needs a log_dir", Must(INVALID), "say where the logs go", services::log_dir),
    rule("board-data-sources", &["algorithm.summary.data_sources"], "TensorBoard and MindStudio Insight need data_sources", Must(INVALID), "say whose logs are shown", services::data_sources),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::validation::rules::external_facts::FACTS;

    /// The word of SOURCES for a basis.
    fn word(basis: Basis) -> &'static str {
        match basis {
            Refusal(_) => "refusal",
            Must(_) => "must",
            Advice(_) => "advice",
        }
    }

    #[test]
    fn every_rule_is_in_sources_with_its_basis() {
        let sources = include_str!("../../../../../openapi/SOURCES.md");
        let (_, section) = sources.split_once("\n## Rules\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|row| row.strip_prefix("| `"));
        let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
        // | `name` | basis | evidence | client | emulator |
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
            let Rule { says, advice, .. } = rule;
            let line = match rule.basis {
                Refusal(code) | Must(code) => format!(": {says} ({code}); {advice}"),
                Advice(why) => format!(": {says}; {advice} ({why})"),
            };
            cases.contains(&line)
        };
        let without: Vec<_> = RULES.iter().filter(|rule| !broken(rule)).collect();
        let names: Vec<_> = without.iter().map(|rule| rule.name).collect();
        // The cases are for Open Telekom Cloud, which has no such jobs; the test of what
        // differs between the clouds has it.
        assert_eq!(names, ["federation-named"]);
    }
}
