//! Validation rules for jobs from stored algorithms.

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::{
        creation::{Creation, list_of, text_of, value_at},
        rule::{Rule, advice, broken, broken_if, must, refusal},
    },
};

pub(super) const RULES: &[Rule] = &[
    must("subscription-and-version", |job| {
        broken_if(
            job.has("/algorithm/subscription_id") != job.has("/algorithm/item_version_id"),
            "algorithm.subscription_id and algorithm.item_version_id must be set together",
        )
    }),
    // If a job specifies two algorithms, `id` takes precedence over the subscription.
    advice("one-stored-algorithm", |job| {
        broken_if(
            job.has("/algorithm/id") && job.has("/algorithm/subscription_id"),
            "algorithm.id must not be set together with algorithm.subscription_id",
        )
    }),
    // Code and an engine in the job replace those of the algorithm.
    advice("stored-algorithm-code", |job| beside_stored(job, ["code_dir", "boot_file"])),
    advice("stored-algorithm-engine", |job| beside_stored(job, ["command", "engine"])),
    // The emulator has no gallery, so a job with a subscription must contain code, which is run.
    refusal("algorithm-exists", |job| {
        let has_code = job.has("/algorithm/boot_file") || job.has("/algorithm/command");
        let found = job.stored.is_some() || (has_code && !job.has("/algorithm/id"));
        (job.names_stored() && !found).then(ApiError::algorithm_not_found)
    }),
    refusal("job-fits-algorithm", job_fits_algorithm),
    refusal("data-fits-algorithm", data_fits_algorithm),
];

/// Returns an error if a job from a stored algorithm sets one of these fields as well.
fn beside_stored(job: &Creation<'_>, fields: [&str; 2]) -> Option<ApiError> {
    let is_set = |field: &&str| {
        let value = job.at(&format!("/algorithm/{field}"));
        value.is_some_and(|value| *value != "" && *value != serde_json::json!({}))
    };
    let field = fields.into_iter().filter(|_| job.names_stored()).find(is_set)?;
    broken(format_args!("algorithm.{field} must not be set together with a stored algorithm"))
}

fn name(element: &Value) -> &str {
    text_of(element, "/name").unwrap_or_default()
}

fn with_same_name<'a>(list: &'a [Value], other: &Value) -> Option<&'a Value> {
    list.iter().find(|element| name(element) == name(other))
}

/// Returns an error if parameters, inputs or outputs of a job do not match its algorithm.
fn job_fits_algorithm(job: &Creation<'_>) -> Option<ApiError> {
    let algorithm = job.stored?;
    let mismatch = wrong_parameter(job, algorithm)
        .or_else(|| unmatched_channel(job, algorithm, "inputs"))
        .or_else(|| unmatched_channel(job, algorithm, "outputs"))?;
    Some(ApiError::of(2814, &[name(mismatch)]))
}

/// Returns a parameter that is new without `parameters_customization`, or changed but not editable.
fn wrong_parameter<'a>(job: &Creation<'a>, algorithm: &Value) -> Option<&'a Value> {
    let may_add = value_at(algorithm, "/job_config/parameters_customization") == Some(&true.into());
    let of_algorithm = list_of(algorithm, "/job_config/parameters");
    let is_wrong = |parameter: &&Value| match with_same_name(of_algorithm, parameter) {
        None => !may_add,
        Some(preset) => {
            let is_fixed = preset.pointer("/constraint/editable") == Some(&false.into());
            is_fixed && text_of(preset, "/value") != text_of(parameter, "/value")
        }
    };
    job.list("/algorithm/parameters").iter().find(is_wrong)
}

/// Returns an input or output that only the job or only the algorithm has.
fn unmatched_channel<'a>(
    job: &Creation<'a>,
    algorithm: &'a Value,
    list: &str,
) -> Option<&'a Value> {
    let of_job = job.list(&format!("/algorithm/{list}"));
    let of_algorithm = list_of(algorithm, &format!("/job_config/{list}"));
    let lacks =
        |others: &'a [Value]| move |channel: &&Value| with_same_name(others, channel).is_none();
    let added = of_job.iter().find(lacks(of_algorithm));
    added.or_else(|| of_algorithm.iter().find(lacks(of_job)))
}

/// Returns an error for an input of a wrong data type. An input without listed types accepts all.
fn data_fits_algorithm(job: &Creation<'_>) -> Option<ApiError> {
    let of_algorithm = list_of(job.stored?, "/job_config/inputs");
    let refused = job.list("/algorithm/inputs").iter().find_map(|input| {
        let kind = match value_at(input, "/remote/dataset") {
            Some(_) => "modelarts_dataset",
            None => "obs",
        };
        let accepted: Vec<&str> = of_algorithm
            .iter()
            .filter(|preset| name(preset) == name(input))
            .flat_map(|preset| list_of(preset, "/remote_constraints"))
            .filter_map(|constraint| text_of(constraint, "/data_type"))
            .collect();
        (!accepted.is_empty() && !accepted.contains(&kind)).then_some(kind)
    })?;
    Some(ApiError::of(2834, &[refused]))
}
