//! The table of rules between fields, and of rules on single fields that the description does not
//! state.
//!
//! `openapi/SOURCES.md` has a row for each rule with its evidence.

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

/// A rule on the body of a creation.
pub(crate) struct Rule {
    /// The name in `openapi/SOURCES.md` and in the emulator.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests compare the table with SOURCES")
    )]
    name: &'static str,
    /// The general names of the fields that the rule is about.
    pub(crate) on: &'static [&'static str],
    /// The rule: "must …", or "should …" where it is advice. A subject is named where a field of
    /// `on` would be ambiguous.
    pub(crate) requirement: &'static str,
    basis: Basis,
    /// The correction of a job that breaks the rule.
    advice: &'static str,
    /// Returns the fields that break the rule.
    broken_fields: for<'a> fn(&Draft<'a>) -> Vec<Located<'a>>,
}

const fn rule(
    name: &'static str,
    on: &'static [&'static str],
    requirement: &'static str,
    basis: Basis,
    advice: &'static str,
    broken_fields: for<'a> fn(&Draft<'a>) -> Vec<Located<'a>>,
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

/// Adds all broken rules to the report.
pub(crate) fn check(draft: &Draft<'_>, report: &mut Report) {
    for rule in RULES {
        for field in (rule.broken_fields)(draft) {
            let actual = draft.actual(&field);
            report.add(
                rule.basis,
                field.path(),
                actual,
                rule.requirement,
                rule.advice,
            );
        }
    }
}

// Reasons why the break of a rule is only a warning.
const ACCEPTED_BY_SERVICE: &str =
    "the documents advise against it; the service is known to accept it";
const NOT_NEEDED: &str = "the documents leave it out; the service accepts it";
const NO_KNOWN_JOB: &str = "the documents leave it out; no accepted job with it is known";
const OWN_READING: &str =
    "the error code of the service has a general text that does not name this cause";
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

