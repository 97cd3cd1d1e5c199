//! Every field of CreateTrainingJob: its type and limits, and what the emulator does with it. Those
//! of `tasks` and of models are in `tasks_and_models`.
//!
//! A field that breaks its line is `ModelArts.2788` with its name. A test holds both lists against
//! the description: no field is missing, and no line refuses what the description admits, but for
//! the few that it names. The last column is FIELDS.md.

pub(crate) mod ignored;
mod tasks_and_models;
#[cfg(test)]
mod tests;

use crate::validation::fields::tasks_and_models::TASKS_AND_MODELS;

/// The type of a field, with its limits.
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
    /// Any text. Only these have an effect here.
    Open(&'static [&'static str]),
    /// Any text. For others than these it is 501: the job could not run without the effect.
    Known(&'static [&'static str]),
    /// A whole number in this range.
    Number(i64, i64),
    /// A number in this range.
    Decimal(f64, f64),
    /// A number above this one.
    Above(f64),
    Bool,
    Object,
    List,
    /// A list of at most so many elements.
    AtMost(usize),
    /// A list of just so many elements.
    Exactly(usize),
    /// An object of texts: at most so many, names and values of at most so many characters.
    Texts(usize, usize, usize),
    /// Any JSON.
    Any,
}

/// The need for a field where its parent is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// The use that the emulator makes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It changes what happens.
    Acted,
    /// A record: stored and given back, which is all that the service does with it, too.
    Echoed,
    /// Stored and given back, without the effect that it has on the service.
    Stored,
    /// Stored, without the effect that it has on the service, and not given back: no answer of the
    /// service is known to have it.
    Unshown,
    /// A record that is stored and not given back: no answer of the service is known to have it.
    Silent,
    /// Written by the service only: ignored in requests.
    ReadOnly,
    /// 501 unless it is empty: the job could not run without it.
    Refused,
}

/// One line: path, type, need, fate. `[]` stands for each element of a list.
pub(crate) type Line = (&'static str, Type, Need, Fate);

use Fate::{Acted, Echoed, ReadOnly, Refused, Silent, Stored, Unshown};
use Need::{Optional, Required};
use Type::{
    Above, Any, Between, Bool, Decimal, Exactly, Known, List, Name, Number, Object, OneOf, Open,
    Plain, Text, Texts, UpTo,
};

const MANY: usize = usize::MAX;
/// Any number of 32 bits, as the description types it.
const INTEGER: Type = Number(i32::MIN as i64, i32::MAX as i64);
/// How a condition on nodes compares.
const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// All lines.
pub(crate) fn lines() -> impl Iterator<Item = &'static Line> {
    FIELDS.iter().chain(TASKS_AND_MODELS)
}

