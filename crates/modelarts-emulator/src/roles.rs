//! Heterogeneous jobs: each element of `tasks` is a role with code, data and resources of its own.
//! A role is judged, read and run as the ordinary job that it would be alone.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::body::Field;
use crate::error::ApiError;
use crate::request::{Channel, JobRequest, LogExport, Start, preset};
use crate::rules::{self, Draft};

/// The roles of a body, each as the body of an ordinary job.
fn bodies(given: &Value) -> impl Iterator<Item = (&Value, Value)> {
    let tasks = given["tasks"].as_array().into_iter().flatten();
    tasks.map(|task| {
        let mut algorithm = Map::new();
        // Parameters, channels and the engine have two places.
        for place in ["/algorithm/job_config", "/algorithm"] {
            let members = task.pointer(place).and_then(Value::as_object);
            let members = members.into_iter().flatten();
            let members = members.filter(|(_, value)| !is_empty(value));
            algorithm.extend(members.map(|(name, value)| (name.clone(), value.clone())));
        }
        algorithm.remove("job_config");
        let body = json!({
            "kind": given["kind"],
            "metadata": given["metadata"],
            "algorithm": algorithm,
            "spec": {
                "resource": task["task_resource"],
                "log_export_path": task["log_export_path"],
            },
        });
        (task, body)
    })
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || *value == json!([]) || *value == json!({})
}

/// Holds each role against the rules for ordinary jobs.
pub(crate) fn check(draft: &Draft<'_>) -> Result<(), ApiError> {
    for (at, (_, body)) in bodies(draft.body).enumerate() {
        let role = Draft {
            body: &body,
            ..*draft
        };
        rules::check(&role).map_err(|error| {
            let task = format!("tasks[{at}]");
            error
                .renamed("algorithm.", &format!("{task}.algorithm."))
                .renamed("spec.resource", &format!("{task}.task_resource"))
                .renamed("spec.log_export_path", &format!("{task}.log_export_path"))
        })?;
    }
    Ok(())
}

/// Reads a body with `tasks`. Roles share what the body says of the whole job.
pub(crate) fn read(given: Value) -> Result<JobRequest, ApiError> {
    let algorithm = Field::root(&given).get("algorithm")?;
    if algorithm.is_some_and(|algorithm| !algorithm.is_empty_object()) {
        return Err(ApiError::not_modelled("algorithm beside tasks"));
    }
    let mut roles: Vec<Arc<JobRequest>> = Vec::new();
    for (task, body) in bodies(&given) {
        let mut role = JobRequest::read(body)?;
        role.role = Field::root(task).text_of("role")?.map(str::to_owned);
        let same = roles.iter().filter(|other| other.role() == role.role());
        role.first_index = same.map(|other| other.node_count).sum();
        roles.push(Arc::new(role));
    }
    let Some(first) = roles.first() else {
        return Err(ApiError::not_modelled("a heterogeneous job without tasks"));
    };
    if roles.iter().any(|role| role.pool_id != first.pool_id) {
        return Err(ApiError::not_modelled("tasks in different resource pools"));
    }
    Ok(JobRequest {
        name: first.name.clone(),
        workspace_id: first.workspace_id.clone(),
        annotations: first.annotations.clone(),
        retry: first.retry,
        pool_id: first.pool_id.clone(),
        node_count: roles.iter().map(|role| role.node_count).sum(),
        roles,
        given,
        ..JobRequest::default()
    })
}

/// An element of `tasks` in an answer. It shows less than an ordinary job's answer does.
pub(crate) fn render(role: &JobRequest) -> Value {
    let mut algorithm = json!({
        "engine": role.engine,
        "inputs": role.inputs.iter().map(channel).collect::<Value>(),
        "outputs": role.outputs.iter().map(output).collect::<Value>(),
    });
    let mut put = |name: &str, value: Value| algorithm[name] = value;
    if let Some(code_dir) = &role.code_dir {
        put("code_dir", code_dir.to_string().into());
    }
    if let Start::BootFile { file, .. } = &role.start {
        put("boot_file", file.to_string().into());
    }
    if let Some(environments) = &role.environments {
        put("environments", json!(environments));
    }
    for (name, directory) in [
        ("local_code_dir", &role.local_code_dir),
        ("working_dir", &role.working_dir),
    ] {
        if let Some(directory) = directory {
            put(name, directory.to_string().into());
        }
    }
    let shown = &mut algorithm["engine"];
    if let Some(engine) = shown.as_object_mut() {
        // No document has it in the engine of a task.
        engine.remove("install_sys_packages");
    }
    if let Some(engine) = preset(&role.engine) {
        shown["v1_compatible"] = engine.v1_compatible.into();
        if shown.get("run_user").is_none() {
            shown["run_user"] = engine.run_user.into();
        }
    }
    let mut task = json!({"algorithm": algorithm});
    if let Some(name) = &role.role {
        task["role"] = name.as_str().into();
    }
    let mut resource = json!({});
    if let Some(flavor) = role.flavor() {
        resource = flavor.detail();
        resource["max_num"] = resource["flavor_info"]["max_num"].clone();
        resource["flavor_id"] = flavor.id.into();
        resource["flavor_name"] = flavor.name.into();
    }
    if let Some(pool) = &role.pool_id {
        resource["pool_id"] = pool.as_str().into();
    }
    task["task_resource"] = resource;
    if let LogExport::To(path) = &role.log_export {
        task["log_export_path"] = json!({"obs_url": path.to_string()});
    }
    task
}

fn channel(channel: &Channel) -> Value {
    json!({
        "name": channel.name,
        "local_dir": channel.local_dir.to_string(),
        "remote": {"obs": {"obs_url": channel.place.to_string()}},
    })
}

/// The mode and the period are the documented defaults: a request cannot name others.
fn output(output: &Channel) -> Value {
    let mut shown = channel(output);
    shown["mode"] = "upload_periodically".into();
    shown["period"] = "30s".into();
    shown
}
