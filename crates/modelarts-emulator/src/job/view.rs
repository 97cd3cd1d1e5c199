//! Rendering of jobs and events as documented JSON.

use serde_json::{Map, Value, json};

use crate::{
    clock::timestamp::Timestamp,
    files::obs_path::ObsPath,
    job::{
        Job,
        address::address,
        channel::{Access, Channel, DataSource},
        event::Event,
        request::{JobRequest, LogExport, Parameter, Start},
        roles,
        state::JobState,
    },
    validation::fields::{
        ignored::unused_entry,
        visible::{give_back, visible_part},
    },
};

/// The name of the user in a response; empty in the response to a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserName<'a> {
    NotYet,
    Known(&'a str),
}

/// A job, as CreateTrainingJob, ShowTrainingJobDetails, StopTrainingJob and the items of
/// ListTrainingJobs show it.
pub(crate) fn job(job: &Job, user: UserName<'_>, now: Timestamp) -> Value {
    let body = job.body();
    let mut shown = json!({
        "kind": job.request.text("/kind"),
        "metadata": metadata(job, &body, user),
        "status": status(job, now),
    });
    if job.request.roles.is_empty() {
        shown["algorithm"] = algorithm(&job.request);
        shown["spec"] = spec(&job.request, &body);
    } else {
        let roles = job.request.roles.iter();
        shown["tasks"] = roles.map(|role| roles::render_role(role)).collect();
        if let Value::Object(mut spec) = visible_part(&body)["spec"].take() {
            spec.retain(|_, value| !value.is_null());
            if !spec.is_empty() {
                shown["spec"] = spec.into();
            }
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

/// Removes the members of a fine-tuning job that no response has, according to a note in the
/// vendor's Terraform provider (SOURCES T).
fn hide_tuning(shown: &mut Value) {
    for (parent, name) in [
        ("algorithm", "inputs"),
        ("spec", "output_model"),
        ("spec", "asset_model"),
    ] {
        if let Some(parent) = shown[parent].as_object_mut() {
            parent.remove(name);
        }
    }
}

/// Copies members of the request without changes.
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

/// The applications that an annotation requests, and their names in `endpoints`.
const APPLICATIONS: [(&str, &str); 3] = [
    ("jupyter-lab/enable", "jupyter_lab"),
    ("tensorboard/enable", "tensorboard"),
    ("mindstudio-insight/enable", "mindstudio_insight"),
];

/// Adds the addresses and tokens of the requested endpoints. No server listens on them.
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

fn metadata(job: &Job, body: &Value, user: UserName<'_>) -> Value {
    let request = &job.request;
    let mut metadata = json!({
        "id": job.id,
        "name": request.name,
        "description": job.description,
        "create_time": job.created.millis(),
        "workspace_id": request.workspace_id,
        "user_name": match user {
            UserName::NotYet => "",
            UserName::Known(name) => name,
        },
    });
    echo(&mut metadata, body, "/metadata", &["annotations"]);
    metadata
}

fn status(job: &Job, now: Timestamp) -> Value {
    let now = now.whole_second();
    let mut nodes = job.nodes.clone();
    // The latest sample, while the job is sampled. The duration counts up to it.
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
    let duration = match (job.started, latest) {
        (Some(started), Some(latest)) => latest - started.millis(),
        _ => 0,
    };
    let nodes: Vec<Value> = nodes
        .iter()
        .map(|(at, count)| json!([at.millis(), count]))
        .collect();
    let mut status = json!({
        "phase": job.state.phase(),
        "secondary_phase": job.state.secondary_phase(),
        "duration": duration,
        "start_time": job.started.map_or(0, Timestamp::millis),
        "node_count_metrics": if nodes.is_empty() { Value::Null } else { Value::Array(nodes) },
        "tasks": job.tasks().collect::<Vec<_>>(),
    });
    if let Some(failure) = &job.failure {
        status["task_statuses"] = json!([{
            "task": failure.task,
            "exit_code": failure.exit_code,
            "message": format!("exit with {}", failure.exit_code),
        }]);
    }
    if !job.records.is_empty() {
        let records = job.records.iter().map(|record| {
            let mut shown = json!({
                "start_at": record.start.seconds(),
                "start_type": if record.restarted {
                    "restarted"
                } else {
                    "init_or_rescheduled"
                },
            });
            if let Some(end) = &record.end {
                shown["end_at"] = end.at.seconds().into();
                shown["end_reason"] = end.reason.as_str().into();
                if let Some(task) = &end.task {
                    shown["end_related_task"] = task.as_str().into();
                }
                if let Some(recover) = &end.recover {
                    shown["end_recover"] = recover.as_str().into();
                }
            }
            shown
        });
        status["running_records"] = records.collect();
    }
    status
}

fn algorithm(request: &JobRequest) -> Value {
    let mut algorithm = Map::new();
    let mut put = |name: &str, value: Value| algorithm.insert(name.to_owned(), value);
    if !request.algorithm_name.is_empty() {
        put("name", request.algorithm_name.as_str().into());
    }
    if let Some(code_dir) = &request.code_dir {
        put("code_dir", code_dir.to_string().into());
    }
    match &request.start {
        Start::BootFile { file, .. } => put("boot_file", file.to_string().into()),
        Start::Command(command) => put("command", command.as_str().into()),
        Start::FineTuning => None,
    };
    if !request.parameters.is_empty() {
        put(
            "parameters",
            request.parameters.iter().map(parameter).collect(),
        );
    }
    if !request.inputs.is_empty() {
        put("inputs", request.inputs.iter().map(channel).collect());
    }
    if !request.outputs.is_empty() {
        put("outputs", request.outputs.iter().map(channel).collect());
    }
    // Includes empty texts, as received.
    let mut engine = request.body["algorithm"]["engine"].clone();
    match engine.as_object_mut() {
        Some(members) => members.retain(|_, value| !value.is_null()),
        None => engine = json!({}),
    }
    put("engine", engine);
    if request
        .body
        .pointer("/algorithm/policies")
        .is_some_and(|policies| !policies.is_null())
    {
        // `auto_search: null` of a request is returned as absent (openapi/SOURCES.md, D-06).
        let search = request.tuning.as_ref().and_then(|_| {
            let search = request.body.pointer("/algorithm/policies/auto_search")?;
            Some(json!({"auto_search": search}))
        });
        put("policies", search.unwrap_or_else(|| json!({})));
    }
    if let Some(environments) = &request.environments {
        put("environments", json!(environments));
    }
    if let Some(path) = &request.local_code_dir {
        put("local_code_dir", path.to_string().into());
    }
    if let Some(path) = &request.working_dir {
        put("working_dir", path.to_string().into());
    }
    let mut algorithm = Value::Object(algorithm);
    if let Some(idle) = unused_entry(&request.body) {
        let text = request.text(&format!("/algorithm/{idle}"));
        let path = ObsPath::parse(text).ok().filter(|_| idle == "boot_file");
        algorithm[idle] = path
            .map_or_else(|| text.to_owned(), |path| path.to_string())
            .into();
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

fn channel(channel: &Channel) -> Value {
    let mut shown = json!({
        "name": channel.name,
        "local_dir": channel.local_dir.to_string(),
        "remote": match &channel.source {
            DataSource::Obs(path) => json!({"obs": {"obs_url": path.to_string()}}),
            DataSource::DataSet { id, version } => {
                let version = version.as_deref().unwrap_or_default();
                // The service derives it from the two ids.
                let url = format!("/{id}/{version}/");
                json!({"dataset": {"id": id, "version_id": version, "obs_url": url}})
            }
        },
    });
    for (name, value) in &channel.echo {
        shown[name] = value.clone();
    }
    if let Some(description) = &channel.description {
        shown["description"] = description.as_str().into();
    }
    if channel.access_given {
        shown["access_method"] = match channel.access {
            Access::Parameter => "parameter".into(),
            Access::Env => "env".into(),
        };
    }
    shown
}

fn spec(request: &JobRequest, body: &Value) -> Value {
    let mut resource = json!({
        "policy": "regular",
        "node_count": request.node_count,
    });
    if let Some(flavor_id) = &request.flavor_id {
        resource["flavor_id"] = flavor_id.as_str().into();
    }
    if let Some(flavor) = request.flavor() {
        resource["flavor_name"] = flavor.name.into();
        // For public flavors only.
        if request.pool_id.is_none() {
            resource["flavor_detail"] = flavor.detail();
        }
    }
    if let Some(pool_id) = &request.pool_id {
        resource["pool_id"] = pool_id.as_str().into();
    }
    let mut spec = json!({"resource": resource, "runtime_type": request.runtime_type()});
    match &request.log_export {
        LogExport::NotGiven => {}
        LogExport::Blank => spec["log_export_path"] = json!({}),
        LogExport::To(path) => spec["log_export_path"] = json!({"obs_url": path.to_string()}),
    }
    echo(
        &mut spec,
        body,
        "/spec",
        &["volumes", "schedule_policy", "auto_stop"],
    );
    spec
}

/// A task, given by its name and rank, with its address. Each task has a node of its own, with the
/// same address.
pub(crate) fn task(job: &Job, (name, rank): (String, u32), schedule_count: u32) -> Value {
    let address = address(&job.id, rank);
    json!({
        "task": name,
        "ip": address,
        "host_ip": address,
        "schedule_count": schedule_count,
    })
}

/// One event with its text.
pub(crate) fn event(event: &Event, message: String) -> Value {
    json!({
        "time": event.time.rfc3339(),
        "level": event.kind.level().as_str(),
        "message": message,
        "source": event.kind.source(),
    })
}
