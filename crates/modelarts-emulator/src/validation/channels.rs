//! Validation rules for inputs and outputs.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::Value;

use crate::{
    api::error::ApiError,
    files::confined_dir::ConfinedDir,
    validation::{
        creation::{Creation, list_of, text_of, value_at},
        names::is_variable,
        rule::{Rule, advice, broken, broken_if, must, refusal, refused_if},
    },
};

const INPUTS: &str = "/algorithm/inputs";
const OUTPUTS: &str = "/algorithm/outputs";
/// Permitted members of `attributes`.
const ATTRIBUTES: [&str; 3] = ["data_format", "data_segmentation", "dataset_type"];

pub(super) const RULES: &[Rule] = &[
    // This rule does not apply to fine-tuning jobs.
    must("input-named", |job| {
        let mut inputs = job.list(INPUTS).iter();
        let at = inputs.position(|input| text_of(input, "/name").is_none())?;
        broken_if(!job.is_fine_tuning(), format_args!("algorithm.inputs[{at}].name is required"))
    }),
    advice("channel-names-different", |job| {
        let repeated = [INPUTS, OUTPUTS].into_iter().any(|list| {
            let mut earlier = BTreeSet::new();
            let mut names = job.list(list).iter().filter_map(|one| text_of(one, "/name"));
            names.any(|name| !earlier.insert(name))
        });
        refused_if(repeated, 2753)
    }),
    advice("channel-directories-different", |job| {
        let mut earlier = BTreeSet::new();
        let (path, _) = channels(job).find(|(_, channel)| {
            let directory = text_of(channel, "/local_dir");
            directory.is_some_and(|path| !earlier.insert(path.trim_end_matches('/')))
        })?;
        broken(format_args!("{path}.local_dir must not be that of another channel"))
    }),
    refusal("hosted-once", |job| {
        let outputs = job.list(OUTPUTS).iter();
        let hosted = outputs.filter(|output| output.pointer("/remote/modelarts_hosted").is_some());
        refused_if(hosted.count() > 1, 2754)
    }),
    refusal("channel-kind", |job| {
        let known = ["obs", "dataset", "modelarts_hosted"];
        let remotes = channels(job).filter_map(|(_, channel)| channel.get("remote")?.as_object());
        let mut kinds = remotes.flat_map(|remote| remote.keys());
        refused_if(kinds.any(|kind| !known.contains(&kind.as_str())), 2854)
    }),
    must("channel-one-source", |job| {
        channels(job).find_map(|(path, channel)| {
            let is_input = path.starts_with("algorithm.inputs");
            let has = |kind: &str| value_at(channel, &format!("/remote/{kind}")).is_some();
            let hosted = !is_input && has("modelarts_hosted");
            match (has("obs"), is_input && has("dataset")) {
                (false, false) if !hosted => broken(format_args!("{path}.remote.obs is required")),
                (true, true) => {
                    broken(format_args!("{path}.remote must have obs or dataset, not both"))
                }
                _ => None,
            }
        })
    }),
    advice("channel-variable-name", |job| {
        let (path, _) = channels(job).find(|(_, channel)| {
            text_of(channel, "/access_method") == Some("env")
                && !is_variable(text_of(channel, "/name").unwrap_or_default())
        })?;
        broken(format_args!(
            "{path}.name must be the name of an environment variable, as access_method is env"
        ))
    }),
    advice("constraint-attributes", |job| {
        channels(job).find_map(|(path, channel)| {
            let constraints = list_of(channel, "/remote_constraint").iter();
            constraints.enumerate().find_map(|(at, constraint)| {
                let wrong = wrong_attributes(constraint.get("attributes")?)?;
                broken(format_args!("{path}.remote_constraint[{at}].attributes must {wrong}"))
            })
        })
    }),
    must("tasks-read-from-obs", |job| {
        let at = job.list("/tasks").iter().position(|task| {
            let lists = ["/algorithm/inputs", "/algorithm/job_config/inputs"];
            let mut inputs = lists.into_iter().flat_map(|list| list_of(task, list));
            inputs.any(|input| value_at(input, "/remote/dataset").is_some())
        })?;
        broken(format_args!("tasks[{at}].algorithm.inputs must come from OBS"))
    }),
    // This rule does not apply to data sets of the asset service.
    advice("dataset-version", |job| {
        let at = job.list(INPUTS).iter().position(|input| {
            text_of(input, "/remote/dataset/service_type") != Some("V3")
                && text_of(input, "/remote/dataset/id").is_some()
                && text_of(input, "/remote/dataset/version_id").is_none()
        })?;
        broken(format_args!("algorithm.inputs[{at}].remote.dataset.version_id is required"))
    }),
    refusal("dataset-exists", |job| {
        let (id, _) = datasets(job).find(|(id, _)| !dataset_present(job, &[id]))?;
        Some(ApiError::of(2783, &[id]))
    }),
    refusal("dataset-version-exists", |job| {
        datasets(job).find_map(|(id, version)| {
            let version = version.filter(|_| dataset_present(job, &[id]))?;
            let absent = !dataset_present(job, &[id, version]);
            absent.then(|| ApiError::of(2782, &[version]))
        })
    }),
];

/// Returns each channel with its path for error messages.
fn channels<'a>(job: &Creation<'a>) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let job = *job;
    ["inputs", "outputs"].into_iter().flat_map(move |list| {
        let channels = job.list(&format!("/algorithm/{list}")).iter().enumerate();
        channels.map(move |(at, channel)| (format!("algorithm.{list}[{at}]"), channel))
    })
}

/// Returns the limit that `attributes` violates. The value is an object, an object as a string, or
/// the name of a member (SOURCES D-17).
fn wrong_attributes(attributes: &Value) -> Option<String> {
    let parsed;
    let attributes = match attributes.as_str() {
        Some(text) if text.is_empty() || ATTRIBUTES.contains(&text) => return None,
        Some(text) => match serde_json::from_str(text) {
            Ok(value) => {
                parsed = value;
                &parsed
            }
            Err(_) => return Some(format!("be one of [{}]", ATTRIBUTES.join(" "))),
        },
        None => attributes,
    };
    let objects = match attributes {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut keys = objects.iter().filter_map(Value::as_object).flat_map(|object| object.keys());
    let unknown = keys.find(|key| !ATTRIBUTES.contains(&key.as_str()))?;
    Some(format!("not have {unknown}"))
}

fn datasets<'a>(job: &Creation<'a>) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
    job.list(INPUTS).iter().filter_map(|input| {
        let id = text_of(input, "/remote/dataset/id")?;
        Some((id, text_of(input, "/remote/dataset/version_id")))
    })
}

fn dataset_present(job: &Creation<'_>, below: &[&str]) -> bool {
    let is_plain = |name: &&str| !name.contains('/') && !matches!(*name, "." | "..");
    let root = job.offer.datasets.as_ref().filter(|_| below.iter().all(is_plain));
    let root = root.and_then(|root| ConfinedDir::create(root).ok());
    let path: PathBuf = below.iter().collect();
    root.is_some_and(|root| root.resolve(&path).is_ok_and(|path| path.is_dir()))
}