/// All rules, in the order of the report.
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    // The job as a whole.
    rule("kind-of-cloud", &["kind"], "must be a kind of job that the cloud has: job or visualization_job; on Huawei Cloud also federated_pool_job, edge_job, hetero_job, mrs_job, autosearch_job and diag_job", Must(INVALID), "use job", annotations::kind),
    rule("tasks-or-spec", &["tasks", "spec"], "tasks and spec should not be given together", Advice(NO_REFUSAL_DOCUMENTED), "leave one out", code::tasks_or_spec),
    rule("retries-in-range", &[ANNOTATIONS], "the number of retries must be 1 to 3, on Huawei Cloud 1 to 128", Must(INVALID), "set a number in this range, or leave auto restart out", annotations::retries),
    rule("annotation-switches", &[ANNOTATIONS], "a switch should be true or false", Advice(NO_REFUSAL_DOCUMENTED), "write \"true\" or \"false\"", annotations::switches),
    rule("hang-retry-needs-retries", &[ANNOTATIONS], "a number of retries should be given with hang-retry", Advice(NO_REFUSAL_DOCUMENTED), "set auto restart too", annotations::hang_retry),
    rule("job-template-known", &[ANNOTATIONS], "job_template should be Template RL or Template DL", Advice(NO_REFUSAL_DOCUMENTED), "leave it out unless the job is heterogeneous", annotations::template),

    // Code and engine.
    rule("algorithm-required", &["algorithm"], "must be given, unless the job has tasks, tunes a model or only shows logs", Must(INVALID), "give an algorithm by id or by subscription, code directory and boot file, or an image and its command", code::algorithm_present),
    rule("subscription-and-version", &["algorithm.subscription_id", "algorithm.item_version_id"], "subscription_id and item_version_id must be given together", Must(INVALID), "give both", code::subscription),
    rule("one-stored-algorithm", &["algorithm.id", "algorithm.subscription_id"], "id and subscription_id should not be given together", Advice(NO_REFUSAL_DOCUMENTED), "give either the id of an algorithm or a subscription", code::subscription_beside_id),
    rule("stored-algorithm-code", &[CODE_DIR, BOOT_FILE], "should not be given with a stored algorithm, which has its own code directory and boot file", Advice(NOT_NEEDED), "leave both out unless they are to replace those of the algorithm", code::code_beside_stored),
    rule("stored-algorithm-engine", &[COMMAND, "algorithm.engine"], "should not be given with a stored algorithm, which has its own command and engine", Advice(NO_KNOWN_JOB), "leave both out unless they are to replace those of the algorithm", code::engine_beside_stored),
    rule("boot-file-needs-code-dir", &[CODE_DIR], "must be given with a boot file", Must(INVALID), "give the directory that holds the boot file", code::code_dir),
    rule("boot-file-required", &[BOOT_FILE], "must be given, unless the job has a command", Must(INVALID), "name the script to start", code::boot_file),
    rule("command-or-boot-file", &[COMMAND], "should not be given together with a boot file", Advice(NO_REFUSAL_DOCUMENTED), "leave one out: a boot file is for a preset image, a command for a custom image", code::boot_or_command),
    rule("image-and-command", &[COMMAND, IMAGE_URL], "image_url and command must be given together", Refusal(IMAGE), "give both, or name the engine of a preset image", code::image_and_command),
    rule("command-one-line", &[COMMAND], "should be one line", Advice(ACCEPTED_BY_SERVICE), "join commands with ; or &&", code::command_one_line),
    rule("engine-for-boot-file", &["algorithm.engine"], "must name the engine of the boot file, by id, by name and version, or by image", Must(INVALID), "name the engine that runs the boot file", code::engine),
    rule("engine-name-and-version", &["algorithm.engine.engine_name", "algorithm.engine.engine_version"], "engine_name and engine_version should be given together", Advice(NO_REFUSAL_DOCUMENTED), "give both", code::engine_pair),
    rule("engine-version-needs-name", &["algorithm.engine.engine_name"], "engine_name should be given with engine_version beside an image", Advice(NO_REFUSAL_DOCUMENTED), "give both or neither", code::engine_beside_image),
    rule("engine-id-beside-image", &["algorithm.engine.engine_id"], "engine_id should not be given with image_url", Advice(REFUSAL_UNCLEAR), "leave it out", code::engine_id_beside_image),
    rule("image-without-registry", &[IMAGE_URL], "should be organization/name:tag, without a registry", Advice(REFUSAL_UNCLEAR), "leave the registry out", code::image_without_registry),
    rule("sys-packages-need-image", &["algorithm.engine.install_sys_packages"], "should be given only with engine_name, engine_version and image_url", Advice(NO_REFUSAL_DOCUMENTED), "give all three, or leave it out", code::sys_packages),
    rule("boot-file-inside", &[BOOT_FILE], "must lie in the code directory", Refusal("ModelArts.2792"), "move the boot file, or name the directory that holds it", code::boot_file_inside),
    rule("boot-file-python", &[BOOT_FILE], "must end in .py", Must("ModelArts.2758"), "start a Python file; other programs need an image and a command", code::boot_file_python),
    rule("user-id-number", &[RUN_USER], "must be a number", Must(TYPE), "write it in digits", code::user_number),
    rule("user-id-most", &[RUN_USER], "must be at most 65535", Must(RANGE), "choose a smaller id; 1000 is the default", code::user_most),
    rule("user-id-least", &[RUN_USER], "must be at least 1000 in the public pool", Refusal("ModelArts.2855"), "choose a larger id, or run in a dedicated pool", code::user_least),
    rule("local-code-dir", &["algorithm.local_code_dir"], "must be a path in /home, without . and .., that the cloud does not reserve", Refusal("ModelArts.2857"), "choose another directory below /home", code::local_code_dir),
    rule("local-code-dir-home", &["algorithm.local_code_dir"], "should lie below /home", Advice(NO_REFUSAL_DOCUMENTED), "choose a directory in /home", code::local_code_dir_home),
    rule("working-dir", &["algorithm.working_dir"], "must be an absolute path", Refusal("ModelArts.2859"), "begin it with /", code::working_dir),
    rule("working-dir-plain", &["algorithm.working_dir"], "should have no . or .. in its path", Advice(OWN_READING), "write the path without them", code::working_dir_plain),
    rule("search-config-yaml", &["algorithm.autosearch_config_path"], "should be a YAML file", Advice(NO_REFUSAL_DOCUMENTED), "name a .yaml file", code::search_config),

    // Variables and hyper-parameters.
    rule("variable-names", &["algorithm.environments{}"], "a name must be up to 8192 letters, digits and _, without a digit at the start", Must(INVALID), "rename the variable", annotations::variable_names),
    rule("variable-references", &["algorithm.environments{}"], "a value must not refer to another variable with $", Must(INVALID), "write the value itself; the service does not expand it", annotations::references),
    rule("parameter-names", &["algorithm.parameters[].name"], "the name must be 1 to 64 letters, digits, _ and -", Must(INVALID), "rename the hyper-parameter", parameters::names),
    rule("parameter-names-different", &["algorithm.parameters[].name"], "the name must differ from those of other hyper-parameters", Refusal("ModelArts.2767"), "leave one out", parameters::repeated_names),
    rule("parameter-ranges", &["algorithm.parameters[].constraint.valid_range"], "must list the values of a Choice, or the lower and the upper end of a Range", Refusal("ModelArts.2770"), "correct the range", parameters::ranges),
    rule("parameter-required", &["algorithm.parameters[].value"], "the value of a required hyper-parameter must be given", Refusal("ModelArts.2766"), "give it a value", parameters::required_values),
    rule("parameter-typed", &["algorithm.parameters[].value"], "the value must be of the type of the hyper-parameter", Refusal("ModelArts.2768"), "correct the value", parameters::value_types),
    rule("parameter-chosen", &["algorithm.parameters[].value"], "the value must be one of the choices", Refusal("ModelArts.2765"), "choose one of them", parameters::choices),
    rule("parameter-in-range", &["algorithm.parameters[].value"], "the value must lie in the range", Refusal("ModelArts.2769"), "choose a value in the range", parameters::numbers_in_range),
    rule("search-rewards", &["algorithm.policies.auto_search.reward_attrs"], "a search should have metrics with name, mode and regex", Advice(NO_REFUSAL_DOCUMENTED), "name the metric to improve, and the regex that finds it in the log", parameters::rewards),
    rule("search-rewards-different", &["algorithm.policies.auto_search.reward_attrs[].name"], "must differ from the names of the other metrics", Refusal("ModelArts.2824"), "leave one out", parameters::repeated_rewards),
    rule("search-bounds", &["algorithm.policies.auto_search.search_params[]"], "must have two numbers in order as bounds, or a list of values", Refusal("ModelArts.2826"), "give lower_bound and upper_bound, or discrete_values", parameters::search_bounds),
    rule("search-floats", &["algorithm.policies.auto_search.search_params[].name"], "must be a hyper-parameter of type Float", Must("ModelArts.2826"), "leave it out of the search, or make it a Float", parameters::search_floats),
    rule("search-algorithms", &["algorithm.policies.auto_search.algo_configs[].name"], "should be one of bayes_opt_search, tpe_search and anneal_search", Advice(NO_REFUSAL_DOCUMENTED), "choose one of them", parameters::search_algorithms),
    rule("search-engine", &["algorithm.policies.auto_search"], "should be pytorch_1.8.0 or tensorflow_2.1.0 for a search", Advice("the guide of Open Telekom Cloud names these two"), "choose one of these engines", parameters::search_engine),

    // Data.
    rule("input-named", &["algorithm.inputs[].name"], "must be given, unless the job tunes a model", Must(INVALID), "name the input", channels::input_names),
    rule("channel-names", &["algorithm.inputs[].name", "algorithm.outputs[].name"], "must be 1 to 64 letters, digits, _ and -", Must(INVALID), "rename the channel", channels::names),
    rule("channel-names-different", &["algorithm.inputs[].name", "algorithm.outputs[].name"], "should be unique among the inputs, or among the outputs", Advice(OWN_READING), "rename one", channels::repeated_names),
    rule("channel-directories-different", &["algorithm.inputs[].local_dir", "algorithm.outputs[].local_dir"], "should differ from the local directories of other channels", Advice("they would share one directory"), "choose another, or let the service choose", channels::repeated_directories),
    rule("channel-local-directory", &["algorithm.inputs[].local_dir", "algorithm.outputs[].local_dir"], "should be an absolute path without . and ..", Advice(NO_REFUSAL_DOCUMENTED), "begin it with /, and write it without . and ..", channels::local_dirs),
    rule("channel-variable-name", &["algorithm.inputs[].name", "algorithm.outputs[].name"], "should be the name of a variable where access_method is env", Advice(NO_REFUSAL_DOCUMENTED), "use letters, digits and _, without a digit at the start, or pass the channel as a parameter", channels::variable_names),
    rule("channel-one-source", &["algorithm.inputs[].remote"], "must have exactly one source, OBS or a data set", Must(INVALID), "give one of the two", channels::sources),
    rule("dataset-version", &["algorithm.inputs[].remote.dataset.version_id"], "version_id should be given, unless service_type is V3", Advice("the documents disagree"), "give the version", channels::dataset_version),
    rule("tasks-read-from-obs", &["tasks[].algorithm.inputs[].remote.dataset"], "must not be given for a task of a heterogeneous job", Must(INVALID), "give an OBS path", channels::task_datasets),
    rule("obs-paths", &[CODE_DIR, BOOT_FILE, "algorithm.inputs[].remote.obs.obs_url", "algorithm.outputs[].remote.obs.obs_url", "algorithm.summary.log_dir.pfs.pfs_path", "spec.log_export_path.obs_url", "spec.volumes[].pfs.pfs_path", "spec.volumes[].obs.obs_path", "spec.output_model.obs.obs_path"], "must be an OBS path, obs://bucket/path or /bucket/path, without . and ..", Refusal(OBS), "write it in full, such as obs://bucket/directory/file", channels::obs_paths),

    // Resources, scheduling and volumes.
    rule("spec-required", &["spec"], "must be given, unless the job has tasks", Must(INVALID), "give a flavor or a pool", resources::spec),
    rule("flavor-or-pool", &[FLAVOR, POOL], "flavor_id or pool_id must be given", Must(INVALID), "give a flavor of the public pool, or a dedicated pool", resources::flavor_or_pool),
    rule("flavor-of-pool", &[FLAVOR], "must begin with modelarts.pool.visual. in a dedicated pool, such as modelarts.pool.visual.xlarge", Refusal("ModelArts.2781"), "choose a flavor of the pool, or leave it out for a pool of CPU nodes", resources::flavor_of_pool),
    rule("pool-flavor-needs-pool", &[FLAVOR], "should begin with modelarts.pool.visual. only in a dedicated pool", Advice(NO_REFUSAL_DOCUMENTED), "name the pool, or choose a flavor of the public pool", resources::pool_flavor_needs_pool),
    rule("federation-named", &["spec.resource.pool_group_id"], "must be given for a federated_pool_job", Must(INVALID), "name the federation of pools", resources::federation),
    rule("priority-least", &[PRIORITY], "must be at least 0", Must(INVALID), "choose 1, 2 or 3", resources::priority_least),
    rule("priority-zero", &[PRIORITY], "should be at least 1", Advice("the published schema admits 0, the guide does not"), "choose 1, 2 or 3", resources::priority_zero),
    rule("priority-most", &[PRIORITY], "must be at most 3", Must(RANGE), "choose 1, 2 or 3", resources::priority_most),
    rule("priority-needs-pool", &[PRIORITY], "should be above 1 only in a dedicated pool", Advice("documented for dedicated pools only; no refusal elsewhere is known"), "leave it out, or run in a dedicated pool", resources::priority_needs_pool),
    rule("affinity-group-size", &["spec.schedule_policy.required_affinity.affinity_group_size"], "must be at least 1, and must be given for hyperinstance and networkTopology", Must(INVALID), "give the number of tasks that stay together", resources::affinity_group_size),
    rule("condition-values", &["spec.schedule_policy.required_affinity.node_affinity"], "must hold values for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt", Must(INVALID), "correct the values", resources::condition_values),
    rule("volume-one-kind", &["spec.volumes[]"], "should have exactly one of nfs, pfs and obs", Advice(NO_REFUSAL_DOCUMENTED), "give each volume one of them", volumes::kinds),
    rule("volume-path", &["spec.volumes[].pfs.pfs_path", "spec.volumes[].obs.obs_path"], "a volume of OBS must have a path or a local_path", Must(INVALID), "give the path in OBS and the local_path that it is mounted at", volumes::sources),
    rule("nfs-needs-pool", &["spec.volumes[].nfs"], "SFS Turbo must be mounted in a dedicated pool only", Must(INVALID), "run in a dedicated pool", volumes::nfs_needs_pool),
    rule("volumes-at-most-8", &["spec.volumes"], "a job must have at most 8 volumes", Must(INVALID), "mount fewer", volumes::count),
    rule("volume-once", &["spec.volumes[].nfs.nfs_server_path", "spec.volumes[].pfs.pfs_path"], "a file system must not be mounted twice", Must(INVALID), "leave one out", volumes::repeated_file_systems),
    rule("volume-places-different", LOCAL_PATHS, "local_path must differ from those of other volumes", Must(INVALID), "choose another path", volumes::repeated_mount_paths),
    rule("volume-default-mount", LOCAL_PATHS, "local_path must not be a default mount of the platform: /, /cache or /home/ma-user/modelarts", Must(INVALID), "choose another path, such as /mnt/data", volumes::default_mount),
    rule("volume-path-plain", LOCAL_PATHS, "local_path should be an absolute path without . and ..", Advice(NO_REFUSAL_DOCUMENTED), "begin it with /, such as /mnt/data", volumes::plain_paths),
    rule("volume-over-home", LOCAL_PATHS, "local_path should not hide a directory of the platform below /home", Advice(NO_REFUSAL_DOCUMENTED), "choose another path, such as /mnt/data", volumes::over_home),
    rule("volume-over-channel", LOCAL_PATHS, "local_path should not be the directory of an input or output", Advice(NO_REFUSAL_DOCUMENTED), "choose another path, such as /mnt/data", volumes::over_channel),

    // Metrics, notifications, SSH and visualisation.
    rule("metrics-url-and-port", &["spec.custom_metrics[]"], "metrics_url and metrics_port must be given together", Must(INVALID), "give both", services::metrics_url),
    rule("metrics-one-form", &["spec.custom_metrics[]"], "must have exactly one form: metrics_url and metrics_port, exec, or http_get", Must(INVALID), "give one of them", services::metrics_form),
    rule("metrics-http-get", &["spec.custom_metrics[].http_get"], "http_get must have path and port", Must(INVALID), "give both", services::http_get),
    rule("notification-topic", &["spec.notification.topic_urn"], "must be given with notifications", Must(INVALID), "name the topic that they are sent to", services::topic),
    rule("notification-events", &["spec.notification.events"], "must be given with notifications", Must(INVALID), "name the events to send", services::events),
    rule("ssh-key-pairs", &["endpoints.ssh.key_pair_names"], "must be given for access by SSH", Must(INVALID), "name a key pair", services::key_pairs),
    rule("summary-log-dir", &["algorithm.summary.log_dir"], "must be given with log_type", Must(INVALID), "give the directory of the logs", services::log_dir),
    rule("board-data-sources", &["algorithm.summary.data_sources"], "must be given for TensorBoard and MindStudio Insight", Must(INVALID), "name the jobs or directories whose logs are shown", services::data_sources),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::validation::rules::external_facts::FACTS;

    /// The basis as `openapi/SOURCES.md` writes it.
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
        // The cases are for Open Telekom Cloud, which has no federated jobs: the test
        // `clouds_have_rules_of_their_own` covers this rule.
        assert_eq!(names, ["federation-named"]);
    }
}
