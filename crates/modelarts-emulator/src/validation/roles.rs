//! Roles of a heterogeneous job, converted to ordinary jobs.

use serde_json::{Map, Value, json};

use crate::{api::error::ApiError, validation::fields::visible::known_part};

/// Returns each role as received, without unknown fields, and as the body of an ordinary job.
pub(crate) fn role_bodies(given: &Value) -> Vec<(Value, Value)> {
    let mut known_part = known_part(given);
    let tasks = match known_part["tasks"].take() {
        Value::Array(tasks) => tasks,
        _ => Vec::new(),
    };
    let roles = tasks.into_iter().map(|task| {
        let mut algorithm = Map::new();
        // Both may contain parameters, channels and the engine. `algorithm` takes precedence.
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
    });
    roles.collect()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || *value == json!([]) || *value == json!({})
}

/// Replaces the field names in the error of a role with the names of these fields in `tasks`.
pub(crate) fn rename_fields(error: ApiError, at: usize, task: &Value) -> ApiError {
    let element = format!("tasks[{at}]");
    let algorithm = format!("{element}.algorithm.");
    let mut error = error
        .renamed("algorithm.", &algorithm)
        .renamed("spec.resource", &format!("{element}.task_resource"))
        .renamed("spec.log_export_path", &format!("{element}.log_export_path"));
    let given = task.pointer("/algorithm/job_config");
    for (name, _) in given.and_then(Value::as_object).into_iter().flatten() {
        if is_empty(&task["algorithm"][name]) {
            error = error
                .renamed(&format!("{algorithm}{name}"), &format!("{algorithm}job_config.{name}"));
        }
    }
    if !error.message.contains(&element) {
        error.message = format!("{element}: {}", error.message);
    }
    error
}
