//! Validation rules for the kind and structure of a job, and for its annotations.

use crate::validation::rule::{Rule, advice, broken, broken_if, must};

/// Annotation for the maximum number of restarts of a failed job.
pub(crate) const RETRIES: &str = "fault-tolerance/job-retry-num";
/// Annotation with which any failure restarts the job.
pub(crate) const UNCONDITIONAL: &str = "fault-tolerance/job-unconditional-retry";
/// Annotation with which a hanging job is restarted in place.
pub(crate) const HANG_RETRY: &str = "fault-tolerance/hang-retry";
const SWITCHES: [&str; 5] = [
    UNCONDITIONAL,
    HANG_RETRY,
    "jupyter-lab/enable",
    "tensorboard/enable",
    "mindstudio-insight/enable",
];

pub(super) const RULES: &[Rule] = &[
    must("kind-of-cloud", |job| {
        let known = job.offer.cloud.kinds();
        broken_if(
            !known.contains(&job.text("/kind").unwrap_or_default()),
            format_args!("kind must be one of [{}]", known.join(" ")),
        )
    }),
    advice("tasks-or-spec", |job| {
        let both = job.has_tasks() && job.at("/spec").is_some();
        broken_if(both, "tasks must not be set together with spec")
    }),
    must("algorithm-required", |job| {
        let needed = !job.has_tasks() && !job.is_fine_tuning();
        broken_if(needed && job.at("/algorithm").is_none(), "algorithm is required")
    }),
    must("spec-required", |job| {
        let lacking = !job.has_tasks() && job.at("/spec").is_none();
        broken_if(lacking, "spec is required")
    }),
    must("retries-in-range", |job| {
        let range = job.offer.cloud.retries();
        let number = job.annotation(RETRIES)?.parse();
        if number.is_ok_and(|number| range.contains(&number)) {
            return None;
        }
        let (least, most) = range.into_inner();
        broken(format_args!("metadata.annotations.{RETRIES} must be between {least} and {most}"))
    }),
    advice("annotation-switches", |job| {
        let switch = |key: &str| matches!(job.annotation(key), None | Some("true" | "false"));
        let key = SWITCHES.into_iter().find(|key| !switch(key))?;
        broken(format_args!("metadata.annotations.{key} must be true or false"))
    }),
    advice("hang-retry-needs-retries", |job| {
        let hang_retry = job.annotation(HANG_RETRY) == Some("true");
        broken_if(
            hang_retry && job.annotation(RETRIES).is_none(),
            format_args!("metadata.annotations.{RETRIES} is required with {HANG_RETRY}"),
        )
    }),
    advice("job-template-known", |job| {
        let known = ["", "Template RL", "Template DL"];
        broken_if(
            !known.contains(&job.annotation("job_template")?),
            "metadata.annotations.job_template must be Template RL or Template DL",
        )
    }),
];
