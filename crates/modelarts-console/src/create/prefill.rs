//! Creation of forms from the request bodies of jobs.

use modelarts_ext::api::request_path::create_training_job::{
    algorithm::{self, engine},
    spec,
};
use serde_json::Value;

use crate::{
    create::form::{EXTRA, Form, MODE, OTHER, Row},
    parameters::{self, AUTO_STOP, AUTO_STOP_UNIT, Kind, List, Mode, controls, lists, pointer},
    snippets::description::DEFAULTS,
};

/// Returns the form of a body. The field [`OTHER`] has the settings without a control.
pub(super) fn form_of(mut body: Value) -> Form {
    let mut form = Form::default();
    let has = |path: &str| get(&body, path).is_some();
    let mode = if has(algorithm::ID) || has(algorithm::SUBSCRIPTION_ID) {
        Mode::Stored
    } else if has(engine::IMAGE_URL) {
        Mode::Custom
    } else {
        Mode::Preset
    };
    form.set(MODE, mode.name());
    // The form supports hours only.
    let has_hours = get(&body, AUTO_STOP_UNIT).is_none_or(|unit| unit == "HOURS");
    for control in controls().filter(|control| control.is_of(mode)) {
        let is_other = control.path.is_empty() || control.path == AUTO_STOP && !has_hours;
        if is_other {
            continue;
        }
        let value = get(&body, control.path).and_then(text_of);
        if let Some(value) = value {
            take(&mut body, control.path);
            form.set(control.name, value);
        }
        if control.kind == Kind::Engine {
            set_engine(&mut form, &mut body);
        }
    }
    if has_hours {
        take(&mut body, AUTO_STOP_UNIT);
    }
    for list in lists() {
        set_list(&mut form, &mut body, list);
    }
    for (path, default) in DEFAULTS {
        if get(&body, path).is_some_and(|value| value == default) {
            take(&mut body, path);
        }
    }
    prune(&mut body);
    if body.as_object().is_some_and(|members| !members.is_empty()) {
        form.set(OTHER, format!("{body:#}"));
    }
    form
}

/// Removes the name and the version of the engine, and uses them if the engine has no id.
fn set_engine(form: &mut Form, body: &mut Value) {
    let name = take(body, engine::ENGINE_NAME).as_ref().and_then(text_of);
    let version = take(body, engine::ENGINE_VERSION).as_ref().and_then(text_of);
    if form.get("engine").is_empty()
        && let Some((name, version)) = name.zip(version)
    {
        form.set("engine", format!("{name}:{version}"));
    }
}

fn set_list(form: &mut Form, body: &mut Value, list: &List) {
    if list.path == algorithm::ENVIRONMENTS {
        let variables = take(body, list.path);
        for (name, value) in variables.as_ref().and_then(Value::as_object).into_iter().flatten() {
            let value = text_of(value).unwrap_or_default();
            let row = [("name", name.clone()), ("value", value)];
            form.push(list.name, Row::from(row));
        }
        return;
    }
    let Some(Value::Array(elements)) = take(body, list.path) else {
        return;
    };
    let mut rest = Vec::new();
    for mut element in elements {
        // All kinds of volumes are in one list of the body.
        if list.path == spec::VOLUMES && element.get(list.name).is_none() {
            rest.push(element);
            continue;
        }
        let mut row = Row::new();
        for column in &list.columns {
            let value = get(&element, column.path).and_then(text_of);
            if let Some(value) = value {
                take(&mut element, column.path);
                // An empty value selects the default of a choice.
                let value = match (&column.kind, value.as_str()) {
                    (Kind::Choice(choices), value)
                        if !choices.iter().any(|(known, _)| *known == value) =>
                    {
                        String::new()
                    }
                    _ => value,
                };
                row.insert(column.name, value);
            }
        }
        prune(&mut element);
        if element.as_object().is_some_and(|members| !members.is_empty()) {
            row.insert(EXTRA, element.to_string());
        }
        form.push(list.name, row);
    }
    if !rest.is_empty()
        && let Some(spec) = body.get_mut("spec")
    {
        spec["volumes"] = Value::Array(rest);
    }
}

fn get<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    body.pointer(&pointer(path))
}

fn take(body: &mut Value, path: &str) -> Option<Value> {
    parameters::take(body, &pointer(path))
}

