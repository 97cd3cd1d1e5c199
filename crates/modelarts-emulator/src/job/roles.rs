//! Heterogeneous jobs: each element of `tasks` is a role with code, data and resources of its own.
//! A role is checked, read and run like an ordinary job.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    job::{
        channel::Channel,
        request::{JobRequest, LogExport, Start, auto_stop, preset},
    },
    validation::roles::{rename_fields, role_bodies},
};

/// Reads a body with `tasks`. Roles share the members that belong to the whole job.
pub(super) fn read_heterogeneous(given: Value) -> Result<JobRequest, ApiError> {
    let algorithm = JsonField::root(&given).get("algorithm")?;
    if algorithm.is_some_and(|algorithm| !algorithm.is_empty_object()) {
        return Err(ApiError::not_modelled(
            "algorithm beside tasks (it must be empty: each of tasks has an algorithm)",
        ));
    }
    let mut roles: Vec<Arc<JobRequest>> = Vec::new();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for (at, (task, body)) in role_bodies(&given).into_iter().enumerate() {
        let mut role =
            JobRequest::read_ordinary(body).map_err(|error| rename_fields(error, at, &task))?;
        role.role = JsonField::root(&task).text_of("role")?.map(str::to_owned);
        let other = variables.entry(role_variable(role.role()));
        let other = other.or_insert_with(|| role.role().to_owned());
        if other != role.role() {
            return Err(ApiError::not_modelled(format!(
                "the roles {other} and {}, whose variables VC_{}_NUM would be the same (tasks[{at}].role must differ in more than letter case, - and _: rename it)",
                role.role(),
                role_variable(role.role()),
            )));
        }
        let same = roles.iter().filter(|other| other.role() == role.role());
        role.first_index = same.map(|other| other.node_count).sum();
        roles.push(Arc::new(role));
    }
    let Some(first) = roles.first() else {
        return Err(ApiError::not_modelled("a heterogeneous job without tasks"));
    };
    if let Some(at) = roles.iter().position(|role| role.pool_id != first.pool_id) {
        return Err(ApiError::not_modelled(format!(
            "tasks in different resource pools (tasks[{at}].task_resource.pool_id must be that of \
             tasks[0] on this emulator: give all the same, or none)"
        )));
    }
    Ok(JobRequest {
        name: first.name.clone(),
        workspace_id: first.workspace_id.clone(),
        annotations: first.annotations.clone(),
        retry: first.retry,
        auto_stop_hours: match JsonField::root(&given).get("spec")? {
            Some(spec) => auto_stop(&spec)?,
            None => None,
        },
        pool_id: first.pool_id.clone(),
        node_count: roles.iter().map(|role| role.node_count).sum(),
        roles,
        body: given,
        ..JobRequest::default()
    })
}

/// An element of `tasks` in a response. It has fewer members than an ordinary job.
pub(super) fn render_role(role: &JobRequest) -> Value {
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
        // Not documented in the engine of a task (SOURCES O, S).
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
        "remote": {"obs": {"obs_url": channel.source.to_string()}},
    })
}

/// An output. Mode and period are the defaults (SOURCES O), because a request cannot name others.
fn output(output: &Channel) -> Value {
    let mut shown = channel(output);
    shown["mode"] = "upload_periodically".into();
    shown["period"] = "30s".into();
    shown
}

/// The role in the spelling of environment variables.
pub(crate) fn role_variable(role: &str) -> String {
    role.to_uppercase().replace('-', "_")
}
