//! Jobs from JSON and YAML.

use modelarts_api::Shape;
use serde_json::{Map, Value};

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    jobs::{
        create::{CreateJob, copy::request_of, document},
        job::TrainingJobs,
    },
    validation::{
        json_path::{Located, general_name},
        limits::{self, BODY},
        recommendations::nearest,
        report::Warning,
        response_only::is_response_only,
    },
};

impl TrainingJobs {
    /// Begins to make the job that a JSON text describes: the body of a request, as
    /// [`CreateJob::body`] gives it, or the details of a job, which are recognized by fields
    /// that only answers have, such as `status`. Of details the request is that of
    /// [`Job::copy_as`](crate::jobs::job::Job::copy_as); those fields are not sent, and
    /// [`CreateJob::check`] names each in a warning.
    ///
    /// # Errors
    /// The text is no JSON or has a key twice: the error has the line. The text has fields that
    /// are in no request or answer, or values of wrong types: [`Error::violations`] has all of
    /// them, each with its path and the nearest name that there is.
    pub fn from_json(&self, text: &str) -> Result<CreateJob, Error> {
        self.from_value(&document::json(text)?)
    }

    /// Begins to make the job that a YAML text describes: the body of a request. Where
    /// text is wanted, such as the value of a hyper-parameter, `007`, `1.50` and `yes`
    /// are taken as they are written. Anchors, aliases and merges are resolved.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_yaml(&self, text: &str) -> Result<CreateJob, Error> {
        // The untyped reading finds all violations with their paths; the typed one keeps `007`.
        body_of(&document::yaml(text)?)?;
        self.from_value(&document::yaml_as(Shape::Object(BODY), text)?)
    }

    /// Begins to make the job that a JSON value describes.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_value(&self, document: &Value) -> Result<CreateJob, Error> {
        let (body, warnings) = body_of(document)?;
        Ok(CreateJob::from_body(self.client().clone(), body).with_warnings(warnings))
    }
}

/// The body of a request that a document describes, and the fields that are not sent.
fn body_of(document: &Value) -> Result<(Value, Vec<Warning>), Error> {
    if document.is_null() {
        return Err(Error::invalid(
            "the document is empty; a job is an object with metadata, algorithm and spec",
        ));
    }
    if !document.is_object() {
        return Err(Error::invalid(
            "the document is no object; a job is one, with metadata, algorithm and spec",
        ));
    }
    let mut found = Found::default();
    let mut body = read(Shape::Object(BODY), &Located::root(document), &mut found);
    if !found.violations.is_empty() {
        return Err(Error::broken_rules("the document", found.violations));
    }
    if let Value::Object(members) = &mut body {
        members.entry("kind").or_insert_with(|| "job".into());
    }
    // The details of a job.
    if !found.warnings.is_empty() {
        body = request_of(&body);
    }
    Ok((body, found.warnings))
}

/// Fields of a document that are not in the body.
#[derive(Default)]
struct Found {
    violations: Vec<Violation>,
    warnings: Vec<Warning>,
}

/// The value, with text where text is wanted and without nulls.
fn read(shape: Shape, place: &Located<'_>, found: &mut Found) -> Value {
    let Some(value) = place.value() else {
        return Value::Null;
    };
    match (shape, value) {
        (Shape::Object(schema), Value::Object(members)) => {
            let mut object = Map::new();
            for name in members.keys() {
                let here = place.at_name(name);
                match limits::fields(schema).find(|field| field.name == name) {
                    Some(field) => {
                        let value = read(field.shape, &here, found);
                        if !value.is_null() {
                            object.insert(name.clone(), value);
                        }
                    }
                    None if is_response_only(&general_name(here.path())) => {
                        found.warnings.push(Warning::new(
                            here.path(),
                            Actual::Field,
                            "only the service sets this field, so it is not sent",
                        ));
                    }
                    None => found.violations.push(unknown(schema, name, &here)),
                }
            }
            Value::Object(object)
        }
        (Shape::List(inner), Value::Array(_)) => {
            let items = place.items().into_iter();
            items.map(|item| read(*inner, &item, found)).collect()
        }
        (Shape::Map(inner), Value::Object(_)) => {
            let entries = place.entries().into_iter();
            Value::Object(
                entries
                    .map(|(key, entry)| (key.to_owned(), read(*inner, &entry, found)))
                    .filter(|(_, value)| !value.is_null())
                    .collect(),
            )
        }
        (Shape::Text | Shape::OneOf(_), Value::Number(_) | Value::Bool(_)) => {
            value.to_string().into()
        }
        (Shape::Text | Shape::OneOf(_), Value::String(_))
        | (Shape::Integer | Shape::Number, Value::Number(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Any, _) => value.clone(),
        _ => {
            found.violations.push(Violation::new(
                place.path(),
                place.actual(),
                limits::shape_in_words(shape),
                None,
                "change its type",
            ));
            Value::Null
        }
    }
}

fn unknown(schema: &str, name: &str, place: &Located<'_>) -> Violation {
    let advice = match nearest(name, limits::fields(schema).map(|field| field.name)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "leave it out".to_owned(),
    };
    // An unknown field may be a misspelt one that holds secrets.
    Violation::new(
        place.path(),
        Actual::Field,
        "there is no such field",
        None,
        advice,
    )
}
