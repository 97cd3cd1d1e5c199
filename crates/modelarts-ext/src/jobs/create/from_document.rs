//! Jobs from JSON and YAML documents.

use modelarts_api::{Shape, request_path::create_training_job::KIND};
use serde_json::{Map, Value};

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    jobs::{
        create::{CreateJob, copy::request_from_details, document},
        training_jobs::TrainingJobs,
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
    /// Starts a job from a JSON text: the body of a request, as returned by [`CreateJob::body`], or
    /// the details of a job. Details are recognized by fields that only responses have, such as
    /// `status`; they are converted as by [`Job::copy_as`](crate::jobs::Job::copy_as), and
    /// [`CreateJob::check`] warns about each field that is not sent.
    ///
    /// # Errors
    /// Invalid JSON, or a duplicate key: the error has the line. Fields that neither requests nor
    /// responses have, or values of wrong types: [`Error::violations`] has all of them, each with
    /// its path and the most similar name.
    pub fn from_json(&self, text: &str) -> Result<CreateJob, Error> {
        self.from_value(&document::json(text)?)
    }

    /// Starts a job from a YAML text: the body of a request. Where a field is text, such as the
    /// value of a hyper-parameter, `007`, `1.50` and `yes` are taken literally. Anchors, aliases
    /// and merges are resolved.
    ///
    /// # Errors
    /// Those of [`from_json`](Self::from_json).
    pub fn from_yaml(&self, text: &str) -> Result<CreateJob, Error> {
        // Untyped parsing finds all violations with their paths; typed parsing keeps `007`.
        request_body(&document::yaml(Shape::Any, text)?)?;
        self.from_value(&document::yaml(Shape::Object(BODY), text)?)
    }

    /// Starts a job from a JSON value.
    ///
    /// # Errors
    /// Those of [`from_json`](Self::from_json).
    pub fn from_value(&self, document: &Value) -> Result<CreateJob, Error> {
        let (body, warnings) = request_body(document)?;
        Ok(CreateJob::from_body(self.client().clone(), body).with_warnings(warnings))
    }
}

/// Converts a document into the body of a request, with warnings for the fields that are not sent.
fn request_body(document: &Value) -> Result<(Value, Vec<Warning>), Error> {
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
    let mut findings = Findings::default();
    let mut body = read_shape(Shape::Object(BODY), &Located::root(document), &mut findings);
    if !findings.violations.is_empty() {
        return Err(Error::broken_rules("the document", findings.violations));
    }
    if let Value::Object(members) = &mut body {
        members.entry(KIND).or_insert_with(|| "job".into());
    }
    // These are the details of a job.
    if !findings.warnings.is_empty() {
        body = request_from_details(&body);
    }
    Ok((body, findings.warnings))
}

/// Violations of a document, and warnings about fields that are not sent.
#[derive(Default)]
struct Findings {
    violations: Vec<Violation>,
    warnings: Vec<Warning>,
}

/// Converts a value into the shape of requests: numbers become text where text is required, and
/// nulls are removed.
fn read_shape(shape: Shape, located: &Located<'_>, findings: &mut Findings) -> Value {
    let Some(value) = located.value() else {
        return Value::Null;
    };
    match (shape, value) {
        (Shape::Object(schema), Value::Object(_)) => {
            let mut object = Map::new();
            for (name, member) in located.members() {
                match limits::field(schema, name) {
                    Some(field) => {
                        let value = read_shape(field.shape, &member, findings);
                        if !value.is_null() {
                            object.insert(name.to_owned(), value);
                        }
                    }
                    None if is_response_only(&general_name(member.path())) => {
                        findings.warnings.push(Warning::new(
                            member.path(),
                            Actual::Field,
                            "only the service sets this field, so it is not sent",
                        ));
                    }
                    None => findings
                        .violations
                        .push(unknown_field(schema, name, &member)),
                }
            }
            Value::Object(object)
        }
        (Shape::List(inner), Value::Array(_)) => {
            let items = located.items().into_iter();
            items
                .map(|item| read_shape(*inner, &item, findings))
                .collect()
        }
        (Shape::Map(inner), Value::Object(_)) => {
            let entries = located
                .entries()
                .map(|(key, entry)| (key.to_owned(), read_shape(*inner, &entry, findings)));
            Value::Object(entries.filter(|(_, value)| !value.is_null()).collect())
        }
        (Shape::Text | Shape::OneOf(_), Value::Number(_) | Value::Bool(_)) => {
            value.to_string().into()
        }
        (Shape::Text | Shape::OneOf(_), Value::String(_))
        | (Shape::Integer | Shape::Number, Value::Number(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Any, _) => value.clone(),
        _ => {
            findings.violations.push(Violation::new(
                located.path(),
                located.actual(),
                format!("must be {}", limits::shape_in_words(shape)),
                None,
                "change its type",
            ));
            Value::Null
        }
    }
}

fn unknown_field(schema: &str, name: &str, located: &Located<'_>) -> Violation {
    let advice = match nearest(name, limits::fields(schema).map(|field| field.name)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "leave it out".to_owned(),
    };
    // An unknown field may be a misspelt one with a secret.
    Violation::new(
        located.path(),
        Actual::Field,
        "there is no such field",
        None,
        advice,
    )
}
