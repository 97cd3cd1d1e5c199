//! Names of the annotations that the service evaluates.

pub(crate) const RETRIES: &str = "fault-tolerance/job-retry-num";
pub(crate) const UNCONDITIONAL: &str = "fault-tolerance/job-unconditional-retry";
pub(crate) const HANG_RETRY: &str = "fault-tolerance/hang-retry";
pub(crate) const JUPYTER: &str = "jupyter-lab/enable";
pub(crate) const TENSORBOARD: &str = "tensorboard/enable";
pub(crate) const INSIGHT: &str = "mindstudio-insight/enable";
pub(super) const TEMPLATE: &str = "job_template";

/// Annotations whose value is `true` or `false`.
pub(super) const SWITCHES: [&str; 5] = [UNCONDITIONAL, HANG_RETRY, JUPYTER, TENSORBOARD, INSIGHT];

/// Annotations with any other kind of value.
pub(super) const OTHERS: [&str; 7] = [
    RETRIES,
    TEMPLATE,
    "key_task",
    "fault-tolerance/pod-retry-num",
    "fault-tolerance/hccl_op_retry",
    "performance_diagnosis_enabled",
    "record/code-dir",
];
