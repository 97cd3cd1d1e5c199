//! Jobs made from jobs.

use modelarts_api::{Shape, types::TrainingJob};
use serde_json::{Map, Value};

use crate::{
    create::CreateJob,
    document,
    error::Error,
    job::Job,
    limits::{self, BODY},
    place::says_something,
};

impl Job {
    /// Begins to make a job like this one under another name, to be changed and
    /// submitted. The job is looked at again for that.
    ///
    /// Everything that the service says about the job and that a request can say is
    /// kept; what only the service sets is dropped. Some services do not give back
    /// when a job is stopped by itself and whom it notifies: set that again.
    ///
    /// # Errors
    /// As [`TrainingJobs::get`](crate::TrainingJobs::get).
    pub async fn copy_as(&self, name: impl Into<String>) -> Result<CreateJob, Error> {
        let answer = self
            .client()
            .call(|api| {
                api.show_training_job_details()
                    .project_id(self.client().project_id())
                    .training_job_id(self.training_job_id().clone())
                    .send()
            })
            .await?;
        let raw = serde_json::from_slice(answer.raw()).unwrap_or_default();
        let body = request_of(&answer.into_inner(), &raw);
        Ok(CreateJob::from_body(self.client().clone(), body).name(name))
    }
}

/// What a request says of a job. The types of answers know fewer fields than
/// requests have, so the answer as it came is looked at, too.
pub(crate) fn request_of(job: &TrainingJob, raw: &Value) -> Value {
    let job = serde_json::to_value(job).unwrap_or_default();
    let mut body = keep(Shape::Object(BODY), "", Some(&job), Some(raw)).unwrap_or_default();
    algorithm(&mut body);
    for input in list(&mut body, "/algorithm/inputs") {
        // The service derives it from the data set.
        document::remove(input, "remote.dataset.obs_url");
    }
    // An experiment is named by its id, or made by its name.
    if body
        .pointer("/metadata/training_experiment_reference/id")
        .is_some()
    {
        document::remove(&mut body, "metadata.training_experiment_reference.name");
        document::remove(
            &mut body,
            "metadata.training_experiment_reference.description",
        );
    }
    // The default, in the words of an older interface.
    if body.pointer("/spec/schedule_policy/priority") == Some(&0.into()) {
        document::remove(&mut body, "spec.schedule_policy.priority");
        if body
            .pointer("/spec/schedule_policy")
            .is_some_and(|policy| !says_something(policy))
        {
            document::remove(&mut body, "spec.schedule_policy");
        }
    }
    // Plain jobs are answered with a configuration that configures nothing.
    let tuned = ["ft_job_uuid", "ft_train_type", "model_type"]
        .iter()
        .any(|name| body.pointer(&format!("/ftjob_config/{name}")).is_some());
    if !tuned {
        document::remove(&mut body, "ftjob_config");
    }
    body
}

/// Answers show what the service made of the request: the code of an algorithm that
/// it keeps, and each name that an engine has. A request says it in one way.
fn algorithm(body: &mut Value) {
    let has = |body: &Value, name: &str| body.pointer(&format!("/algorithm/{name}")).is_some();
    document::remove(body, "algorithm.name");
    if has(body, "id") || has(body, "subscription_id") {
        for name in ["code_dir", "boot_file", "command", "engine"] {
            document::remove(body, &format!("algorithm.{name}"));
        }
        return;
    }
    if has(body, "engine/image_url") {
        document::remove(body, "algorithm.engine.engine_id");
        return;
    }
    // Only images of one's own are told a user.
    document::remove(body, "algorithm.engine.run_user");
    if has(body, "engine/engine_id") {
        document::remove(body, "algorithm.engine.engine_name");
        document::remove(body, "algorithm.engine.engine_version");
    }
}

fn list<'a>(body: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = body.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// What of an answer fits the shape of a request.
fn keep(shape: Shape, name: &str, job: Option<&Value>, raw: Option<&Value>) -> Option<Value> {
    let job = job.filter(|value| !value.is_null());
    let raw = raw.filter(|value| !value.is_null());
    match shape {
        Shape::Object(schema) => {
            let mut object = Map::new();
            for field in limits::fields(schema) {
                let of = |value: Option<&'_ Value>| {
                    value.and_then(|value| value.get(field.name)).cloned()
                };
                let (job, raw) = (of(job), of(raw));
                if let Some(value) = keep(field.shape, field.name, job.as_ref(), raw.as_ref()) {
                    object.insert(field.name.to_owned(), value);
                }
            }
            let object = Value::Object(object);
            says_something(&object).then_some(object)
        }
        Shape::List(inner) => {
            let raw = raw.and_then(Value::as_array);
            let job = job.and_then(Value::as_array);
            let count = job.or(raw).map_or(0, Vec::len);
            // Rows that could not be understood would shift the others.
            let raw = raw.filter(|raw| raw.len() == count);
            let items = (0..count).filter_map(|index| {
                let job = job.and_then(|items| items.get(index));
                let raw = raw.and_then(|items| items.get(index));
                keep(*inner, "", job, raw)
            });
            let items: Vec<_> = items.collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Shape::Map(_) => {
            let map = job.or(raw).filter(|value| value.is_object())?;
            says_something(map).then(|| map.clone())
        }
        Shape::Text | Shape::OneOf(_) => match job.or(raw)? {
            // A hyper-parameter may well be set to nothing.
            Value::String(text) if text.is_empty() && name != "value" => None,
            Value::String(text) => Some(text.clone().into()),
            Value::Number(number) => Some(number.to_string().into()),
            _ => None,
        },
        Shape::Integer | Shape::Number => job.or(raw).filter(|value| value.is_number()).cloned(),
        Shape::Boolean => job.or(raw).filter(|value| value.is_boolean()).cloned(),
        _ => job.or(raw).cloned(),
    }
}
