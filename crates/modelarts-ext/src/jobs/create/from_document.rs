//! Jobs from JSON and YAML documents.

use modelarts_api::{Shape, request_path::create_training_job::KIND};
use serde_json::Value;

use crate::{
    error::Error,
    jobs::{
        create::{CreateJob, conversion::Conversion, copy::request_from_details, document},
        training_jobs::TrainingJobs,
    },
    validation::{limits::BODY, report::Warning},
};

impl TrainingJobs {
    /// Returns the builder of a job that is described by JSON: the body of a request, as returned
    /// by [`CreateJob::body`], or the details of a job. Details are recognized by fields that occur
    /// only in responses, such as `status`. They are converted as by
    /// [`JobHandle::copy_as`](crate::jobs::JobHandle::copy_as), and [`CreateJob::check`] warns
    /// about each field that is not sent.
    ///
    /// # Errors
    /// Invalid JSON, or a duplicate key: the error states the line. Fields that occur neither in
    /// requests nor in responses, or values of wrong types: [`Error::violations`] contains all of
    /// them, each with its path and the most similar name.
    pub fn from_json(&self, text: &str) -> Result<CreateJob, Error> {
        self.from_value(&document::json(text)?)
    }

    /// Returns the builder of a job that is described by YAML, in the form of a request body. In
    /// string fields, such as the value of a hyper-parameter, `007`, `1.50` and `yes` are taken
    /// literally. Anchors, aliases and merges are resolved.
    ///
    /// # Errors
    /// Same as [`from_json`](Self::from_json).
    pub fn from_yaml(&self, text: &str) -> Result<CreateJob, Error> {
        // Untyped parsing finds all violations with their paths; typed parsing preserves `007` as a
        // string.
        request_body(&document::yaml(Shape::Any, text)?)?;
        self.from_value(&document::yaml(Shape::Object(BODY), text)?)
    }

    /// Returns the builder of a job that is described by a JSON value.
    ///
    /// # Errors
    /// Same as [`from_json`](Self::from_json).
    pub fn from_value(&self, document: &Value) -> Result<CreateJob, Error> {
        let (body, warnings) = request_body(document)?;
        let mut job = CreateJob::from_body(self.client().clone(), body);
        job.warnings = warnings;
        Ok(job)
    }
}

/// Converts a document into a request body, and returns warnings about the fields that are not
/// sent.
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
    let mut conversion = Conversion::default();
    let mut body = conversion.convert_body(document);
    if !conversion.violations.is_empty() {
        return Err(Error::broken_rules("the document", conversion.violations));
    }
    if let Value::Object(members) = &mut body {
        members.entry(KIND).or_insert_with(|| "job".into());
    }
    // If fields are not sent, the document contains the details of a job.
    if !conversion.warnings.is_empty() {
        body = request_from_details(&body);
    }
    Ok((body, conversion.warnings))
}
