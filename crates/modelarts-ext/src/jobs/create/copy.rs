//! Copies of jobs: the request that creates a job like an existing one.

use modelarts_api::Shape;
use serde_json::{Map, Value, json};

use crate::{
    error::Error,
    jobs::{
        create::{CreateJob, json_edit},
        job::Job,
    },
    validation::{
        json_path::has_content,
        limits::{self, BODY},
        response_only::is_response_only,
    },
};

impl Job {
    /// Starts a new job with the settings of this one and another name, to be changed and
    /// submitted. Reads the details of the job with one call.
    ///
    /// All settings are kept, including undocumented fields: [`check`](CreateJob::check) warns
    /// about those, and [`without_field`](CreateJob::without_field) removes them. Dropped are
    /// values that the service sets itself (status, ids, times, addresses), and empty ones: null,
    /// empty text, empty lists. Code and engine are kept beside the id of an algorithm, because
    /// they may be the job's own.
    ///
    /// The details of a fine-tuning job have neither `train_type` nor `spec.asset_id`: set them
    /// again with [`fine_tuning`](CreateJob::fine_tuning) and [`asset`](CreateJob::asset).
    ///
    /// # Errors
    /// Those of [`TrainingJobs::get`](crate::jobs::TrainingJobs::get).
    pub async fn copy_as(&self, name: impl Into<String>) -> Result<CreateJob, Error> {
        let mut job = self.clone();
        job.refresh().await?;
        // The response types have only the documented fields.
        let details = serde_json::from_slice(job.raw())
            .map_err(|error| Error::invalid(format!("the job is not understood: {error}")))?;
        Ok(CreateJob::from_body(self.client().clone(), request_from_details(&details)).name(name))
    }
}

/// Converts the details of a job into the request for a copy.
pub(super) fn request_from_details(details: &Value) -> Value {
    let mut body = request_value(Shape::Object(BODY), "", "", details).unwrap_or_else(|| json!({}));
    // Only custom images have a user.
    if body.pointer("/algorithm/engine/image_url").is_none() {
        json_edit::remove(&mut body, "algorithm.engine.run_user");
    }
    // An experiment has an id if it exists, or a name if it is new.
    if body
        .pointer("/metadata/training_experiment_reference/id")
        .is_some()
    {
        json_edit::remove(&mut body, "metadata.training_experiment_reference.name");
        json_edit::remove(
            &mut body,
            "metadata.training_experiment_reference.description",
        );
    }
    // The default, as older interfaces return it.
    if body.pointer("/spec/schedule_policy/priority") == Some(&0.into()) {
        json_edit::remove(&mut body, "spec.schedule_policy.priority");
        if body
            .pointer("/spec/schedule_policy")
            .is_some_and(|policy| !has_content(policy))
        {
            json_edit::remove(&mut body, "spec.schedule_policy");
        }
    }
    // Plain jobs are returned with an empty search configuration.
    let settings = [
        "ft_job_uuid",
        "ft_train_type",
        "model_type",
        "task_env",
        "checkpoint_config",
    ];
    let tuned = settings
        .iter()
        .any(|name| body.pointer(&format!("/ftjob_config/{name}")).is_some());
    if !tuned {
        json_edit::remove(&mut body, "ftjob_config");
    }
    body
}

/// Converts a value of a response into the shape of requests; `None` if a request cannot have it.
/// `path`: the field without list indexes.
fn request_value(shape: Shape, path: &str, name: &str, value: &Value) -> Option<Value> {
    match (shape, value) {
        (_, Value::Null) => None,
        (Shape::Object(schema), Value::Object(members)) => {
            let mut object = Map::new();
            for (name, member) in members {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                if is_response_only(&path) {
                    continue;
                }
                // Undocumented fields are kept as they are.
                let known = limits::fields(schema).find(|field| field.name == name);
                let shape = known.map_or(Shape::Any, |field| field.shape);
                if let Some(value) = request_value(shape, &path, name, member) {
                    object.insert(name.clone(), value);
                }
            }
            let object = Value::Object(object);
            has_content(&object).then_some(object)
        }
        (Shape::List(inner), value) => {
            // The service returns some lists of one element without the list.
            let items = match value {
                Value::Array(items) => items.as_slice(),
                one => std::slice::from_ref(one),
            };
            let path = format!("{path}[]");
            let items = items
                .iter()
                .filter_map(|item| request_value(*inner, &path, "", item));
            let items: Vec<_> = items.collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        (Shape::Text | Shape::OneOf(_), Value::Number(_) | Value::Bool(_)) => {
            Some(value.to_string().into())
        }
        // The value of a hyper-parameter may be empty.
        (Shape::Text, Value::String(text)) if text.is_empty() && name == "value" => {
            Some(value.clone())
        }
        (Shape::Integer | Shape::Number, Value::String(text)) => match text.trim().parse() {
            Ok(number) => Some(Value::Number(number)),
            Err(_) => has_content(value).then(|| value.clone()),
        },
        (Shape::Boolean, Value::String(text)) => match text.trim().parse() {
            Ok(switch) => Some(Value::Bool(switch)),
            Err(_) => has_content(value).then(|| value.clone()),
        },
        // Not the documented shape: kept, and reported by the check.
        _ => has_content(value).then(|| value.clone()),
    }
}
