//! Validation rules for custom metrics, notifications, SSH access and visualisation.

use serde_json::Value;

use crate::validation::{
    creation::{text_of, value_at},
    rule::{Rule, advice, broken, broken_if, must},
};

const METRICS: &str = "/spec/custom_metrics";

pub(super) const RULES: &[Rule] = &[
    must("metrics-url-and-port", |job| {
        let at = job.list(METRICS).iter().position(|metric| {
            let url = text_of(metric, "/metrics_url").is_some();
            url != value_at(metric, "/metrics_port").is_some()
        })?;
        broken(format_args!(
            "spec.custom_metrics[{at}] must have metrics_url and metrics_port, or neither"
        ))
    }),
    // A custom metric has exactly one of three forms: a URL and a port, a command, or an HTTP
    // request (SOURCES D-63).
    must("metrics-one-form", |job| {
        let at = job.list(METRICS).iter().position(|metric| {
            let older = !is_blank(metric, "/metrics_url") || !is_blank(metric, "/metrics_port");
            let forms = [older, !is_blank(metric, "/exec"), !is_blank(metric, "/http_get")];
            forms.into_iter().filter(|form| *form).count() != 1
        })?;
        broken(format_args!(
            "spec.custom_metrics[{at}] must have one of metrics_url, exec and http_get"
        ))
    }),
    must("metrics-http-get", |job| {
        let mut metrics = job.list(METRICS).iter().enumerate();
        metrics.find_map(|(at, metric)| {
            let request = value_at(metric, "/http_get")?;
            let mut names = ["path", "port"].into_iter();
            let name = names.find(|name| is_blank(request, &format!("/{name}")))?;
            broken(format_args!("spec.custom_metrics[{at}].http_get.{name} is required"))
        })
    }),
    must("notification-topic", |job| {
        job.at("/spec/notification")?;
        broken_if(
            !job.has("/spec/notification/topic_urn"),
            "spec.notification.topic_urn is required",
        )
    }),
    must("notification-events", |job| {
        job.at("/spec/notification")?;
        broken_if(
            job.list("/spec/notification/events").is_empty(),
            "spec.notification.events is required",
        )
    }),
    must("ssh-key-pairs", |job| {
        job.at("/endpoints/ssh")?;
        broken_if(
            job.list("/endpoints/ssh/key_pair_names").is_empty(),
            "endpoints.ssh.key_pair_names is required",
        )
    }),
    must("summary-log-dir", |job| {
        let typed = job.has("/algorithm/summary/log_type");
        broken_if(
            typed && job.at("/algorithm/summary/log_dir").is_none(),
            "algorithm.summary.log_dir is required with log_type",
        )
    }),
    must("board-data-sources", |job| {
        let mut boards = ["tensorboard/enable", "mindstudio-insight/enable"].into_iter();
        let board = boards.find(|key| job.annotation(key) == Some("true"))?;
        broken_if(
            job.list("/algorithm/summary/data_sources").is_empty(),
            format_args!("algorithm.summary.data_sources is required with {board}"),
        )
    }),
    advice("search-config-yaml", |job| {
        let path = job.text("/algorithm/autosearch_config_path")?;
        broken_if(
            !(path.ends_with(".yaml") || path.ends_with(".yml")),
            "algorithm.autosearch_config_path must be a YAML file",
        )
    }),
];

fn is_blank(value: &Value, pointer: &str) -> bool {
    value_at(value, pointer).is_none_or(|value| *value == "")
}
