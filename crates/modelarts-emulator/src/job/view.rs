//! Rendering of jobs and events as documented JSON.

use serde_json::{Value, json};

use crate::{
    catalog::flavors::Flavor,
    clock::timestamp::Timestamp,
    files::{container_path::ContainerPath, obs_path::ObsPath},
    job::{
        Job, RunningRecord,
        address::address,
        channel::{Access, Channel, DataSource},
        event::Event,
        request::{JobRequest, LogExport, Parameter, Start, preset},
        state::JobState,
    },
    validation::{
        creation::text_of,
        fields::{
            ignored::unused_entry,
            visible::{give_back, visible_part},
        },
    },
};

/// Renders a job as responses to create, details, stop and list requests contain it.
pub(crate) fn job(job: &Job, now: Timestamp) -> Value {
    let body = job.body();
    let mut shown = json!({
        "kind": job.request.text("/kind"),
        "metadata": metadata(job, &body),
        "status": status(job, now),
    });
    if job.request.roles.is_empty() {
        shown["algorithm"] = algorithm(&job.request);
        shown["spec"] = spec(&job.request, &body);
    } else {
        let roles = job.request.roles.iter();
        shown["tasks"] = roles.map(|role| task_of_role(role)).collect();
        let spec = present(visible_part(&body)["spec"].take());
        if spec.as_object().is_some_and(|spec| !spec.is_empty()) {
            shown["spec"] = spec;
        }
    }
    give_back(&mut shown, &body);
    if matches!(job.request.start, Start::FineTuning) {
        hide_tuning(&mut shown);
    }
    if job.state == JobState::Running {
        add_endpoints(&mut shown, job, &body);
    }
    shown
}

/// Removes the members of fine-tuning jobs that responses omit (SOURCES T).
fn hide_tuning(shown: &mut Value) {
    for (parent, name) in
        [("algorithm", "inputs"), ("spec", "output_model"), ("spec", "asset_model")]
    {
        if let Some(parent) = shown[parent].as_object_mut() {
            parent.remove(name);
        }
    }
}

/// Returns an object without its null members.
fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    object
}

/// Returns a list, or null if it is empty.
fn list(items: impl Iterator<Item = Value>) -> Value {
    match items.collect::<Vec<_>>() {
        items if items.is_empty() => Value::Null,
        items => items.into(),
    }
}

fn echo(shown: &mut Value, body: &Value, parent: &str, names: &[&str]) {
    for name in names {
        if let Some(value) = body.pointer(&format!("{parent}/{name}"))
            && !value.is_null()
            && *value != ""
        {
            shown[*name] = value.clone();
        }
    }
}

/// Annotations that request applications, each with the name of the application in `endpoints`.
const APPLICATIONS: [(&str, &str); 3] = [
    ("jupyter-lab/enable", "jupyter_lab"),
    ("tensorboard/enable", "tensorboard"),
    ("mindstudio-insight/enable", "mindstudio_insight"),
];

/// Adds the addresses and tokens of the requested endpoints. No server listens on the addresses.
fn add_endpoints(shown: &mut Value, job: &Job, body: &Value) {
    if let Some(ssh) = shown.pointer_mut("/endpoints/ssh") {
        let urls = job.tasks().zip(0..).map(|(task, index)| {
            let address = address(&job.id, index);
            json!({"task": task, "url": format!("ssh://ma-user@{address}:22")})
        });
        ssh["task_urls"] = urls.collect();
    }
    for (annotation, name) in APPLICATIONS {
        if body["metadata"]["annotations"][annotation] == "true" {
            let address = address(&job.id, 0);
            shown["endpoints"][name] = json!({
                "url": format!("https://{address}/{name}"),
                "token": job.id.replace('-', ""),
            });
        }
    }
}

fn metadata(job: &Job, body: &Value) -> Value {
    let request = &job.request;
    let mut metadata = json!({
        "id": job.id,
        "name": request.name,
        "description": job.settings.description,
        "create_time": job.history.created.millis(),
        "workspace_id": request.workspace_id,
        "user_name": job.owner.user_name,
    });
    echo(&mut metadata, body, "/metadata", &["annotations"]);
    metadata
}

