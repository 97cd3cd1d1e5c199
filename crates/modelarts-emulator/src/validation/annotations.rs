//! Rules on what stands beside code, data and place: annotations, variables, metrics, boards.

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::{
        creation::{Creation, text_of},
        names::is_variable,
    },
};

/// Names of annotations that have an effect.
pub(crate) struct Annotations;

impl Annotations {
    /// How often a failed job runs again.
    pub(crate) const RETRIES: &'static str = "fault-tolerance/job-retry-num";
    /// Whether any failure makes it run again.
    pub(crate) const UNCONDITIONAL: &'static str = "fault-tolerance/job-unconditional-retry";
    /// Whether a job that hangs is started again where it is.
    pub(crate) const HANG_RETRY: &'static str = "fault-tolerance/hang-retry";
}

const RETRIES: &str = Annotations::RETRIES;
const HANG_RETRY: &str = Annotations::HANG_RETRY;

const SWITCHES: [&str; 5] = [
    Annotations::UNCONDITIONAL,
    HANG_RETRY,
    "jupyter-lab/enable",
    "tensorboard/enable",
    "mindstudio-insight/enable",
];

fn broken(what: String) -> Result<(), ApiError> {
    Err(ApiError::invalid_parameter(what))
}

pub(crate) fn kind(draft: &Creation<'_>) -> Result<(), ApiError> {
    let kind = draft.text("/kind").unwrap_or_default();
    let known = draft.terms.cloud.kinds();
    if known.contains(&kind) {
        Ok(())
    } else {
        broken(format!("kind must be one of [{}]", known.join(" ")))
    }
}

pub(crate) fn tasks_or_spec(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.has_tasks() && draft.at("/spec").is_some() {
        return broken("tasks must not stand beside spec".into());
    }
    Ok(())
}

pub(crate) fn algorithm(draft: &Creation<'_>) -> Result<(), ApiError> {
    if !draft.has_tasks() && !draft.tunes() && draft.at("/algorithm").is_none() {
        return broken("algorithm is required".into());
    }
    Ok(())
}

pub(crate) fn spec(draft: &Creation<'_>) -> Result<(), ApiError> {
    if !draft.has_tasks() && draft.at("/spec").is_none() {
        return broken("spec is required".into());
    }
    Ok(())
}

pub(crate) fn retries(draft: &Creation<'_>) -> Result<(), ApiError> {
    let Some(text) = draft.annotation(RETRIES) else {
        return Ok(());
    };
    let range = draft.terms.cloud.retries();
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(()),
        _ => broken(format!(
            "metadata.annotations.{RETRIES} must be between {} and {}",
            range.start(),
            range.end()
        )),
    }
}

pub(crate) fn switches(draft: &Creation<'_>) -> Result<(), ApiError> {
    for key in SWITCHES {
        if !matches!(draft.annotation(key), None | Some("true" | "false")) {
            return broken(format!("metadata.annotations.{key} must be true or false"));
        }
    }
    Ok(())
}

pub(crate) fn hang_retry(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.annotation(HANG_RETRY) == Some("true") && draft.annotation(RETRIES).is_none() {
        return broken(format!(
            "metadata.annotations.{RETRIES} is required with {HANG_RETRY}"
        ));
    }
    Ok(())
}

pub(crate) fn template(draft: &Creation<'_>) -> Result<(), ApiError> {
    match draft.annotation("job_template") {
        None | Some("" | "Template RL" | "Template DL") => Ok(()),
        Some(_) => {
            broken("metadata.annotations.job_template must be Template RL or Template DL".into())
        }
    }
}

fn variables<'a>(draft: &Creation<'a>) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let variables = draft
        .at("/algorithm/environments")
        .and_then(Value::as_object);
    variables
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

pub(crate) fn environments(draft: &Creation<'_>) -> Result<(), ApiError> {
    if variables(draft).all(|(name, _)| is_variable(name)) {
        return Ok(());
    }
    broken("algorithm.environments must have names of letters, digits and underscores that do not start with a digit".into())
}

