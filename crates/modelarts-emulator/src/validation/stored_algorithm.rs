//! Validation rules for jobs from stored algorithms.

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::{
        creation::{Creation, given, list_of, text_of},
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
    // If the job contains its own code, its code and engine replace those of the algorithm.
    advice("stored-algorithm-code", |job| {
        beside_stored(job, ["code_dir", "boot_file"])
    }),
    advice("stored-algorithm-engine", |job| {
        beside_stored(job, ["command", "engine"])
    }),
    // Subscriptions refer to a gallery that the emulator does not have. A job may therefore refer
    // to a subscription only if it contains its own code, which is executed.
    refusal("algorithm-exists", |job| {
        let own = job.has("/algorithm/boot_file") || job.has("/algorithm/command");
        let found = job.stored.is_some() || (own && !job.has("/algorithm/id"));
        (job.names_stored() && !found).then(ApiError::algorithm_not_found)
    }),
    refusal("job-fits-algorithm", job_fits_algorithm),
    refusal("data-fits-algorithm", data_fits_algorithm),
];

fn beside_stored(job: &Creation<'_>, own: [&str; 2]) -> Option<ApiError> {
    let own = own
        .into_iter()
        .filter(|_| job.names_stored())
        .find(|name| {
            let value = job.at(&format!("/algorithm/{name}"));
            value.is_some_and(|value| *value != "" && *value != serde_json::json!({}))
        })?;
    broken(format_args!(
        "algorithm.{own} must not be set together with a stored algorithm"
    ))
}

fn name(parameter: &Value) -> &str {
    text_of(parameter, "/name").unwrap_or_default()
}

fn named<'a>(list: &'a [Value], other: &Value) -> Option<&'a Value> {
    list.iter().find(|one| name(one) == name(other))
}

/// Returns an error if parameters, inputs or outputs of a job do not match its algorithm.
/// Additional parameters require `parameters_customization`, and parameters that are not editable
/// must keep their values.
fn job_fits_algorithm(job: &Creation<'_>) -> Option<ApiError> {
    let stored = job.stored?;
    let open = given(stored, "/job_config/parameters_customization") == Some(&true.into());
    let parameters = list_of(stored, "/job_config/parameters");
    let is_changed = |known: &Value, own: &Value| {
        let fixed = known.pointer("/constraint/editable") == Some(&false.into());
        fixed && text_of(known, "/value") != text_of(own, "/value")
    };
    let changed = job
        .list("/algorithm/parameters")
        .iter()
        .find(|own| named(parameters, own).map_or(!open, |known| is_changed(known, own)));
    let mismatch = changed.or_else(|| {
        ["inputs", "outputs"].into_iter().find_map(|list| {
            let own = job.list(&format!("/algorithm/{list}"));
            let known = list_of(stored, &format!("/job_config/{list}"));
            let unknown = own.iter().find(|channel| named(known, channel).is_none());
            unknown.or_else(|| known.iter().find(|channel| named(own, channel).is_none()))
        })
    })?;
    Some(ApiError::of(2814, &[name(mismatch)]))
}

/// Returns an error if the data type of an input is not accepted by the algorithm. An input for
/// which the algorithm lists no data types accepts all.
fn data_fits_algorithm(job: &Creation<'_>) -> Option<ApiError> {
    let inputs = list_of(job.stored?, "/job_config/inputs");
    let refused = job.list("/algorithm/inputs").iter().find_map(|input| {
        let known = inputs.iter().filter(|known| name(known) == name(input));
        let kinds: Vec<&str> = known
            .flat_map(|known| list_of(known, "/remote_constraints"))
            .filter_map(|constraint| text_of(constraint, "/data_type"))
            .collect();
        let kind = match given(input, "/remote/dataset") {
            Some(_) => "modelarts_dataset",
            None => "obs",
        };
        (!kinds.is_empty() && !kinds.contains(&kind)).then_some(kind)
    })?;
    Some(ApiError::of(2834, &[refused]))
}