fn status(job: &Job, now: Timestamp) -> Value {
    let now = now.whole_second();
    let mut nodes = job.history.nodes.clone();
    // Until the job ends, responses add a sample at the current time, the end of the duration.
    if !job.state.is_final()
        && let Some((at, count)) = nodes.last().copied()
        && at < now
    {
        let before = Timestamp::from_millis(now.millis() - 1000);
        if at < before {
            nodes.push((before, count));
        }
        nodes.push((now, count));
    }
    let latest = nodes.last().map(|(at, _)| at.millis());
    let duration = match (job.history.started, latest) {
        (Some(started), Some(latest)) => latest - started.millis(),
        _ => 0,
    };
    let nodes: Vec<Value> = nodes.iter().map(|(at, count)| json!([at.millis(), count])).collect();
    let failure = job.history.failure.as_ref().map(|failure| {
        json!([{
            "task": failure.task,
            "exit_code": failure.exit_code,
            "message": format!("exit with {}", failure.exit_code),
        }])
    });
    let mut status = present(json!({
        "phase": job.state.phase(),
        "secondary_phase": job.state.secondary_phase(),
        "duration": duration,
        "start_time": job.history.started.map_or(0, Timestamp::millis),
        "tasks": job.tasks().collect::<Vec<_>>(),
        "task_statuses": failure,
        "running_records": list(job.history.records.iter().map(record)),
    }));
    status["node_count_metrics"] = list(nodes.into_iter());
    status
}

fn record(record: &RunningRecord) -> Value {
    let end = record.end.as_ref();
    let start_type = match record.restarted {
        true => "restarted",
        false => "init_or_rescheduled",
    };
    present(json!({
        "start_at": record.start.seconds(),
        "start_type": start_type,
        "end_at": end.map(|end| end.at.seconds()),
        "end_reason": end.map(|end| &end.reason),
        "end_related_task": end.and_then(|end| end.task.as_ref()),
        "end_recover": end.and_then(|end| end.recover.as_ref()),
    }))
}

fn algorithm(request: &JobRequest) -> Value {
    let given = &request.body["algorithm"];
    let (boot_file, command) = match &request.start {
        Start::BootFile { file, .. } => (Some(file.to_string()), None),
        Start::Command(command) => (None, Some(command)),
        Start::FineTuning => (None, None),
    };
    // Empty strings in the engine are returned as received.
    let engine = match given["engine"].is_object() {
        true => present(given["engine"].clone()),
        false => json!({}),
    };
    // `auto_search: null` of a request is returned as absent (openapi/SOURCES.md, D-06).
    let policies = match (&given["policies"], &request.tuning) {
        (Value::Null, _) => None,
        (policies, Some(_)) => Some(present(json!({"auto_search": policies["auto_search"]}))),
        (_, None) => Some(json!({})),
    };
    let channels = |channels: &[Channel], kind: &str| {
        let given = given[kind].as_array().into_iter().flatten();
        list(channels.iter().zip(given).map(|(one, given)| channel(one, given)))
    };
    let mut algorithm = present(json!({
        "code_dir": request.code_dir.as_ref().map(ObsPath::to_string),
        "boot_file": boot_file,
        "command": command,
        "parameters": list(request.parameters.iter().map(parameter)),
        "inputs": channels(&request.inputs, "inputs"),
        "outputs": channels(&request.outputs, "outputs"),
        "engine": engine,
        "policies": policies,
        "environments": request.environments,
        "local_code_dir": request.local_code_dir.as_ref().map(ContainerPath::to_string),
        "working_dir": request.working_dir.as_ref().map(ContainerPath::to_string),
    }));
    if let Some(idle) = unused_entry(&request.body) {
        let text = request.text(&format!("/algorithm/{idle}"));
        let path = ObsPath::parse(text).ok().filter(|_| idle == "boot_file");
        algorithm[idle] = path.map_or_else(|| text.to_owned(), |path| path.to_string()).into();
    }
    echo(
        &mut algorithm,
        &request.body,
        "/algorithm",
        &["id", "subscription_id", "item_version_id"],
    );
    algorithm
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "description": parameter.description,
        "i18n_description": null,
        "value": parameter.value,
        "constraint": parameter.constraint.clone().unwrap_or_else(|| json!({
            "type": "String",
            "editable": true,
            "required": false,
            "sensitive": false,
            "valid_type": "None",
            "valid_range": [],
        })),
    })
}

