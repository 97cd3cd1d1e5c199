//! Rules on custom metrics, notifications, SSH access and visualisation.

use crate::validation::{
    annotations::{INSIGHT, TENSORBOARD},
    draft::Draft,
    json_path::{Located, field_if},
};

pub(super) fn metrics_url<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let metrics = draft.at("spec.custom_metrics").items().into_iter();
    metrics
        .filter(|metric| {
            let [url, port] =
                ["metrics_url", "metrics_port"].map(|name| metric.at(name).is_given());
            url != port
        })
        .collect()
}

/// Metrics must have exactly one form: URL and port, a command, or an HTTP request
/// (`openapi/SOURCES.md`, D-63).
pub(super) fn metrics_form<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let metrics = draft.at("spec.custom_metrics").items().into_iter();
    metrics
        .filter(|metric| {
            let given = |name: &str| metric.at(name).value().is_some();
            let url_and_port = given("metrics_url") || given("metrics_port");
            let forms = [url_and_port, given("exec"), given("http_get")];
            forms.into_iter().filter(|form| *form).count() != 1
        })
        .collect()
}

pub(super) fn http_get<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let metrics = draft.at("spec.custom_metrics").items().into_iter();
    metrics
        .map(|metric| metric.at("http_get"))
        .filter(|http| http.value().is_some())
        .flat_map(|http| ["path", "port"].map(|name| http.at(name)))
        .filter(|field| !field.is_given())
        .collect()
}

pub(super) fn topic<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let topic = draft.at("spec.notification.topic_urn");
    let requested = draft.at("spec.notification").value().is_some();
    field_if(requested && !topic.is_given(), topic)
}

pub(super) fn events<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let events = draft.at("spec.notification.events");
    let requested = draft.at("spec.notification").value().is_some();
    field_if(requested && !events.is_given(), events)
}

pub(super) fn key_pairs<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let names = draft.at("endpoints.ssh.key_pair_names");
    let requested = draft.at("endpoints.ssh").value().is_some();
    field_if(requested && !names.is_given(), names)
}

pub(super) fn log_dir<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let directory = draft.at("algorithm.summary.log_dir");
    let needed = draft.has("algorithm.summary.log_type");
    field_if(needed && directory.value().is_none(), directory)
}

pub(super) fn data_sources<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let sources = draft.at("algorithm.summary.data_sources");
    let needed = [TENSORBOARD, INSIGHT]
        .iter()
        .any(|key| draft.annotation(key).is("true"));
    field_if(needed && !sources.is_given(), sources)
}
