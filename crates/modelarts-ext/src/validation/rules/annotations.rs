//! Rules on the kind of job, its annotations and its environment variables.

use modelarts_api::request_path::job_algorithm;

use crate::validation::{
    annotations::{HANG_RETRY, RETRIES, SWITCHES, TEMPLATE},
    draft::Draft,
    json_path::{Fields, Located},
    rules::names::is_variable_name,
};

/// The limit on the length of a variable's name.
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
    switches
        .present()
        .filter(|field| !field.is("true") && !field.is("false"))
}

pub(super) fn hang_retry(job: Draft<'_>) -> Fields<'_> {
    let number = job.annotation(RETRIES);
    let is_missing = !number.is_present();
    number.when(is_missing && job.annotation(HANG_RETRY).is("true"))
}

pub(super) fn template(job: Draft<'_>) -> Fields<'_> {
    job.annotation(TEMPLATE)
        .when_text(|text| !["Template RL", "Template DL"].contains(&text))
}

fn variables(job: Draft<'_>) -> impl Iterator<Item = (&str, Located<'_>)> {
    let variables = job.programs().at(job_algorithm::ENVIRONMENTS).into_iter();
    variables.flat_map(|map| map.entries().collect::<Vec<_>>())
}

pub(super) fn variable_names(job: Draft<'_>) -> Fields<'_> {
    variables(job)
        .filter(|(name, _)| !is_variable_name(name) || name.len() > MAX_NAME_LENGTH)
        .map(|(_, field)| field)
        .collect()
}

pub(super) fn references(job: Draft<'_>) -> Fields<'_> {
    let values: Fields<'_> = variables(job).map(|(_, field)| field).collect();
    values.texts(|text| text.contains('$'))
}
