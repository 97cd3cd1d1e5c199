//! Every field of CreateTrainingJob: its type and limits, and what the emulator does with it. Those
//! of features that it does not have are in `unmodelled`.
//!
//! Breaking a line of this table is `ModelArts.2788` with the name of the field. The README shows
//! the table's last column; a test compares the two.

use super::unmodelled::UNMODELLED;

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// Any text.
    Text,
    /// Text of at most so many characters.
    UpTo(usize),
    /// Text of so many to so many characters.
    Between(usize, usize),
    /// 1 to so many letters, digits and `-_./`.
    Plain(usize),
    /// 1 to 64 letters, digits, hyphens, underscores.
    Name,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A whole number in this range.
    Number(i64, i64),
    /// A number in this range.
    Decimal(f64, f64),
    /// A number above this one.
    Above(f64),
    Bool,
    Object,
    List,
    /// A list with at least one element.
    Filled,
    /// A list of at most so many elements.
    AtMost(usize),
    /// A list of just so many elements.
    Exactly(usize),
    /// An object of texts: at most so many, names and values of at most so many characters.
    Texts(usize, usize, usize),
    /// Whatever comes.
    Any,
}

/// Whether it must be there, where its parent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// What the emulator does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It changes what happens.
    Acted,
    /// Stored and given back.
    Echoed,
    /// Checked, and not given back: neither does the service.
    Silent,
    /// Written by the service only: ignored in requests.
    ReadOnly,
    /// 501 unless it is empty.
    Refused,
}

/// One line: path, type, need, fate. `[]` stands for each element of a list.
pub(crate) type Line = (&'static str, Type, Need, Fate);

use Fate::{Acted, Echoed, ReadOnly, Refused, Silent};
use Need::{Optional, Required};
use Type::{
    Above, Any, Between, Bool, Decimal, Exactly, Filled, List, Name, Number, Object, OneOf, Plain,
    Text, Texts, UpTo,
};

const MANY: usize = usize::MAX;
/// How a condition on nodes compares.
const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// All lines.
pub(super) fn lines() -> impl Iterator<Item = &'static Line> {
    FIELDS.iter().chain(UNMODELLED)
}

