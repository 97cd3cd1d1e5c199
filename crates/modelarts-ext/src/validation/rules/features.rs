//! Rules on annotations, variables, metrics, notifications, SSH access and visualisation.

use modelarts_api::request_path::{
    create_training_job::{algorithm::summary, spec},
    custom_metrics::{EXEC, HTTP_GET, METRICS_PORT, METRICS_URL},
    http_metrics, job_algorithm,
};

use crate::validation::{
    draft::{Draft, HANG_RETRY, INSIGHT, RETRIES, SWITCHES, TEMPLATE, TENSORBOARD},
    json_path::Fields,
    obs_path::is_variable_name,
};

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

pub(super) fn references(job: Draft<'_>) -> Fields<'_> {
    let variables = job.programs().at(job_algorithm::ENVIRONMENTS).into_iter();
    let values: Fields<'_> = variables.flat_map(|map| map.entries()).collect();
    values.texts(|text| text.contains('$'))
}

fn metrics(job: Draft<'_>) -> Fields<'_> {
    job.at(spec::CUSTOM_METRICS).items()
}

pub(super) fn metrics_url(job: Draft<'_>) -> Fields<'_> {
    metrics(job).filter(|metric| metric.has(METRICS_URL) != metric.has(METRICS_PORT))
}

/// Returns metrics without exactly one form: URL and port, command, or HTTP request (SOURCES D-63).
pub(super) fn metrics_form(job: Draft<'_>) -> Fields<'_> {
    let forms: [&[&str]; 3] = [&[METRICS_URL, METRICS_PORT], &[EXEC], &[HTTP_GET]];
    metrics(job).filter(|metric| {
        let is_used = |form: &&&[&str]| form.iter().any(|path| metric.at(path).is_present());
        forms.iter().filter(is_used).count() != 1
    })
}

pub(super) fn http_get(job: Draft<'_>) -> Fields<'_> {
    let requests = metrics(job).at(HTTP_GET).present();
    requests.at_all(&[http_metrics::PATH, http_metrics::PORT]).missing()
}

pub(super) fn required_with<'a>(job: Draft<'a>, parent: &str, path: &str) -> Fields<'a> {
    job.at(path).when(job.at(parent).is_present() && !job.has(path))
}

pub(super) fn log_dir(job: Draft<'_>) -> Fields<'_> {
    let directory = job.at(summary::LOG_DIR);
    let is_missing = job.has(summary::LOG_TYPE) && !directory.is_present();
    directory.when(is_missing)
}

pub(super) fn data_sources(job: Draft<'_>) -> Fields<'_> {
    let is_shown = [TENSORBOARD, INSIGHT].iter().any(|key| job.annotation(key).is("true"));
    job.at(summary::DATA_SOURCES).when(is_shown && !job.has(summary::DATA_SOURCES))
}
