//! Comparison of the details of a job with a request.

use std::collections::BTreeSet;

use modelarts_api::{
    request_path::{
        create_training_job::{TRAIN_TYPE, algorithm, metadata, spec},
        parameter,
    },
    types::TrainingJob,
};
use serde_json::{Map, Value};

use crate::{
    jobs::create::{conversion::request_from_details, json_edit::text_at},
    validation::{json_path::Located, obs_path::ObsPath},
};

/// Lists that responses repeat from the request. Only a stored algorithm adds entries to the lists.
const LISTS: [&str; 3] = [algorithm::PARAMETERS, algorithm::INPUTS, algorithm::OUTPUTS];
/// Fields that the service adds to a job only if the job uses a stored algorithm.
const START: [&str; 4] =
    [algorithm::BOOT_FILE, algorithm::CODE_DIR, algorithm::COMMAND, algorithm::ENVIRONMENTS];
/// Other fields that details have if the request had them.
const OTHERS: [&str; 4] =
    [spec::AUTO_STOP, spec::LOG_EXPORT_PATH, spec::VOLUMES, spec::resource::POOL_ID];
const OF_ALGORITHM: [&str; 4] =
    ["constraint", "description", "i18n_description", "remote_constraint"];
const ANY_CASE: [&str; 4] = ["access_method", "engine_name", "kind", "runtime_type"];
/// Names of fields whose values may be relative, or lack the address of a registry.
const RELATIVE: [&str; 2] = ["boot_file", "image_url"];
/// Prefix of the names of the environment variables that the service sets.
const OWN_VARIABLES: &str = "MA_";

/// Returns the paths of the fields in which the details of a job contradict a request body, so that
/// it is another job.
pub(super) fn differences(job: &TrainingJob, body: &Value) -> Vec<String> {
    let details = serde_json::to_value(job).unwrap_or_default();
    // Fields that only the service sets and empty values are removed from both bodies.
    let (sent, echo) = (request_from_details(body), request_from_details(&details));
    let mut paths = Vec::new();
    add_contradictions("", &sent, &echo, &appended(&Located::root(&sent)), &mut paths);
    // Responses have an empty description if the request had none.
    let described = job.metadata.as_ref().and_then(|row| row.description.as_deref());
    if described.is_some_and(|described| described != text_at(&sent, metadata::DESCRIPTION)) {
        paths.push(metadata::DESCRIPTION.to_owned());
    }
    let (sent, echo) = (Located::root(&sent), Located::root(&echo));
    let is_set = |job: &Located<'_>, path: &str| job.at(path).value().is_some();
    let is_stored = is_set(&echo, algorithm::ID) || is_set(&echo, algorithm::SUBSCRIPTION_ID);
    let is_left_out = |path: &str| is_set(&sent, path) && !is_set(&echo, path);
    let is_added = |path: &str| {
        let is_own = |name: &str| name.starts_with(OWN_VARIABLES);
        let (is_new, added) = (!is_set(&sent, path) && is_set(&echo, path), echo.at(path));
        is_new && !(path == algorithm::ENVIRONMENTS && added.keys().all(is_own))
    };
    let none = Value::Array(Vec::new());
    let has_other_entries = |path: &str| {
        let [sent, echo] = [&sent, &echo].map(|job| job.at(path).value().unwrap_or(&none));
        // The details of a fine-tuning job lack its inputs.
        let is_hidden = path == algorithm::INPUTS && body.get(TRAIN_TYPE).is_some();
        !is_hidden && is_absent(sent, echo) || !is_stored && is_absent(echo, sent)
    };
    let start = START.into_iter().filter(|path| is_left_out(path) || !is_stored && is_added(path));
    let others = OTHERS.into_iter().filter(|path| is_left_out(path));
    let lists = LISTS.into_iter().filter(|path| has_other_entries(path));
    paths.extend(start.chain(lists).chain(others).map(str::to_owned));
    let mut known = BTreeSet::new();
    paths.retain(|path| known.insert(path.clone()));
    paths
}

/// Adds the paths of the innermost fields of `echo` that contradict those of `sent`. A command may
/// end with `appended`.
fn add_contradictions(
    path: &str,
    sent: &Value,
    echo: &Value,
    appended: &[String],
    paths: &mut Vec<String>,
) {
    let name = path.rsplit('.').next().unwrap_or_default();
    let is_other = match (sent, echo) {
        (Value::Object(sent), Value::Object(echo)) if name == "environments" => {
            let is_own = |name: &str| name.starts_with(OWN_VARIABLES);
            let misses = |one: &Map<String, Value>, other: &Map<String, Value>| {
                one.keys().any(|name| !is_own(name) && !other.contains_key(name))
            };
            let differs = |(name, value)| echo.get(name).is_some_and(|echo| echo != value);
            misses(sent, echo) || misses(echo, sent) || sent.iter().any(differs)
        }
        (Value::Object(sent), Value::Object(echo)) => {
            for (name, sent) in sent.iter().filter(|(name, _)| !OF_ALGORITHM.contains(&&***name)) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if let Some(echo) = echo.get(name) {
                    add_contradictions(&path, sent, echo, appended, paths);
                }
            }
            false
        }
        // Elements of a list may be in another order, and the service may add elements.
        (Value::Array(_), Value::Array(_)) => is_absent(sent, echo),
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => false,
        (sent, echo) => {
            let text = |value: &Value| match value {
                Value::String(text) => text.trim().to_owned(),
                other => other.to_string(),
            };
            !is_same(name, &text(sent), &text(echo), appended)
        }
    };
    if is_other {
        paths.push(path.to_owned());
    }
}