#[rustfmt::skip]
const FIELDS: &[Line] = &[
    ("kind", Text, Required, Acted),
    ("metadata", Object, Required, Acted),
    ("metadata.name", Name, Required, Acted),
    ("metadata.description", UpTo(256), Optional, Echoed),
    ("metadata.workspace_id", Text, Optional, Acted),
    ("metadata.annotations", Texts(MANY, MANY, MANY), Optional, Acted),
    ("metadata.annotations.fault-tolerance/pod-retry-num", Text, Optional, Stored),
    ("metadata.annotations.fault-tolerance/hccl_op_retry", Text, Optional, Stored),
    ("metadata.annotations.job_template", Text, Optional, Stored),
    ("metadata.annotations.jupyter-lab/enable", Text, Optional, Stored),
    ("metadata.annotations.mindstudio-insight/enable", Text, Optional, Stored),
    ("metadata.annotations.performance_diagnosis_enabled", Text, Optional, Stored),
    ("metadata.annotations.record/code-dir", Text, Optional, Stored),
    ("metadata.annotations.tensorboard/enable", Text, Optional, Stored),
    ("metadata.training_experiment_reference", Object, Optional, Echoed),
    ("metadata.training_experiment_reference.id", Text, Optional, Acted),
    ("metadata.training_experiment_reference.name", UpTo(64), Optional, Echoed),
    ("metadata.training_experiment_reference.description", UpTo(256), Optional, Silent),
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
    ("algorithm.autosearch_config_path", Text, Optional, Stored),
    ("algorithm.autosearch_framework_path", Text, Optional, Stored),
    ("algorithm.engine", Object, Optional, Acted),
    ("algorithm.engine.engine_id", Text, Optional, Acted),
    ("algorithm.engine.engine_name", Text, Optional, Acted),
    ("algorithm.engine.engine_version", Text, Optional, Acted),
    ("algorithm.engine.image_url", Text, Optional, Acted),
    ("algorithm.engine.image_repo_id", Text, Optional, Stored),
    ("algorithm.engine.install_sys_packages", Bool, Optional, Stored),
    ("algorithm.engine.run_user", Any, Optional, Stored),
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
    ("algorithm.parameters[].constraint.valid_type", Open(&["Choice", "Range", "None"]), Optional, Acted),
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
    ("algorithm.policies.auto_search.reward_attrs[].name", Text, Optional, Acted),
    ("algorithm.policies.auto_search.reward_attrs[].mode", Known(&["max", "min"]), Optional, Acted),
    ("algorithm.policies.auto_search.reward_attrs[].regex", Text, Optional, Acted),
    ("algorithm.policies.auto_search.search_params", List, Optional, Acted),
    ("algorithm.policies.auto_search.search_params[]", Object, Required, Acted),
    ("algorithm.policies.auto_search.search_params[].name", Name, Required, Acted),
    ("algorithm.policies.auto_search.search_params[].param_type", Known(&["continuous", "discrete"]), Optional, Acted),
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
    ("algorithm.inputs[].name", Name, Optional, Acted),
    ("algorithm.inputs[].description", Text, Optional, Echoed),
    ("algorithm.inputs[].local_dir", Text, Optional, Acted),
    ("algorithm.inputs[].access_method", Open(&["parameter", "env"]), Optional, Acted),
    ("algorithm.inputs[].remote", Object, Required, Acted),
    ("algorithm.inputs[].remote.obs", Object, Optional, Acted),
    ("algorithm.inputs[].remote.obs.obs_url", Text, Required, Acted),
    ("algorithm.inputs[].remote.dataset", Object, Optional, Acted),
    ("algorithm.inputs[].remote.dataset.id", Text, Required, Acted),
    ("algorithm.inputs[].remote.dataset.version_id", Text, Optional, Acted),
    ("algorithm.inputs[].remote.dataset.service_type", Text, Optional, Acted),
    ("algorithm.inputs[].remote.dataset.name", Text, Optional, Echoed),
    ("algorithm.inputs[].remote.dataset.dataset_proportion", Number(1, 100), Optional, Unshown),
    ("algorithm.inputs[].remote.dataset.obs_url", Any, Optional, ReadOnly),
    ("algorithm.inputs[].remote_constraint", List, Optional, Stored),
    ("algorithm.inputs[].remote_constraint[]", Object, Required, Stored),
    ("algorithm.inputs[].remote_constraint[].data_type", Text, Optional, Stored),
    ("algorithm.inputs[].remote_constraint[].attributes", Any, Optional, Stored),
    ("algorithm.outputs", List, Optional, Acted),
    ("algorithm.outputs[]", Object, Required, Acted),
    ("algorithm.outputs[].name", Name, Required, Acted),
    ("algorithm.outputs[].description", Text, Optional, Echoed),
    ("algorithm.outputs[].local_dir", Text, Optional, Acted),
    ("algorithm.outputs[].access_method", Open(&["parameter", "env"]), Optional, Acted),
    ("algorithm.outputs[].prefetch_to_local", Bool, Optional, Acted),
    ("algorithm.outputs[].mode", Open(&["upload_periodically"]), Optional, Acted),
    ("algorithm.outputs[].period", Any, Optional, Acted),
    ("algorithm.outputs[].remote", Object, Required, Acted),
    ("algorithm.outputs[].remote.obs", Object, Optional, Acted),
    ("algorithm.outputs[].remote.obs.obs_url", Text, Required, Acted),
    ("algorithm.outputs[].remote.modelarts_hosted", Any, Optional, Refused),
    ("algorithm.environments", Texts(100, 8192, 4096), Optional, Acted),
    ("algorithm.summary", Object, Optional, Stored),
    ("algorithm.summary.log_type", Text, Optional, Stored),
    ("algorithm.summary.log_dir", Object, Optional, Stored),
    ("algorithm.summary.log_dir.pfs", Object, Required, Stored),
    ("algorithm.summary.log_dir.pfs.pfs_path", Text, Required, Stored),
    ("algorithm.summary.data_sources", List, Optional, Stored),
    ("algorithm.summary.data_sources[]", Object, Required, Stored),
    ("algorithm.summary.data_sources[].job", Object, Required, Stored),
    ("algorithm.summary.data_sources[].job.job_id", Text, Required, Stored),
    ("algorithm.summary.data_sources[].nfs", Object, Optional, Unshown),
    ("algorithm.summary.data_sources[].nfs.nfs_path", Text, Required, Unshown),

    ("spec", Object, Optional, Acted),
    ("spec.resource", Object, Optional, Acted),
    ("spec.resource.flavor_id", Text, Optional, Acted),
    ("spec.resource.pool_id", Text, Optional, Acted),
    ("spec.resource.node_count", Number(1, i64::MAX), Optional, Acted),
    ("spec.resource.pool_group_id", Text, Optional, Stored),
    ("spec.resource.main_container_customized_flavor", Object, Optional, Stored),
    ("spec.resource.main_container_customized_flavor.cpu_core_num", Above(0.0), Optional, Stored),
    ("spec.resource.main_container_customized_flavor.mem_size", Above(0.0), Optional, Stored),
    ("spec.resource.main_container_customized_flavor.accelerator_num", Decimal(0.0, f64::MAX), Optional, Stored),
    ("spec.resource.flavor_name", Any, Optional, ReadOnly),
    ("spec.resource.flavor_detail", Any, Optional, ReadOnly),
    ("spec.volumes", List, Optional, Acted),
    ("spec.volumes[]", Object, Required, Acted),
    ("spec.volumes[].nfs", Object, Optional, Acted),
    ("spec.volumes[].nfs.nfs_server_path", Text, Optional, Acted),
    ("spec.volumes[].nfs.local_path", Text, Optional, Acted),
    ("spec.volumes[].nfs.read_only", Bool, Optional, Stored),
    ("spec.volumes[].pfs", Object, Optional, Acted),
    ("spec.volumes[].pfs.pfs_path", Text, Optional, Acted),
    ("spec.volumes[].pfs.local_path", Text, Optional, Acted),
    ("spec.volumes[].obs", Object, Optional, Acted),
    ("spec.volumes[].obs.obs_path", Text, Optional, Acted),
    ("spec.volumes[].obs.local_path", Text, Optional, Acted),
    ("spec.log_export_path", Object, Optional, Acted),
    ("spec.log_export_path.obs_url", Text, Optional, Acted),
    ("spec.log_export_path.host_path", Text, Optional, Stored),
    ("spec.auto_stop", Object, Optional, Acted),
    ("spec.auto_stop.time_unit", Known(&["HOURS"]), Required, Acted),
    ("spec.auto_stop.duration", Number(1, 72), Required, Acted),
    ("spec.schedule_policy", Object, Optional, Acted),
    ("spec.schedule_policy.priority", Number(0, i64::MAX), Optional, Acted),
    ("spec.schedule_policy.preemptible", Bool, Optional, Acted),
    ("spec.schedule_policy.required_affinity", Object, Optional, Stored),
    ("spec.schedule_policy.required_affinity.affinity_type", Text, Optional, Stored),
    ("spec.schedule_policy.required_affinity.affinity_group_size", Number(1, i64::MAX), Optional, Stored),
    ("spec.schedule_policy.required_affinity.affinity_group_level", Text, Optional, Stored),
    ("spec.schedule_policy.required_affinity.job_level", Text, Optional, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity", Object, Optional, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms", List, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[]", Object, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions", List, Optional, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[]", Object, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].key", Text, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].operator", OneOf(OPERATORS), Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].values", List, Optional, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchExpressions[].values[]", Text, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields", List, Optional, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[]", Object, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].key", Text, Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].operator", OneOf(OPERATORS), Required, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].values", List, Optional, Stored),
    ("spec.schedule_policy.required_affinity.node_affinity.nodeSelectorTerms[].matchFields[].values[]", Text, Required, Stored),
    ("spec.schedule_policy.preferred_affinity", Object, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity", List, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[]", Object, Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].weight", Number(0, 100), Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference", Object, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions", List, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[]", Object, Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].key", Text, Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].operator", OneOf(OPERATORS), Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].values", List, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchExpressions[].values[]", Text, Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields", List, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[]", Object, Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].key", Text, Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].operator", OneOf(OPERATORS), Required, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].values", List, Optional, Stored),
    ("spec.schedule_policy.preferred_affinity.node_affinity[].preference.matchFields[].values[]", Text, Required, Stored),
    ("spec.notification", Object, Optional, Stored),
    ("spec.notification.topic_urn", Text, Optional, Stored),
    ("spec.notification.events", List, Optional, Stored),
    ("spec.notification.events[]", Text, Required, Stored),
    ("spec.custom_metrics", List, Optional, Stored),
    ("spec.custom_metrics[]", Object, Required, Stored),
    ("spec.custom_metrics[].metrics_url", Text, Optional, Stored),
    ("spec.custom_metrics[].metrics_port", INTEGER, Optional, Stored),
    ("spec.custom_metrics[].exec", Object, Optional, Stored),
    ("spec.custom_metrics[].exec.command", Exactly(2), Optional, Stored),
    ("spec.custom_metrics[].exec.command[]", Plain(256), Required, Stored),
    ("spec.custom_metrics[].http_get", Object, Optional, Stored),
    ("spec.custom_metrics[].http_get.path", Between(2, 128), Optional, Stored),
    ("spec.custom_metrics[].http_get.port", Number(10_001, 20_000), Optional, Stored),
    ("spec.runtime_type", Text, Optional, Stored),

    ("endpoints", Object, Optional, Stored),
    ("endpoints.ssh", Object, Optional, Stored),
    ("endpoints.ssh.key_pair_names", List, Optional, Stored),
    ("endpoints.ssh.key_pair_names[]", Text, Required, Stored),
];
