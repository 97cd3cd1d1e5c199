//! Validation rules for custom metrics, notifications, SSH access and visualisation.

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::{
        creation::{Creation, text_of, value_at},
        rule::{Rule, advice, broken, broken_if, must},
    },
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
    // Exactly one form: a URL and a port, a command, or an HTTP request (SOURCES D-63).
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
    must("notification-topic", |job| lacking(job, "/spec/notification", "topic_urn")),
    must("notification-events", |job| lacking(job, "/spec/notification", "events")),
    must("ssh-key-pairs", |job| lacking(job, "/endpoints/ssh", "key_pair_names")),
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

/// Returns an error if an object lacks a member that must be a non-empty string or list.
fn lacking(job: &Creation<'_>, parent: &str, member: &str) -> Option<ApiError> {
    let is_given = match job.at(parent)?.get(member) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        _ => false,
    };
    let parent = parent[1..].replace('/', ".");
    broken_if(!is_given, format_args!("{parent}.{member} is required"))
}
