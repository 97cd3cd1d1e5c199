//! Rules on the kind of job, its annotations and its environment variables.

use modelarts_api::request_path::job_algorithm;

use crate::validation::{
    annotations::{HANG_RETRY, RETRIES, SWITCHES, TEMPLATE},
    draft::Draft,
    json_path::Fields,
    rules::names::is_variable_name,
};

/// Maximum length of a variable name, in bytes.
const MAX_NAME_LENGTH: usize = 8192;

pub(super) fn retries(job: Draft<'_>) -> Fields<'_> {
    let number = job.annotation(RETRIES);
    let most = job.cloud.max_retries();
    let is_right = |text: &str| text.parse().is_ok_and(|n: i64| (1..=most).contains(&n));
    let is_wrong = number.is_present() && !number.text().is_some_and(is_right);
    number.when(is_wrong)
}

pub(super) fn switches(job: Draft<'_>) -> Fields<'_> {
    let switches: Fields<'_> = SWITCHES.iter().map(|key| job.annotation(key)).collect();
    switches.present().filter(|field| !field.is("true") && !field.is("false"))
}

pub(super) fn hang_retry(job: Draft<'_>) -> Fields<'_> {
    let number = job.annotation(RETRIES);
    let is_missing = !number.is_present();
    number.when(is_missing && job.annotation(HANG_RETRY).is("true"))
}

pub(super) fn template(job: Draft<'_>) -> Fields<'_> {
    job.annotation(TEMPLATE).when_text(|text| !["Template RL", "Template DL"].contains(&text))
}

pub(super) fn variable_names(job: Draft<'_>) -> Fields<'_> {
    let is_wrong = |name: &str| !is_variable_name(name) || name.len() > MAX_NAME_LENGTH;
    let variables = job.programs().at(job_algorithm::ENVIRONMENTS).into_iter();
    variables
        .flat_map(|map| {
            let names = map.keys().filter(|name| is_wrong(name));
            names.map(|name| map.entry(name)).collect::<Fields<'_>>()
        })
        .collect()
}

/// Returns the environment variables whose values refer to another variable.
pub(super) fn references(job: Draft<'_>) -> Fields<'_> {
    let variables = job.programs().at(job_algorithm::ENVIRONMENTS).into_iter();
    let values: Fields<'_> = variables.flat_map(|map| map.entries()).collect();
    values.texts(|text| text.contains('$'))
}
