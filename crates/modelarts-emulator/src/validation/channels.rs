//! Rules on inputs and outputs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    api::error::ApiError,
    files::confined_dir::ConfinedDir,
    validation::{
        creation::{Creation, text_of},
        names::is_variable,
    },
};

const LISTS: [&str; 2] = ["inputs", "outputs"];

/// Each channel, with its path for messages.
fn channels<'a>(creation: &Creation<'a>) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let creation = *creation;
    LISTS.into_iter().flat_map(move |list| {
        let channels = creation.list(&format!("/algorithm/{list}")).iter();
        channels
            .enumerate()
            .map(move |(at, channel)| (format!("algorithm.{list}[{at}]"), channel))
    })
}

/// Inputs are named, except in fine-tuning jobs.
pub(super) fn input_named(creation: &Creation<'_>) -> Result<(), ApiError> {
    let inputs = creation.list("/algorithm/inputs");
    let unnamed = |input: &Value| text_of(input, "/name").is_none();
    match inputs.iter().position(unnamed) {
        Some(at) if !creation.is_fine_tuning() => Err(ApiError::invalid_parameter(format!(
            "algorithm.inputs[{at}].name is required"
        ))),
        _ => Ok(()),
    }
}

pub(super) fn channel_names_different(creation: &Creation<'_>) -> Result<(), ApiError> {
    for list in LISTS {
        let mut names = BTreeSet::new();
        for channel in creation.list(&format!("/algorithm/{list}")) {
            if let Some(name) = text_of(channel, "/name")
                && !names.insert(name)
            {
                return Err(ApiError::channel());
            }
        }
    }
    Ok(())
}

pub(super) fn channel_directories_different(creation: &Creation<'_>) -> Result<(), ApiError> {
    let mut places = BTreeSet::new();
    for (path, channel) in channels(creation) {
        if let Some(place) = text_of(channel, "/local_dir")
            && !places.insert(place.trim_end_matches('/'))
        {
            return Err(ApiError::invalid_parameter(format!(
                "{path}.local_dir must not be that of another channel"
            )));
        }
    }
    Ok(())
}

pub(super) fn hosted_once(creation: &Creation<'_>) -> Result<(), ApiError> {
    let hosted = creation
        .list("/algorithm/outputs")
        .iter()
        .filter(|output| output.pointer("/remote/modelarts_hosted").is_some())
        .count();
    if hosted > 1 {
        return Err(ApiError::of(2754, &[]));
    }
    Ok(())
}

pub(super) fn channel_kind(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (_, channel) in channels(creation) {
        let Some(remote) = channel.get("remote").and_then(Value::as_object) else {
            continue;
        };
        let known = ["obs", "dataset", "modelarts_hosted"];
        if remote.keys().any(|kind| !known.contains(&kind.as_str())) {
            return Err(ApiError::of(2854, &[]));
        }
    }
    Ok(())
}

