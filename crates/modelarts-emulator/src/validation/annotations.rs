//! Rules on annotations, environment variables, custom metrics, notifications and visualisation.

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::{
        creation::{Creation, text_of},
        names::is_variable,
    },
};

/// Names of annotations with an effect.
pub(crate) struct Annotations;

impl Annotations {
    /// Maximum number of restarts of a failed job.
    pub(crate) const RETRIES: &'static str = "fault-tolerance/job-retry-num";
    /// Any failure restarts the job.
    pub(crate) const UNCONDITIONAL: &'static str = "fault-tolerance/job-unconditional-retry";
    /// A job that hangs is restarted in place.
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

fn rule_broken(what: String) -> Result<(), ApiError> {
    Err(ApiError::invalid_parameter(what))
}

pub(super) fn kind_of_cloud(creation: &Creation<'_>) -> Result<(), ApiError> {
    let kind = creation.text("/kind").unwrap_or_default();
    let known = creation.offer.cloud.kinds();
    if known.contains(&kind) {
        Ok(())
    } else {
        rule_broken(format!("kind must be one of [{}]", known.join(" ")))
    }
}

pub(super) fn tasks_or_spec(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.has_tasks() && creation.at("/spec").is_some() {
        return rule_broken("tasks must not be set together with spec".into());
    }
    Ok(())
}

pub(super) fn algorithm_required(creation: &Creation<'_>) -> Result<(), ApiError> {
    if !creation.has_tasks() && !creation.is_fine_tuning() && creation.at("/algorithm").is_none() {
        return rule_broken("algorithm is required".into());
    }
    Ok(())
}

pub(super) fn spec_required(creation: &Creation<'_>) -> Result<(), ApiError> {
    if !creation.has_tasks() && creation.at("/spec").is_none() {
        return rule_broken("spec is required".into());
    }
    Ok(())
}

pub(super) fn retries_in_range(creation: &Creation<'_>) -> Result<(), ApiError> {
    let Some(text) = creation.annotation(RETRIES) else {
        return Ok(());
    };
    let range = creation.offer.cloud.retries();
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(()),
        _ => rule_broken(format!(
            "metadata.annotations.{RETRIES} must be between {} and {}",
            range.start(),
            range.end()
        )),
    }
}

pub(super) fn annotation_switches(creation: &Creation<'_>) -> Result<(), ApiError> {
    for key in SWITCHES {
        if !matches!(creation.annotation(key), None | Some("true" | "false")) {
            return rule_broken(format!("metadata.annotations.{key} must be true or false"));
        }
    }
    Ok(())
}

pub(super) fn hang_retry_needs_retries(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.annotation(HANG_RETRY) == Some("true") && creation.annotation(RETRIES).is_none() {
        return rule_broken(format!(
            "metadata.annotations.{RETRIES} is required with {HANG_RETRY}"
        ));
    }
    Ok(())
}

pub(super) fn job_template_known(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.annotation("job_template") {
        None | Some("" | "Template RL" | "Template DL") => Ok(()),
        Some(_) => rule_broken(
            "metadata.annotations.job_template must be Template RL or Template DL".into(),
        ),
    }
}

fn variables<'a>(creation: &Creation<'a>) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let variables = creation
        .at("/algorithm/environments")
        .and_then(Value::as_object);
    variables
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

pub(super) fn variable_names(creation: &Creation<'_>) -> Result<(), ApiError> {
    if variables(creation).all(|(name, _)| is_variable(name)) {
        return Ok(());
    }
    rule_broken("algorithm.environments must have names of letters, digits and underscores that do not start with a digit".into())
}

pub(super) fn variable_references(creation: &Creation<'_>) -> Result<(), ApiError> {
    match variables(creation).find(|(_, value)| value.contains('$')) {
        Some((name, _)) => rule_broken(format!(
            "algorithm.environments.{name} must not refer to variables by $"
        )),
        None => Ok(()),
    }
}

pub(super) fn metrics_url_and_port(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (at, metric) in creation.list("/spec/custom_metrics").iter().enumerate() {
        let url = text_of(metric, "/metrics_url").is_some();
        let port = metric
            .get("metrics_port")
            .is_some_and(|port| !port.is_null());
        if url != port {
            return rule_broken(format!(
                "spec.custom_metrics[{at}] must have metrics_url and metrics_port, or neither"
            ));
        }
    }
    Ok(())
}

/// Custom metrics have a URL and a port, or a command, or an HTTP request (SOURCES D-63).
pub(super) fn metrics_one_form(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (at, metric) in creation.list("/spec/custom_metrics").iter().enumerate() {
        let given = |name: &str| {
            let value = metric.get(name);
            value.is_some_and(|value| !value.is_null() && *value != "")
        };
        let older = given("metrics_url") || given("metrics_port");
        let forms = [older, given("exec"), given("http_get")];
        if forms.into_iter().filter(|form| *form).count() != 1 {
            return rule_broken(format!(
                "spec.custom_metrics[{at}] must have one of metrics_url, exec and http_get"
            ));
        }
    }
    Ok(())
}

pub(super) fn metrics_http_get(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (at, metric) in creation.list("/spec/custom_metrics").iter().enumerate() {
        let request = metric.get("http_get").filter(|request| !request.is_null());
        let lacks = |name: &&str| {
            let value = request.and_then(|request| request.get(*name));
            value.is_none_or(|value| value.is_null() || *value == "")
        };
        if request.is_some()
            && let Some(name) = ["path", "port"].into_iter().find(|name| lacks(name))
        {
            return rule_broken(format!(
                "spec.custom_metrics[{at}].http_get.{name} is required"
            ));
        }
    }
    Ok(())
}

pub(super) fn notification_topic(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.at("/spec/notification").is_some() && !creation.has("/spec/notification/topic_urn")
    {
        return rule_broken("spec.notification.topic_urn is required".into());
    }
    Ok(())
}

pub(super) fn notification_events(creation: &Creation<'_>) -> Result<(), ApiError> {
    let events = "/spec/notification/events";
    if creation.at("/spec/notification").is_some() && creation.list(events).is_empty() {
        return rule_broken("spec.notification.events is required".into());
    }
    Ok(())
}

pub(super) fn ssh_key_pairs(creation: &Creation<'_>) -> Result<(), ApiError> {
    let names = "/endpoints/ssh/key_pair_names";
    if creation.at("/endpoints/ssh").is_some() && creation.list(names).is_empty() {
        return rule_broken("endpoints.ssh.key_pair_names is required".into());
    }
    Ok(())
}

pub(super) fn summary_log_dir(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.has("/algorithm/summary/log_type")
        && creation.at("/algorithm/summary/log_dir").is_none()
    {
        return rule_broken("algorithm.summary.log_dir is required with log_type".into());
    }
    Ok(())
}

pub(super) fn board_data_sources(creation: &Creation<'_>) -> Result<(), ApiError> {
    let board = ["tensorboard/enable", "mindstudio-insight/enable"]
        .into_iter()
        .find(|key| creation.annotation(key) == Some("true"));
    match board {
        Some(key) if creation.list("/algorithm/summary/data_sources").is_empty() => rule_broken(
            format!("algorithm.summary.data_sources is required with {key}"),
        ),
        _ => Ok(()),
    }
}

pub(super) fn search_config_yaml(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text("/algorithm/autosearch_config_path") {
        Some(path) if !(path.ends_with(".yaml") || path.ends_with(".yml")) => {
            rule_broken("algorithm.autosearch_config_path must be a YAML file".into())
        }
        _ => Ok(()),
    }
}
