//! Search for the job of a request whose response was lost, and comparison of jobs with requests.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use modelarts_api::{
    request_path::{
        create_training_job::{ALGORITHM, TRAIN_TYPE, algorithm, metadata, spec},
        parameter,
    },
    types::TrainingJob,
};
use serde_json::{Map, Value};

use crate::{
    client::Client,
    clock::{self, GATEWAY_CLOCK_SKEW, MAX_CLOCK_SKEW},
    error::Error,
    jobs::{
        create::{conversion::request_from_details, json_edit::text_at, submission::policy::Found},
        filter::Filter,
        job::Job,
        list::ListJobs,
    },
    validation::{json_path::Located, obs_path::ObsPath},
};

/// Lists that responses repeat from the request. Only a stored algorithm adds entries to the lists.
const LISTS: [&str; 3] = [algorithm::PARAMETERS, algorithm::INPUTS, algorithm::OUTPUTS];
/// Fields that the service adds to a job only if the job uses a stored algorithm.
const START: [&str; 4] =
    [algorithm::BOOT_FILE, algorithm::CODE_DIR, algorithm::COMMAND, algorithm::ENVIRONMENTS];
/// Fields that details have if the request had them.
const OF_DETAILS: [&str; 6] = [
    ALGORITHM,
    algorithm::ENVIRONMENTS,
    spec::AUTO_STOP,
    spec::LOG_EXPORT_PATH,
    spec::VOLUMES,
    spec::resource::POOL_ID,
];
const OF_ALGORITHM: [&str; 4] =
    ["constraint", "description", "i18n_description", "remote_constraint"];
const ANY_CASE: [&str; 4] = ["access_method", "engine_name", "kind", "runtime_type"];
/// Names of fields whose values may be relative, or lack the address of a registry.
const RELATIVE: [&str; 2] = ["boot_file", "image_url"];
/// Prefix of the names of the environment variables that the service sets.
const OWN_VARIABLES: &str = "MA_";

/// Returns the path of a field in which the job contradicts the request body, so that it is another
/// job. `None` if the job may be that of the request. Details have all fields that start a job; the
/// response to a search can lack them.
pub(super) fn difference(job: &TrainingJob, body: &Value, is_details: bool) -> Option<String> {
    let details = serde_json::to_value(job).ok()?;
    // Fields that only the service sets and empty values are removed from both bodies.
    let (sent, echo) = (request_from_details(body), request_from_details(&details));
    let (sent, echo) = (Located::root(&sent), Located::root(&echo));
    // Responses have an empty description if the request had none.
    let described = job.metadata.as_ref().and_then(|row| row.description.as_deref());
    let description = sent.at(metadata::DESCRIPTION).text().unwrap_or_default();
    if described.is_some_and(|described| described != description) {
        return Some(metadata::DESCRIPTION.to_owned());
    }
    let appended = appended(&sent);
    if let Some(path) = contradiction(String::new(), "", sent.value()?, echo.value()?, &appended) {
        return Some(path);
    }
    let is_set = |job: &Located<'_>, path: &str| job.at(path).value().is_some();
    if is_details {
        let is_left_out = |path: &&str| is_set(&sent, path) && !is_set(&echo, path);
        if let Some(path) = OF_DETAILS.into_iter().find(is_left_out) {
            return Some(path.to_owned());
        }
    }
    if !is_set(&echo, ALGORITHM) {
        return None;
    }
    let is_stored = is_set(&echo, algorithm::ID) || is_set(&echo, algorithm::SUBSCRIPTION_ID);
    let none = Value::Array(Vec::new());
    let is_tuning = is_set(&sent, TRAIN_TYPE);
    let is_other = |path: &str| {
        let [sent, echo] = [&sent, &echo].map(|job| job.at(path).value().unwrap_or(&none));
        let is_hidden = path == algorithm::INPUTS && is_tuning;
        !is_hidden && is_absent(sent, echo) || !is_stored && is_absent(echo, sent)
    };
    let is_added = |path: &str| {
        let echo = echo.at(path);
        let is_own = |name: &str| name.starts_with(OWN_VARIABLES);
        let has_only_own = echo.value().is_some_and(Value::is_object) && echo.keys().all(is_own);
        !is_stored && echo.value().is_some() && !has_only_own && !is_set(&sent, path)
    };
    let is_left_out =
        |path: &str| is_details && !is_stored && is_set(&sent, path) && !is_set(&echo, path);
    let added = START.into_iter().find(|path| is_added(path) || is_left_out(path));
    added.or_else(|| LISTS.into_iter().find(|path| is_other(path))).map(str::to_owned)
}

