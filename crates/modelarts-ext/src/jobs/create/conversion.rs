//! Conversion of documents, and of the details of copied jobs, into request bodies.

use modelarts_api::{
    Operation, Shape,
    request_path::{
        create_training_job::{
            FTJOB_CONFIG,
            algorithm::{self, engine, inputs},
            ftjob_config,
            metadata::training_experiment_reference as experiment,
            spec::{SCHEDULE_POLICY, schedule_policy},
        },
        parameter,
    },
};
use serde_json::{Map, Value};

use crate::{
    error::violation::{Actual, Violation},
    jobs::create::json_edit::{get, remove},
    spelling::nearest,
    validation::{
        json_path::{Fields, Located, general_name, has_content},
        limits::{self, BODY},
        report::Warning,
    },
};

/// Conversion into a request body: scalars become strings where required, and nulls are removed.
#[derive(Default)]
pub(super) struct Conversion {
    /// `true` if the document is a response. Empty values and values of the service are omitted.
    is_answer: bool,
    pub(super) violations: Vec<Violation>,
    pub(super) warnings: Vec<Warning>,
}

impl Conversion {
    pub(super) fn convert_body(&mut self, document: &Value) -> Value {
        let body = self.convert(Shape::Object(BODY), "", &Located::root(document));
        body.unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Converts the value of a field. Returns `None` if the request must not contain the field.
    pub(super) fn convert(
        &mut self,
        shape: Shape,
        name: &str,
        located: &Located<'_>,
    ) -> Option<Value> {
        let value = located.value()?;
        let converted = match (shape, value) {
            (Shape::Object(schema), Value::Object(_)) => self.convert_object(schema, located),
            // The service returns some lists with a single element as the element itself.
            (Shape::List(inner), _) if self.is_answer || value.is_array() => {
                let items = match value {
                    Value::Array(_) => located.items(),
                    _ => Fields::from(Located::new(format!("{}[0]", located.path()), Some(value))),
                };
                let items = items.iter();
                let items = items.filter_map(|item| self.convert(*inner, "", item));
                items.collect()
            }
            (Shape::Map(inner), Value::Object(_)) if !self.is_answer => {
                let entries = located.keys().filter_map(|key| {
                    let entry = self.convert(*inner, "", &located.entry(key))?;
                    Some((key.to_owned(), entry))
                });
                Value::Object(entries.collect())
            }
            (Shape::Text | Shape::OneOf(_), Value::Number(_) | Value::Bool(_)) => {
                value.to_string().into()
            }
            (Shape::Integer | Shape::Number | Shape::Boolean, Value::String(text))
                if self.is_answer =>
            {
                let read = serde_json::from_str(text.trim()).ok();
                let read = read.filter(|read| limits::fits(shape, read));
                read.unwrap_or_else(|| value.clone())
            }
            // In a response, values of the wrong type are kept. The validation reports them.
            _ if self.is_answer || limits::fits(shape, value) => value.clone(),
            _ => {
                self.violations.push(Violation::new(
                    located.path(),
                    located.actual(),
                    format!("must be {}", limits::shape_in_words(shape)),
                    None,
                    "change its type",
                ));
                return None;
            }
        };
        // In a response, only the value of a hyper-parameter may be empty.
        let may_be_empty = !self.is_answer || (shape == Shape::Text && name == parameter::VALUE);
        (may_be_empty || has_content(&converted)).then_some(converted)
    }

    fn convert_object(&mut self, schema: &str, located: &Located<'_>) -> Value {
        let mut object = Map::new();
        for (name, member) in located.members() {
            let field = limits::field(schema, name);
            let is_kept = field.is_some() && !self.is_answer;
            if !is_kept && is_response_only(&general_name(member.path())) {
                self.warnings.push(Warning::new(
                    member.path(),
                    Actual::Field,
                    "only the service sets this field, so it is not sent",
                ));
            } else if field.is_none() && !self.is_answer {
                self.violations.push(unknown_field(schema, name, &member));
            } else {
                let shape = field.map_or(Shape::Any, |field| field.shape);
                let value = self.convert(shape, name, &member);
                object.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        Value::Object(object)
    }
}

fn unknown_field(schema: &str, name: &str, located: &Located<'_>) -> Violation {
    let advice = match nearest(name, limits::fields(schema).map(|field| field.name)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "leave it out".to_owned(),
    };
    // The violation omits the value, which may be a secret under a misspelt name.
    let rule = "there is no such field";
    Violation::new(located.path(), Actual::Field, rule, None, advice)
}

pub(super) fn request_from_details(details: &Value) -> Value {
    let mut conversion = Conversion { is_answer: true, ..Conversion::default() };
    let mut body = conversion.convert_body(details);
    // The user id applies only to custom images.
    if get(&body, engine::IMAGE_URL).is_none() {
        remove(&mut body, engine::RUN_USER);
    }
    // The reference has either the id of an existing experiment or the name of a new experiment.
    if get(&body, experiment::ID).is_some() {
        remove(&mut body, experiment::NAME);
        remove(&mut body, experiment::DESCRIPTION);
    }
    // Older interfaces return the default priority as 0.
    if get(&body, schedule_policy::PRIORITY) == Some(&0.into()) {
        remove(&mut body, schedule_policy::PRIORITY);
    }
    if !get(&body, SCHEDULE_POLICY).is_some_and(has_content) {
        remove(&mut body, SCHEDULE_POLICY);
    }
    // For jobs without fine-tuning, the service returns a tuning configuration without settings.
    let settings = [
        ftjob_config::FT_JOB_UUID,
        ftjob_config::FT_TRAIN_TYPE,
        ftjob_config::MODEL_TYPE,
        ftjob_config::TASK_ENV,
        ftjob_config::CHECKPOINT_CONFIG,
    ];
    if settings.iter().all(|field| get(&body, field).is_none()) {
        remove(&mut body, FTJOB_CONFIG);
    }
    body
}

/// Operation that creates a job, with the list of the fields that occur only in its response.
const CREATE: Option<&Operation> = Operation::find("create_training_job");

const DERIVED: [&str; 2] = [algorithm::NAME, inputs::remote::dataset::OBS_URL];

pub(crate) fn is_response_only(general: &str) -> bool {
    CREATE.is_some_and(|create| create.response_only.contains(&general))
        || DERIVED.contains(&general)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_service_sets_are_response_only() {
        for general in [
            "status",
            "metadata.id",
            "algorithm.name",
            "algorithm.outputs[].mode",
            "algorithm.inputs[].remote.dataset.obs_url",
            "tasks[].task_resource.attributes",
        ] {
            assert!(is_response_only(general), "{general}");
        }
        for general in ["metadata", "metadata.name", "status.phase", "spec.resource.flavor_id"] {
            assert!(!is_response_only(general), "{general}");
        }
    }
}