pub(super) fn channel_one_source(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (path, channel) in channels(creation) {
        let given = |kind: &str| {
            channel
                .pointer(&format!("/remote/{kind}"))
                .is_some_and(|value| !value.is_null())
        };
        let input = path.starts_with("algorithm.inputs");
        let hosted = !input && given("modelarts_hosted");
        match (given("obs"), input && given("dataset")) {
            (false, false) if !hosted => {
                return Err(ApiError::invalid_parameter(format!(
                    "{path}.remote.obs is required"
                )));
            }
            (true, true) => {
                return Err(ApiError::invalid_parameter(format!(
                    "{path}.remote must have obs or dataset, not both"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn channel_variable_name(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (path, channel) in channels(creation) {
        if text_of(channel, "/access_method") == Some("env")
            && !is_variable(text_of(channel, "/name").unwrap_or_default())
        {
            return Err(ApiError::invalid_parameter(format!(
                "{path}.name must be the name of an environment variable, as access_method is env"
            )));
        }
    }
    Ok(())
}

/// `attributes` is an object, an object as text, or the name of one (SOURCES D-17).
pub(super) fn constraint_attributes(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (path, channel) in channels(creation) {
        let constraints = channel.get("remote_constraint").and_then(Value::as_array);
        for (at, constraint) in constraints.into_iter().flatten().enumerate() {
            let known = ["data_format", "data_segmentation", "dataset_type"];
            let attributes = match constraint.get("attributes") {
                Some(Value::String(text)) if known.contains(&text.as_str()) => continue,
                Some(Value::String(text)) if text.is_empty() => continue,
                Some(Value::String(text)) => match serde_json::from_str(text) {
                    Ok(value) => value,
                    Err(_) => {
                        return Err(ApiError::invalid_parameter(format!(
                            "{path}.remote_constraint[{at}].attributes must be one of [{}]",
                            known.join(" ")
                        )));
                    }
                },
                Some(value) => value.clone(),
                None => Value::Null,
            };
            let objects = match &attributes {
                Value::Array(list) => list.as_slice(),
                one => std::slice::from_ref(one),
            };
            let unknown = objects
                .iter()
                .filter_map(Value::as_object)
                .flat_map(|object| object.keys())
                .find(|key| !known.contains(&key.as_str()));
            if let Some(key) = unknown {
                return Err(ApiError::invalid_parameter(format!(
                    "{path}.remote_constraint[{at}].attributes must not have {key}"
                )));
            }
        }
    }
    Ok(())
}

/// The id and the version of each data set.
fn datasets<'a>(
    creation: &Creation<'a>,
) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
    let inputs = creation.list("/algorithm/inputs").iter();
    inputs.filter_map(|input| {
        let id = text_of(input, "/remote/dataset/id")?;
        Some((id, text_of(input, "/remote/dataset/version_id")))
    })
}

fn dataset_present(creation: &Creation<'_>, below: &[&str]) -> bool {
    let plain = below
        .iter()
        .all(|name| !name.contains('/') && !matches!(*name, "." | ".."));
    let Some(root) = creation.offer.datasets.as_ref().filter(|_| plain) else {
        return false;
    };
    let Ok(root) = ConfinedDir::create(root) else {
        return false;
    };
    let path: std::path::PathBuf = below.iter().collect();
    root.resolve(&path).is_ok_and(|path| path.is_dir())
}

pub(super) fn dataset_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (id, _) in datasets(creation) {
        if !dataset_present(creation, &[id]) {
            return Err(ApiError::of(2783, &[id]));
        }
    }
    Ok(())
}

/// A data set has a version, except those of the asset service.
pub(super) fn dataset_version(creation: &Creation<'_>) -> Result<(), ApiError> {
    let inputs = creation.list("/algorithm/inputs").iter().enumerate();
    for (at, input) in inputs {
        let of = |name: &str| text_of(input, &format!("/remote/dataset/{name}"));
        let versioned = of("service_type") != Some("V3");
        if versioned && of("id").is_some() && of("version_id").is_none() {
            return Err(ApiError::invalid_parameter(format!(
                "algorithm.inputs[{at}].remote.dataset.version_id is required"
            )));
        }
    }
    Ok(())
}

pub(super) fn dataset_version_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (id, version) in datasets(creation) {
        if let Some(version) = version
            && dataset_present(creation, &[id])
            && !dataset_present(creation, &[id, version])
        {
            return Err(ApiError::of(2782, &[version]));
        }
    }
    Ok(())
}

pub(super) fn tasks_read_from_obs(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (at, task) in creation.list("/tasks").iter().enumerate() {
        for list in ["inputs", "job_config/inputs"] {
            let inputs = task.pointer(&format!("/algorithm/{list}"));
            let inputs = inputs.and_then(Value::as_array).into_iter().flatten();
            let mut datasets = inputs.filter_map(|input| input.pointer("/remote/dataset"));
            if datasets.any(|dataset| !dataset.is_null()) {
                return Err(ApiError::invalid_parameter(format!(
                    "tasks[{at}].algorithm.inputs must come from OBS"
                )));
            }
        }
    }
    Ok(())
}