pub(crate) fn no_references(draft: &Creation<'_>) -> Result<(), ApiError> {
    match variables(draft).find(|(_, value)| value.contains('$')) {
        Some((name, _)) => broken(format!(
            "algorithm.environments.{name} must not refer to variables by $"
        )),
        None => Ok(()),
    }
}

pub(crate) fn metrics(draft: &Creation<'_>) -> Result<(), ApiError> {
    for (at, metric) in draft.list("/spec/custom_metrics").iter().enumerate() {
        let url = text_of(metric, "/metrics_url").is_some();
        let port = metric
            .get("metrics_port")
            .is_some_and(|port| !port.is_null());
        if url != port {
            return broken(format!(
                "spec.custom_metrics[{at}] must have metrics_url and metrics_port, or neither"
            ));
        }
    }
    Ok(())
}

/// The older documents have URL and port, the newer ones a command or an HTTP request.
pub(crate) fn metrics_in_one_form(draft: &Creation<'_>) -> Result<(), ApiError> {
    for (at, metric) in draft.list("/spec/custom_metrics").iter().enumerate() {
        let given = |name: &str| {
            let value = metric.get(name);
            value.is_some_and(|value| !value.is_null() && *value != "")
        };
        let older = given("metrics_url") || given("metrics_port");
        let forms = [older, given("exec"), given("http_get")];
        if forms.into_iter().filter(|form| *form).count() != 1 {
            return broken(format!(
                "spec.custom_metrics[{at}] must have one of metrics_url, exec and http_get"
            ));
        }
    }
    Ok(())
}

pub(crate) fn http_get(draft: &Creation<'_>) -> Result<(), ApiError> {
    for (at, metric) in draft.list("/spec/custom_metrics").iter().enumerate() {
        let request = metric.get("http_get").filter(|request| !request.is_null());
        let lacks = |name: &&str| {
            let value = request.and_then(|request| request.get(*name));
            value.is_none_or(|value| value.is_null() || *value == "")
        };
        if request.is_some()
            && let Some(name) = ["path", "port"].into_iter().find(|name| lacks(name))
        {
            return broken(format!(
                "spec.custom_metrics[{at}].http_get.{name} is required"
            ));
        }
    }
    Ok(())
}

pub(crate) fn notification_topic(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.at("/spec/notification").is_some() && !draft.has("/spec/notification/topic_urn") {
        return broken("spec.notification.topic_urn is required".into());
    }
    Ok(())
}

pub(crate) fn notification_events(draft: &Creation<'_>) -> Result<(), ApiError> {
    let events = "/spec/notification/events";
    if draft.at("/spec/notification").is_some() && draft.list(events).is_empty() {
        return broken("spec.notification.events is required".into());
    }
    Ok(())
}

pub(crate) fn key_pairs(draft: &Creation<'_>) -> Result<(), ApiError> {
    let names = "/endpoints/ssh/key_pair_names";
    if draft.at("/endpoints/ssh").is_some() && draft.list(names).is_empty() {
        return broken("endpoints.ssh.key_pair_names is required".into());
    }
    Ok(())
}

pub(crate) fn log_dir(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/summary/log_type") && draft.at("/algorithm/summary/log_dir").is_none()
    {
        return broken("algorithm.summary.log_dir is required with log_type".into());
    }
    Ok(())
}

pub(crate) fn data_sources(draft: &Creation<'_>) -> Result<(), ApiError> {
    let board = ["tensorboard/enable", "mindstudio-insight/enable"]
        .into_iter()
        .find(|key| draft.annotation(key) == Some("true"));
    match board {
        Some(key) if draft.list("/algorithm/summary/data_sources").is_empty() => broken(format!(
            "algorithm.summary.data_sources is required with {key}"
        )),
        _ => Ok(()),
    }
}

pub(crate) fn config_is_yaml(draft: &Creation<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/autosearch_config_path") {
        Some(path) if !(path.ends_with(".yaml") || path.ends_with(".yml")) => {
            broken("algorithm.autosearch_config_path must be a YAML file".into())
        }
        _ => Ok(()),
    }
}