fn is_absent(entries: &Value, list: &Value) -> bool {
    let (Value::Array(entries), Value::Array(list)) = (entries, list) else {
        return false;
    };
    let is_other = |one: &Value, other: &Value| {
        let mut paths = Vec::new();
        add_contradictions("", one, other, &[], &mut paths);
        !paths.is_empty()
    };
    entries.iter().any(|one| list.iter().all(|other| is_other(one, other)))
}

/// Returns the arguments that the service appends to the command (SOURCES D-133).
fn appended(sent: &Located<'_>) -> Vec<String> {
    let parameters = sent.at(algorithm::PARAMETERS).items();
    let argument = |one: &Located<'_>| {
        let [name, value] = [parameter::NAME, parameter::VALUE].map(|name| one.at(name).text());
        format!(" --{}={}", name.unwrap_or_default(), value.unwrap_or_default())
    };
    parameters.iter().map(argument).collect()
}

fn is_same(name: &str, sent: &str, echo: &str, appended: &[String]) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    let ends_with = |long: &str, end: &str| {
        let end = end.trim_start_matches("./");
        long.strip_suffix(end).is_some_and(|start| start.ends_with('/'))
    };
    sent == echo
        || number(sent).is_some_and(|sent| number(echo) == Some(sent))
        || ObsPath::parse(sent).is_some_and(|sent| ObsPath::parse(echo) == Some(sent))
        || ANY_CASE.contains(&name) && sent.eq_ignore_ascii_case(echo)
        || RELATIVE.contains(&name) && (ends_with(sent, echo) || ends_with(echo, sent))
        || name == "command"
            && echo.strip_prefix(sent).is_some_and(|rest| {
                let mut rest = rest.to_owned();
                for argument in appended {
                    rest = rest.replacen(argument, "", 1);
                }
                rest.trim().is_empty()
            })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body() -> Value {
        json!({
            "kind": "job",
            "metadata": {"name": "n", "description": "d"},
            "algorithm": {
                "command": "bash run.sh",
                "engine": {"image_url": "org/image:1", "engine_id": ""},
                "parameters": [{"name": "lr", "value": "0.10"}, {"name": "to", "value": ""}],
                "environments": {"MODE": "quick"},
                "outputs": [{"name": "o", "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}],
            },
            "spec": {"resource": {"flavor_id": "f", "node_count": 1}},
        })
    }

    /// Returns the differences of details like the body with another value at this JSON Pointer.
    fn with(path: &str, value: Value) -> Vec<String> {
        let mut echo = body();
        let (parent, name) = path.rsplit_once('/').unwrap();
        echo.pointer_mut(parent).unwrap()[name] = value;
        echo["metadata"]["id"] = "j".into();
        echo["status"] = json!({"phase": "Creating"});
        differences(&serde_json::from_value(echo).unwrap(), &body())
    }

    #[test]
    fn what_is_left_out_or_in_another_form_is_no_contradiction() {
        let outputs =
            json!([{"name": "o", "mode": "m", "remote": {"obs": {"obs_url": "/bucket/out"}}}]);
        for (path, value) in [
            ("/metadata/name", json!("n")),
            ("/metadata/description", json!(null)),
            ("/metadata/annotations", json!({"job_template": "Template DL"})),
            ("/algorithm/outputs", outputs),
            ("/algorithm/command", json!("bash run.sh --to= --lr=0.10")),
            ("/algorithm/engine", json!({"image_url": "registry/org/image:1", "run_user": "1000"})),
            ("/algorithm/environments", json!([{"MODE": "quick"}, {"MA_X": "1"}])),
            ("/algorithm/parameters", json!([{"name": "to"}, {"name": "lr", "value": 0.1}])),
            ("/spec/resource", json!({"flavor_id": "f", "node_count": "1", "pool_id": "p"})),
            ("/spec/runtime_type", json!("production")),
            ("/spec", json!(null)),
        ] {
            assert_eq!(with(path, value.clone()), [""; 0], "{path} {value}");
        }
    }

    #[test]
    fn another_value_is_a_contradiction() {
        let input = json!([{"name": "i", "remote": {"obs": {"obs_url": "/bucket/in/"}}}]);
        let output = json!([{"name": "o", "remote": {"obs": {"obs_url": "/bucket/out2/"}}}]);
        for (pointer, value) in [
            ("/metadata/description", json!("")),
            ("/algorithm/command", json!("bash run.sh --lr=0.2")),
            ("/algorithm/environments", json!({"MODE": "quick", "LEVEL": "1"})),
            ("/algorithm/environments", json!({"LEVEL": "1"})),
            ("/algorithm/environments", json!({"MODE": "QUICK"})),
            ("/algorithm/environments", json!(null)),
            ("/algorithm/inputs", input),
            ("/algorithm/outputs", output),
            ("/algorithm/outputs", json!([])),
            ("/algorithm/parameters", json!([{"name": "lr", "value": "0.2"}, {"name": "to"}])),
            ("/algorithm/parameters", json!([{"name": "lr", "value": "0.1"}])),
            ("/algorithm/parameters", json!(null)),
            ("/algorithm/code_dir", json!("/bucket/code/")),
        ] {
            assert_eq!(with(pointer, value), [pointer[1..].replace('/', ".")]);
        }
    }

    #[test]
    fn all_differences_are_named() {
        let algorithm = json!({"command": "bash", "engine": {"image_url": "org/image:2"}});
        let fields = ["command", "engine.image_url", "environments", "parameters", "outputs"];
        let fields = fields.map(|field| format!("algorithm.{field}"));
        assert_eq!(with("/algorithm", algorithm), fields);
        let resource = json!({"flavor_id": "g", "node_count": 2});
        let fields = ["spec.resource.flavor_id", "spec.resource.node_count"];
        assert_eq!(with("/spec/resource", resource), fields);
    }
}