/// Returns the path of the innermost field that [`contradicts`], below the path of `sent`.
fn contradiction(
    path: String,
    name: &str,
    sent: &Value,
    echo: &Value,
    appended: &[String],
) -> Option<String> {
    if !contradicts(name, sent, echo, appended) {
        return None;
    }
    let fields = match (sent, echo) {
        (Value::Object(sent), Value::Object(echo)) if name != "environments" => {
            sent.iter().filter_map(|(name, sent)| Some((name, sent, echo.get(name)?))).collect()
        }
        _ => Vec::new(),
    };
    let inner = fields.into_iter().filter(|(name, ..)| !OF_ALGORITHM.contains(&&***name));
    let inner = inner.filter_map(|(name, sent, echo)| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        contradiction(path, name, sent, echo, appended)
    });
    Some({ inner }.next().unwrap_or(path))
}

fn is_absent(entries: &Value, list: &Value) -> bool {
    let (Value::Array(entries), Value::Array(list)) = (entries, list) else {
        return false;
    };
    let is_other = |one: &Value, other: &Value| contradicts("", one, other, &[]);
    let mut entries = entries.iter();
    entries.any(|one| list.iter().all(|other| is_other(one, other)))
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

/// Returns `true` if `echo` contradicts the value `sent`. A command may end with `appended`.
fn contradicts(name: &str, sent: &Value, echo: &Value, appended: &[String]) -> bool {
    match (sent, echo) {
        (Value::Object(sent), Value::Object(echo)) if name == "environments" => {
            let is_own = |name: &str| name.starts_with(OWN_VARIABLES);
            let misses = |one: &Map<String, Value>, other: &Map<String, Value>| {
                one.keys().any(|name| !is_own(name) && !other.contains_key(name))
            };
            let differs = |(name, value)| echo.get(name).is_some_and(|echo| echo != value);
            misses(sent, echo) || misses(echo, sent) || sent.iter().any(differs)
        }
        (Value::Object(sent), Value::Object(echo)) => sent.iter().any(|(name, sent)| {
            !OF_ALGORITHM.contains(&&**name)
                && echo.get(name).is_some_and(|echo| contradicts(name, sent, echo, appended))
        }),
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
    }
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

/// Pause before each search. The service lists new jobs with a short delay.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3)];

/// Searches for the job of a request first sent at `started`; if `name_is_taken`, also older jobs.
pub(super) async fn find(
    client: &Client,
    body: &Value,
    started: SystemTime,
    name_is_taken: bool,
) -> Result<Found<Job>, Error> {
    let name = text_at(body, metadata::NAME);
    let (mut other_exists, mut is_unclear) = (false, false);
    for pause in PAUSES {
        if !pause.is_zero() {
            clock::pause(&**client.clock(), pause).await;
        }
        let mut jobs = named(client, body).stream();
        while let Some(job) = jobs.try_next().await? {
            // The clock skew of the service may become known only with the response.
            let started = client.transport().service_time(started);
            // Yields, so that the deadline is checked even if all responses are available at once.
            tokio::task::yield_now().await;
            let is_older = |skew: Duration| {
                let created = job.created_at();
                created.is_some_and(|created| created + skew < started)
            };
            // The list is sorted from newest to oldest, so all further jobs are older as well.
            if is_older(GATEWAY_CLOCK_SKEW) && (other_exists || is_unclear || !name_is_taken) {
                break;
            }
            if job.name() == name {
                let is_same = difference(job.details(), body, false).is_none();
                match is_same && !is_older(GATEWAY_CLOCK_SKEW) {
                    true if !is_older(MAX_CLOCK_SKEW) => return Ok(Found::Created(job)),
                    true => is_unclear = true,
                    false => other_exists = true,
                }
            }
        }
    }
    Ok(match (is_unclear, other_exists) {
        (true, _) => Found::Unclear,
        (false, true) => Found::OtherJob,
        (false, false) => Found::Absent,
    })
}

/// Returns the search for jobs with the name of the request, and similar names.
fn named(client: &Client, body: &Value) -> ListJobs {
    let list = client.training_jobs().list();
    let list = list.filter(Filter::name().like(text_at(body, metadata::NAME)));
    // A search covers a single workspace; names are unique within a workspace.
    match text_at(body, metadata::WORKSPACE_ID) {
        "" => list,
        workspace => list.workspace(workspace),
    }
}

/// Returns the job of any age with the name of the request, and its details.
pub(super) async fn find_by_name(client: &Client, body: &Value) -> Result<Option<Job>, Error> {
    let name = text_at(body, metadata::NAME);
    for pause in PAUSES {
        if !pause.is_zero() {
            clock::pause(&**client.clock(), pause).await;
        }
        let mut jobs = named(client, body).stream();
        while let Some(job) = jobs.try_next().await? {
            if job.name() == name {
                // A row of the list can lack fields of the request.
                return client.training_jobs().get(job.id()).await.map(Some);
            }
        }
    }
    Ok(None)
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

    /// Returns the result for a response like the body with another value at this JSON Pointer.
    fn with(path: &str, value: Value) -> bool {
        let mut echo = body();
        let (parent, name) = path.rsplit_once('/').unwrap();
        echo.pointer_mut(parent).unwrap()[name] = value;
        echo["metadata"]["id"] = "j".into();
        echo["status"] = json!({"phase": "Creating"});
        difference(&serde_json::from_value(echo).unwrap(), &body(), false).is_none()
    }

    #[test]
    fn a_difference_is_the_path_of_the_innermost_field() {
        for (pointer, value, path) in [
            ("/metadata/description", json!(""), "metadata.description"),
            ("/spec/resource/node_count", json!(2), "spec.resource.node_count"),
            ("/algorithm/environments", json!({"MODE": "QUICK"}), "algorithm.environments"),
            ("/algorithm/outputs", json!([]), "algorithm.outputs"),
            ("/algorithm/code_dir", json!("/bucket/code/"), "algorithm.code_dir"),
        ] {
            let mut echo = body();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            echo.pointer_mut(parent).unwrap()[name] = value;
            let echo = serde_json::from_value(echo).unwrap();
            assert_eq!(difference(&echo, &body(), false).as_deref(), Some(path));
        }
        // Only details have all variables.
        let mut echo = body();
        echo["algorithm"].as_object_mut().unwrap().remove("environments");
        let echo = serde_json::from_value(echo).unwrap();
        let found = [false, true].map(|is_details| difference(&echo, &body(), is_details));
        assert_eq!(found, [None, Some("algorithm.environments".to_owned())]);
    }

    #[test]
    fn what_is_left_out_or_in_another_form_is_no_contradiction() {
        let outputs =
            json!([{"name": "o", "mode": "m", "remote": {"obs": {"obs_url": "/bucket/out"}}}]);
        for (path, value) in [
            ("/metadata/name", json!("n")),
            ("/metadata/description", json!(null)),
            ("/metadata/annotations", json!({"job_template": "Template DL"})),
            ("/algorithm", json!(null)),
            ("/algorithm/outputs", outputs),
            ("/algorithm/command", json!("bash run.sh --to= --lr=0.10")),
            ("/algorithm/command", json!(null)),
            ("/algorithm/engine", json!({"image_url": "registry/org/image:1", "run_user": "1000"})),
            ("/algorithm/environments", json!(null)),
            ("/algorithm/environments", json!([{"MODE": "quick"}, {"MA_X": "1"}])),
            ("/algorithm/parameters", json!([{"name": "to"}, {"name": "lr", "value": 0.1}])),
            ("/spec/resource", json!({"flavor_id": "f", "node_count": "1", "pool_id": "p"})),
            ("/spec/runtime_type", json!("production")),
            ("/spec", json!(null)),
        ] {
            assert!(with(path, value.clone()), "{path} {value}");
        }
    }

    #[test]
    fn another_value_is_a_contradiction() {
        let input = json!([{"name": "i", "remote": {"obs": {"obs_url": "/bucket/in/"}}}]);
        let output = |path: &str| json!([{"name": "o", "remote": {"obs": {"obs_url": path}}}]);
        for (path, value) in [
            ("/metadata/description", json!("")),
            ("/algorithm/command", json!("bash run.sh --lr=0.2")),
            ("/algorithm/command", json!("bash")),
            ("/algorithm/engine", json!({"image_url": "org/image:2"})),
            ("/algorithm/environments", json!({"MODE": "quick", "LEVEL": "1"})),
            ("/algorithm/environments", json!({"LEVEL": "1"})),
            ("/algorithm/environments", json!({"MODE": "QUICK"})),
            ("/algorithm/inputs", input),
            ("/algorithm/outputs", output("/bucket/out2/")),
            ("/algorithm/outputs", json!([])),
            ("/algorithm/parameters", json!([{"name": "lr", "value": "0.2"}, {"name": "to"}])),
            ("/algorithm/parameters", json!([{"name": "lr", "value": "0.1"}])),
            ("/algorithm/parameters", json!(null)),
            ("/algorithm/code_dir", json!("/bucket/code/")),
            ("/spec/resource/node_count", json!(2)),
            ("/spec/resource/flavor_id", json!("g")),
        ] {
            assert!(!with(path, value.clone()), "{path} {value}");
        }
    }
}