#[rustfmt::skip]
const FIELDS: &[Line] = &[
    ("kind", Text, Required, Acted),
    ("metadata", Object, Required, Acted),
    ("metadata.name", Name, Required, Acted),
    ("metadata.description", UpTo(256), Optional, Echoed),
    ("metadata.workspace_id", Text, Optional, Acted),
    ("metadata.annotations", Texts(MANY, MANY, MANY), Optional, Acted),
    ("metadata.training_experiment_reference", Object, Optional, Echoed),
    ("metadata.training_experiment_reference.id", Text, Optional, Echoed),
    ("metadata.training_experiment_reference.name", UpTo(64), Optional, Echoed),
    ("metadata.training_experiment_reference.description", UpTo(256), Optional, Echoed),
    ("metadata.id", Any, Optional, ReadOnly),
    ("metadata.create_time", Any, Optional, ReadOnly),
    ("metadata.user_name", Any, Optional, ReadOnly),
    ("status", Any, Optional, ReadOnly),

    ("algorithm", Object, Optional, Acted),
    ("algorithm.id", Text, Optional, Acted),
    ("algorithm.name", Text, Optional, Echoed),
    ("algorithm.subscription_id", Text, Optional, Acted),
    ("algorithm.item_version_id", Text, Optional, Acted),
    ("algorithm.code_dir", Text, Optional, Acted),
    ("algorithm.boot_file", Text, Optional, Acted),
    ("algorithm.command", Text, Optional, Acted),
    ("algorithm.local_code_dir", Text, Optional, Acted),
    ("algorithm.working_dir", Text, Optional, Acted),
    ("algorithm.autosearch_config_path", Text, Optional, Echoed),
    ("algorithm.autosearch_framework_path", Text, Optional, Echoed),
    ("algorithm.engine", Object, Optional, Acted),
    ("algorithm.engine.engine_id", Text, Optional, Echoed),
    ("algorithm.engine.engine_name", Text, Optional, Echoed),
    ("algorithm.engine.engine_version", Text, Optional, Echoed),
    ("algorithm.engine.image_url", Text, Optional, Echoed),
    ("algorithm.engine.image_repo_id", Text, Optional, Echoed),
    ("algorithm.engine.install_sys_packages", Bool, Optional, Echoed),
    ("algorithm.engine.run_user", Any, Optional, Echoed),
    ("algorithm.parameters", List, Optional, Acted),
    ("algorithm.parameters[]", Object, Required, Acted),
    ("algorithm.parameters[].name", Name, Required, Acted),
    ("algorithm.parameters[].value", Text, Optional, Acted),
    ("algorithm.parameters[].description", Text, Optional, Echoed),
    ("algorithm.parameters[].constraint", Object, Optional, Acted),
    ("algorithm.parameters[].constraint.type", Text, Optional, Acted),
    ("algorithm.parameters[].constraint.editable", Bool, Optional, Echoed),
    ("algorithm.parameters[].constraint.required", Bool, Optional, Acted),
    ("algorithm.parameters[].constraint.sensitive", Bool, Optional, Echoed),
    ("algorithm.parameters[].constraint.valid_type", OneOf(&["Choice", "Range", "None"]), Optional, Acted),
    ("algorithm.parameters[].constraint.valid_range", List, Optional, Acted),
    ("algorithm.parameters[].constraint.valid_range[]", Text, Required, Acted),
    ("algorithm.parameters[].i18n_description", Object, Optional, Echoed),
    ("algorithm.parameters[].i18n_description.language", OneOf(&["zh-cn", "en-us"]), Optional, Echoed),
    ("algorithm.parameters[].i18n_description.description", Text, Optional, Echoed),
    ("algorithm.policies", Object, Optional, Acted),
    ("algorithm.policies.auto_search", Object, Optional, Acted),
    ("algorithm.policies.auto_search.skip_search_params", Text, Optional, Acted),
    ("algorithm.policies.auto_search.reward_attrs", List, Optional, Acted),
    ("algorithm.policies.auto_search.reward_attrs[]", Object, Required, Acted),
    ("algorithm.policies.auto_search.reward_attrs[].name", Text, Required, Acted),
    ("algorithm.policies.auto_search.reward_attrs[].mode", OneOf(&["max", "min"]), Required, Acted),
    ("algorithm.policies.auto_search.reward_attrs[].regex", Text, Required, Acted),
    ("algorithm.policies.auto_search.search_params", List, Optional, Acted),
    ("algorithm.policies.auto_search.search_params[]", Object, Required, Acted),
    ("algorithm.policies.auto_search.search_params[].name", Name, Required, Acted),
    ("algorithm.policies.auto_search.search_params[].param_type", OneOf(&["continuous", "discrete"]), Optional, Acted),
    ("algorithm.policies.auto_search.search_params[].lower_bound", Text, Optional, Acted),
    ("algorithm.policies.auto_search.search_params[].upper_bound", Text, Optional, Acted),
    ("algorithm.policies.auto_search.search_params[].discrete_points_num", Text, Optional, Acted),
    ("algorithm.policies.auto_search.search_params[].discrete_values", List, Optional, Acted),
    ("algorithm.policies.auto_search.search_params[].discrete_values[]", Text, Required, Acted),
    ("algorithm.policies.auto_search.algo_configs", List, Optional, Acted),
    ("algorithm.policies.auto_search.algo_configs[]", Object, Required, Acted),
    ("algorithm.policies.auto_search.algo_configs[].name", Text, Required, Acted),
    ("algorithm.policies.auto_search.algo_configs[].params", List, Optional, Acted),
    ("algorithm.policies.auto_search.algo_configs[].params[]", Object, Required, Acted),
    ("algorithm.policies.auto_search.algo_configs[].params[].key", Text, Optional, Acted),
    ("algorithm.policies.auto_search.algo_configs[].params[].value", Text, Optional, Acted),
    ("algorithm.policies.auto_search.algo_configs[].params[].type", Text, Optional, Acted),
    ("algorithm.inputs", List, Optional, Acted),
    ("algorithm.inputs[]", Object, Required, Acted),
    ("algorithm.inputs[].name", Name, Required, Acted),
    ("algorithm.inputs[].description", Text, Optional, Echoed),
    ("algorithm.inputs[].local_dir", Text, Optional, Acted),
    ("algorithm.inputs[].access_method", OneOf(&["parameter", "env"]), Optional, Acted),
    ("algorithm.inputs[].remote", Object, Required, Acted),
    ("algorithm.inputs[].remote.obs", Object, Optional, Acted),
    ("algorithm.inputs[].remote.obs.obs_url", Text, Required, Acted),
    ("algorithm.inputs[].remote.dataset", Object, Optional, Acted),
    ("algorithm.inputs[].remote.dataset.id", Text, Required, Acted),
    ("algorithm.inputs[].remote.dataset.version_id", Text, Optional, Acted),
    ("algorithm.inputs[].remote.dataset.service_type", Text, Optional, Silent),
    ("algorithm.inputs[].remote.dataset.name", Text, Optional, Silent),
    ("algorithm.inputs[].remote.dataset.dataset_proportion", Number(1, 100), Optional, Refused),
    ("algorithm.inputs[].remote.dataset.obs_url", Any, Optional, ReadOnly),
    ("algorithm.inputs[].remote_constraint", List, Optional, Echoed),
    ("algorithm.inputs[].remote_constraint[]", Object, Required, Echoed),
    ("algorithm.inputs[].remote_constraint[].data_type", Text, Optional, Echoed),
    ("algorithm.inputs[].remote_constraint[].attributes", Any, Optional, Echoed),
    ("algorithm.outputs", List, Optional, Acted),
    ("algorithm.outputs[]", Object, Required, Acted),
    ("algorithm.outputs[].name", Name, Required, Acted),
    ("algorithm.outputs[].description", Text, Optional, Echoed),
    ("algorithm.outputs[].local_dir", Text, Optional, Acted),
    ("algorithm.outputs[].access_method", OneOf(&["parameter", "env"]), Optional, Acted),
    ("algorithm.outputs[].prefetch_to_local", Bool, Optional, Acted),
    ("algorithm.outputs[].mode", OneOf(&["upload_periodically"]), Optional, Echoed),
    ("algorithm.outputs[].period", Any, Optional, Acted),
    ("algorithm.outputs[].remote", Object, Required, Acted),
    ("algorithm.outputs[].remote.obs", Object, Optional, Acted),
    ("algorithm.outputs[].remote.obs.obs_url", Text, Required, Acted),
    ("algorithm.outputs[].remote.modelarts_hosted", Any, Optional, Refused),
    ("algorithm.environments", Texts(100, 8192, 4096), Optional, Acted),
    ("algorithm.summary", Object, Optional, Echoed),
    ("algorithm.summary.log_type", OneOf(&["tensorboard", "mindstudio-insight"]), Optional, Echoed),
    ("algorithm.summary.log_dir", Object, Optional, Echoed),
    ("algorithm.summary.log_dir.pfs", Object, Required, Echoed),
    ("algorithm.summary.log_dir.pfs.pfs_path", Text, Required, Echoed),
    ("algorithm.summary.data_sources", List, Optional, Echoed),
    ("algorithm.summary.data_sources[]", Object, Required, Echoed),
    ("algorithm.summary.data_sources[].job", Object, Required, Echoed),
    ("algorithm.summary.data_sources[].job.job_id", Text, Required, Echoed),
    ("algorithm.summary.data_sources[].nfs", Object, Optional, Echoed),
    ("algorithm.summary.data_sources[].nfs.nfs_path", Text, Required, Echoed),

    ("spec", Object, Optional, Acted),
    ("spec.resource", Object, Required, Acted),
    ("spec.resource.flavor_id", Text, Optional, Acted),
    ("spec.resource.pool_id", Text, Optional, Acted),
    ("spec.resource.node_count", Number(1, i64::MAX), Optional, Acted),
    ("spec.resource.pool_group_id", Text, Optional, Echoed),
    ("spec.resource.main_container_customized_flavor", Object, Optional, Echoed),
    ("spec.resource.main_container_customized_flavor.cpu_core_num", Above(0.0), Optional, Echoed),
    ("spec.resource.main_container_customized_flavor.mem_size", Above(0.0), Optional, Echoed),
    ("spec.resource.main_container_customized_flavor.accelerator_num", Decimal(0.0, f64::MAX), Optional, Echoed),
    ("spec.resource.flavor_name", Any, Optional, ReadOnly),
    ("spec.resource.flavor_detail", Any, Optional, ReadOnly),
    ("spec.volumes", List, Optional, Acted),
    ("spec.volumes[]", Object, Required, Acted),
    ("spec.volumes[].nfs", Object, Optional, Acted),
    ("spec.volumes[].nfs.nfs_server_path", Text, Required, Acted),
    ("spec.volumes[].nfs.local_path", Text, Required, Acted),
    ("spec.volumes[].nfs.read_only", Bool, Optional, Echoed),
    ("spec.volumes[].pfs", Object, Optional, Acted),
    ("spec.volumes[].pfs.pfs_path", Text, Required, Acted),
    ("spec.volumes[].pfs.local_path", Text, Required, Acted),
    ("spec.volumes[].obs", Object, Optional, Acted),
    ("spec.volumes[].obs.obs_path", Text, Required, Acted),
    ("spec.volumes[].obs.local_path", Text, Required, Acted),
    ("spec.log_export_path", Object, Optional, Acted),
    ("spec.log_export_path.obs_url", Text, Optional, Acted),
    ("spec.log_export_path.host_path", Text, Optional, Echoed),
    ("spec.auto_stop", Object, Optional, Acted),
    ("spec.auto_stop.time_unit", OneOf(&["HOURS"]), Required, Acted),
    ("spec.auto_stop.duration", Number(1, 72), Required, Acted),
    ("spec.schedule_policy", Object, Optional, Acted),
    ("spec.schedule_policy.priority", Number(1, i64::MAX), Optional, Acted),
    ("spec.schedule_policy.preemptible", Bool, Optional, Acted),
    ("spec.schedule_policy.required_affinity", Object, Optional, Echoed),
    ("spec.schedule_policy.required_affinity.affinity_type", OneOf(&["cabinet", "hyperinstance", "networkTopology"]), Optional, Echoed),
    ("spec.schedule_policy.required_affinity.affinity_group_size", Number(1, i64::MAX), Optional, Echoed),
    ("spec.schedule_policy.required_affinity.affinity_group_level", OneOf(&["hyperinstanceGroup", "hyperinstance", "slice"]), Optional, Echoed),
    ("spec.schedule_policy.required_affinity.job_level", OneOf(&["cluster", "hyperinstanceGroup"]), Optional, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity", Object, Optional, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms", List, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[]", Object, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions", List, Optional, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[]", Object, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].key", Text, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].operator", OneOf(OPERATORS), Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].values", List, Optional, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].values[]", Text, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields", List, Optional, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[]", Object, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].key", Text, Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].operator", OneOf(OPERATORS), Required, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].values", List, Optional, Echoed),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].values[]", Text, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity", Object, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity", List, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[]", Object, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].weight", Number(1, 100), Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference", Object, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions", List, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[]", Object, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].key", Text, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].operator", OneOf(OPERATORS), Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].values", List, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].values[]", Text, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields", List, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[]", Object, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].key", Text, Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].operator", OneOf(OPERATORS), Required, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].values", List, Optional, Echoed),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].values[]", Text, Required, Echoed),
    ("spec.notification", Object, Optional, Echoed),
    ("spec.notification.topic_urn", Text, Required, Echoed),
    ("spec.notification.events", Filled, Required, Echoed),
    ("spec.notification.events[]", OneOf(&["JobStarted", "JobCompleted", "JobFailed", "JobTerminated", "JobRestarted", "JobHanged", "JobPreempted"]), Required, Echoed),
    ("spec.custom_metrics", List, Optional, Echoed),
    ("spec.custom_metrics[]", Object, Required, Echoed),
    ("spec.custom_metrics[].metrics_url", Text, Optional, Echoed),
    ("spec.custom_metrics[].metrics_port", Number(1, 65_535), Optional, Echoed),
    ("spec.custom_metrics[].exec", Object, Optional, Echoed),
    ("spec.custom_metrics[].exec.command", Exactly(2), Required, Echoed),
    ("spec.custom_metrics[].exec.command[]", Plain(256), Required, Echoed),
    ("spec.custom_metrics[].http_get", Object, Optional, Echoed),
    ("spec.custom_metrics[].http_get.path", Between(2, 128), Required, Echoed),
    ("spec.custom_metrics[].http_get.port", Number(10_001, 20_000), Required, Echoed),
    ("spec.runtime_type", OneOf(&["debug", "production"]), Optional, Echoed),

    ("endpoints", Object, Optional, Echoed),
    ("endpoints.ssh", Object, Optional, Echoed),
    ("endpoints.ssh.key_pair_names", Filled, Required, Echoed),
    ("endpoints.ssh.key_pair_names[]", Text, Required, Echoed),
];