/// Returns a text, a number or a boolean as the text of a control.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Removes members that are null, empty objects or empty lists.
fn prune(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(prune);
            members.retain(|_, member| !is_empty(member));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use modelarts_ext::{Client, Credentials};
    use modelarts_obs::Staging;
    use serde_json::json;

    use super::*;
    use crate::{
        create::plan::Plan,
        parameters::{Method, parameters},
        snippets::Snippets,
    };

    fn client() -> Client {
        let client = Client::builder().endpoint("https://modelarts.example.com");
        let client = client.project_id("p").credentials(Credentials::token("t"));
        client.build().unwrap()
    }

    fn again(body: &Value) -> (Form, Value) {
        let client = client();
        let form = form_of(body.clone());
        let plan = Plan::new(&form, &client, &Staging::new(&client), None);
        assert!(plan.findings.is_empty(), "{:?}", plan.findings);
        (form, plan.job.body())
    }

    #[test]
    fn a_parameter_has_its_flag_call_and_control_from_the_table() {
        for parameter in parameters() {
            let (Some(flag), Some(call)) = (&parameter.flag, parameter.call) else {
                continue;
            };
            let job = client().training_jobs().create("n");
            let job = job.code_dir("obs://b/c/").boot_file("obs://b/c/t.py");
            let text = match parameter.path.ends_with("obs_url") {
                true => "obs://b/logs/",
                false => "v-1",
            };
            let (job, control, on_command_line, argument) = match parameter.method().unwrap() {
                Method::Text(set) => (set(job, text.into()), text, text, format!("{text:?}")),
                Method::Number(set) => (set(job, 7), "7", "7", "7".to_owned()),
                Method::SmallNumber(set) => (set(job, 2), "2", "2", "2".to_owned()),
                Method::Time(set) => {
                    let argument = "Duration::from_secs(2 * 3600)".to_owned();
                    (set(job, Duration::from_secs(7_200)), "2", "2h", argument)
                }
            };
            let body = job.body();
            let snippets = Snippets::new(&client(), None, &body);
            let wanted = format!("{} {on_command_line}", flag.name);
            assert!(snippets.command.contains(&wanted), "{wanted}: {}", snippets.command);
            // The name is an argument of `create`.
            let call = call.replace("name", "create");
            let wanted = format!(".{call}({argument})");
            assert!(snippets.program.contains(&wanted), "{wanted}: {}", snippets.program);
            let (form, of_form) = again(&body);
            assert_eq!(of_form, body, "{parameter:?}");
            if parameter.number > 0 && parameter.is_of(form.mode()) {
                assert_eq!(form.get(parameter.name), control, "{parameter:?}");
            }
        }
    }

    #[test]
    fn the_form_of_a_body_has_the_same_body() {
        let body = json!({
            "kind": "job",
            "metadata": {
                "name": "bert", "description": "a\nb", "workspace_id": "7",
                "annotations": {"fault-tolerance/job-retry-num": "2", "job_template": "Template \
                                                                                       DL"},
            },
            "algorithm": {
                "engine": {"engine_id": "pytorch_1.8.0"},
                "code_dir": "/b/code/", "boot_file": "/b/code/train.py",
                "inputs": [
                    {"name": "data_url", "local_dir": "/data", "access_method": "env",
                     "remote": {"obs": {"obs_url": "/b/data/"}}},
                    {"name": "rows", "remote": {"dataset":
                        {"id": "i", "version_id": "v", "dataset_proportion": 5}}},
                ],
                "outputs": [{"name": "train_url", "prefetch_to_local": true,
                    "remote": {"obs": {"obs_url": "/b/out/"}}}],
                "parameters": [{"name": "lr", "value": "1e-05", "description": "rate"},
                               {"name": "e", "value": ""}],
                "environments": {"SEED": "1"},
            },
            "spec": {
                "resource": {"flavor_id": "f", "node_count": 2, "pool_id": "p"},
                "volumes": [
                    {"obs": {"obs_path": "/b/c", "local_path": "/mnt/o"}},
                    {"nfs": {"nfs_server_path": "10.0.0.5:/s", "local_path": "/mnt/n",
                             "read_only": true}},
                    {"pfs": {"pfs_path": "/fs/d", "local_path": "/mnt/p"}},
                ],
                "schedule_policy": {"priority": 2},
                "auto_stop": {"time_unit": "HOURS", "duration": 4},
                "notification": {"topic_urn": "urn", "events": ["JobFailed"]},
            },
        });
        let (form, again) = again(&body);
        assert_eq!(again, body);
        assert_eq!(form.get("auto_stop"), "4");
        let other: Value = serde_json::from_str(form.get(OTHER)).unwrap();
        assert_eq!(
            other["metadata"],
            json!({"workspace_id": "7", "annotations": {"job_template": "Template DL"}})
        );
        assert_eq!(other["algorithm"], Value::Null);
    }

    #[test]
    fn the_mode_of_a_body_is_that_of_its_code() {
        let stored = json!({"kind": "job", "metadata": {"name": "a"},
            "algorithm": {"id": "i", "code_dir": "/b/code/"}});
        let (form, body) = again(&stored);
        assert_eq!((form.mode(), form.get("algorithm")), (Mode::Stored, "i"));
        assert_eq!(body, stored);
        let custom = json!({"kind": "job", "metadata": {"name": "a"},
            "algorithm": {"engine": {"image_url": "o/i:t", "run_user": "1000"},
                                "command": "true"}});
        let (form, body) = again(&custom);
        assert_eq!((form.mode(), form.get("run_user")), (Mode::Custom, "1000"));
        assert_eq!(body, custom);
        let named = json!({"kind": "job", "metadata": {"name": "a"},
            "algorithm": {"engine": {"engine_name": "PyTorch", "engine_version": "1.8"}}});
        let (form, body) = again(&named);
        assert_eq!(form.get("engine"), "PyTorch:1.8");
        assert_eq!(body, named);
    }
}