fn channel(channel: &Channel, given: &Value) -> Value {
    let access = text_of(given, "/access_method").map(|_| match channel.access {
        Access::Parameter => "parameter",
        Access::Env => "env",
    });
    present(json!({
        "name": channel.name,
        "local_dir": channel.local_dir.to_string(),
        "remote": match &channel.source {
            DataSource::Obs(path) => json!({"obs": {"obs_url": path.to_string()}}),
            DataSource::DataSet { id, version } => {
                let version = version.as_deref().unwrap_or_default();
                // The service derives this URL from both ids.
                let url = format!("/{id}/{version}/");
                json!({"dataset": {"id": id, "version_id": version, "obs_url": url}})
            }
        },
        "access_method": access,
        "remote_constraint": given["remote_constraint"],
        "mode": given["mode"],
        "period": given["period"],
    }))
}

fn spec(request: &JobRequest, body: &Value) -> Value {
    let flavor = request.flavor();
    // Responses contain details for public flavors only.
    let detail = flavor.filter(|_| request.pool_id.is_none());
    let resource = present(json!({
        "policy": "regular",
        "node_count": request.node_count,
        "flavor_id": request.flavor_id,
        "flavor_name": flavor.map(|flavor| flavor.name),
        "flavor_detail": detail.map(Flavor::detail),
        "pool_id": request.pool_id,
    }));
    let mut spec = json!({"resource": resource, "runtime_type": request.runtime_type()});
    match &request.log_export {
        LogExport::NotGiven => {}
        LogExport::Blank => spec["log_export_path"] = json!({}),
        LogExport::To(path) => spec["log_export_path"] = json!({"obs_url": path.to_string()}),
    }
    echo(&mut spec, body, "/spec", &["volumes", "schedule_policy", "auto_stop"]);
    spec
}

/// Renders an element of `tasks`, which has fewer members than an ordinary job.
fn task_of_role(role: &JobRequest) -> Value {
    let boot_file = match &role.start {
        Start::BootFile { file, .. } => Some(file.to_string()),
        _ => None,
    };
    let mut engine = json!(role.engine);
    if let Some(engine) = engine.as_object_mut() {
        // The documents show no such member in a task (SOURCES O, S).
        engine.remove("install_sys_packages");
    }
    if let Some(preset) = preset(&role.engine) {
        engine["v1_compatible"] = preset.v1_compatible.into();
        if engine.get("run_user").is_none() {
            engine["run_user"] = preset.run_user.into();
        }
    }
    let mut resource = role.flavor().map_or_else(|| json!({}), Flavor::detail);
    if let Some(flavor) = role.flavor() {
        resource["max_num"] = resource["flavor_info"]["max_num"].clone();
        resource["flavor_id"] = flavor.id.into();
        resource["flavor_name"] = flavor.name.into();
    }
    if let Some(pool) = &role.pool_id {
        resource["pool_id"] = pool.as_str().into();
    }
    let log_export_path = match &role.log_export {
        LogExport::To(path) => Some(json!({"obs_url": path.to_string()})),
        _ => None,
    };
    present(json!({
        "role": role.role,
        "algorithm": present(json!({
            "engine": engine,
            "inputs": role.inputs.iter().map(channel_of_role).collect::<Value>(),
            "outputs": role.outputs.iter().map(output_of_role).collect::<Value>(),
            "code_dir": role.code_dir.as_ref().map(ObsPath::to_string),
            "boot_file": boot_file,
            "environments": role.environments,
            "local_code_dir": role.local_code_dir.as_ref().map(ContainerPath::to_string),
            "working_dir": role.working_dir.as_ref().map(ContainerPath::to_string),
        })),
        "task_resource": resource,
        "log_export_path": log_export_path,
    }))
}

fn channel_of_role(channel: &Channel) -> Value {
    json!({
        "name": channel.name,
        "local_dir": channel.local_dir.to_string(),
        "remote": {"obs": {"obs_url": channel.source.to_string()}},
    })
}

/// Renders an output of a role. Its mode and period are always the defaults (SOURCES O).
fn output_of_role(output: &Channel) -> Value {
    let mut shown = channel_of_role(output);
    shown["mode"] = "upload_periodically".into();
    shown["period"] = "30s".into();
    shown
}

/// Renders a task. Each task has a node of its own, with the address of the task.
pub(crate) fn task(job: &Job, (name, rank): (String, u32), schedule_count: u32) -> Value {
    let address = address(&job.id, rank);
    json!({
        "task": name,
        "ip": address,
        "host_ip": address,
        "schedule_count": schedule_count,
    })
}

pub(crate) fn event(event: &Event, message: String) -> Value {
    json!({
        "time": event.time.rfc3339(),
        "level": event.kind.level().as_str(),
        "message": message,
        "source": event.kind.source(),
    })
}