/// The rows of the README: top-level names with what becomes of them.
#[cfg(test)]
pub(crate) fn readme_rows() -> String {
    let mut rows = String::new();
    for (fate, text) in [
        (Acted, "acted on"),
        (Echoed, "stored and given back"),
        (Silent, "checked, not given back, like the service"),
        (ReadOnly, "written by the service: ignored in requests"),
        (Refused, "501, unless empty"),
    ] {
        let names: Vec<String> = lines()
            .filter(|line| line.3 == fate)
            // A parent stands for its children of the same fate.
            .filter(|line| {
                !lines().any(|parent| {
                    parent.3 == fate
                        && parent.0 != line.0
                        && line
                            .0
                            .strip_prefix(parent.0)
                            .is_some_and(|rest| rest.starts_with(['.', '[']))
                        && all_alike(parent.0, fate)
                })
            })
            .filter(|line| matches!(line.1, Object | List) <= all_alike(line.0, fate))
            .map(|line| format!("`{}`", line.0))
            .collect();
        rows.push_str(&format!("| {text} | {} |\n", names.join(", ")));
    }
    rows
}

/// Whether everything below a field has the same fate.
#[cfg(test)]
fn all_alike(parent: &str, fate: Fate) -> bool {
    lines().all(|line| {
        let below = line
            .0
            .strip_prefix(parent)
            .is_some_and(|rest| rest.starts_with(['.', '[']));
        !below || line.3 == fate
    })
}
