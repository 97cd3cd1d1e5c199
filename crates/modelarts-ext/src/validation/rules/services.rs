//! Rules on custom metrics, notifications, SSH access and visualisation.

use modelarts_api::request_path::{
    create_training_job::{algorithm::summary, spec},
    custom_metrics::{EXEC, HTTP_GET, METRICS_PORT, METRICS_URL},
    http_metrics,
};

use crate::validation::{
    annotations::{INSIGHT, TENSORBOARD},
    draft::Draft,
    json_path::Fields,
};

fn metrics(job: Draft<'_>) -> Fields<'_> {
    job.at(spec::CUSTOM_METRICS).items()
}

pub(super) fn metrics_url(job: Draft<'_>) -> Fields<'_> {
    metrics(job).filter(|metric| metric.has(METRICS_URL) != metric.has(METRICS_PORT))
}

/// Returns the custom metrics that do not specify exactly one of these forms: URL and port,
/// command, HTTP request (`openapi/SOURCES.md`, D-63).
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

/// Returns the field at `path` if it is absent although `parent` is set.
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
