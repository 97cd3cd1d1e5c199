//! Creation of job builders from JSON and YAML documents.

use std::fmt;

use modelarts_api::{Shape, request_path::create_training_job::KIND};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use serde_saphyr::UserMessageFormatter;

use crate::{
    error::Error,
    jobs::{
        create::{
            CreateJob,
            conversion::{Conversion, request_from_details},
        },
        job::JobHandle,
        training_jobs::TrainingJobs,
    },
    validation::{
        limits::{self, BODY},
        report::Warning,
    },
};

impl TrainingJobs {
    /// Returns the builder of a job from JSON: the body of a request, or the details of a job,
    /// which are converted as by [`JobHandle::copy_as`](crate::jobs::JobHandle::copy_as).
    /// [`CreateJob::check`] warns about each field that is not sent.
    ///
    /// # Errors
    /// Returns an error for invalid JSON or a duplicate key, with the line, and for unknown fields
    /// and wrong types: [`Error::violations`] has all of them, with paths and similar names.
    pub fn from_json(&self, text: &str) -> Result<CreateJob, Error> {
        self.from_value(&json(text)?)
    }

    /// Returns the builder of a job from YAML, as by [`from_json`](Self::from_json). In string
    /// fields, `007`, `1.50` and `yes` are literal. Anchors, aliases and merges are resolved.
    ///
    /// ```no_run
    /// # type Result = std::result::Result<(), Box<dyn std::error::Error>>;
    /// # async fn example(client: modelarts_ext::Client) -> Result {
    /// // `job.yaml` has the fields of a request: metadata, algorithm and spec.
    /// let document = std::fs::read_to_string("job.yaml")?;
    /// let job = client.training_jobs().from_yaml(&document)?.name("bert-base-2");
    /// println!("{}", job.submit().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`from_json`](Self::from_json).
    pub fn from_yaml(&self, text: &str) -> Result<CreateJob, Error> {
        // Untyped parsing finds all violations; typed parsing preserves `007` as a string.
        request_body(&yaml(Shape::Any, text)?)?;
        self.from_value(&yaml(Shape::Object(BODY), text)?)
    }

    /// Returns the builder of a job from a JSON value, as in [`from_json`](Self::from_json).
    ///
    /// # Errors
    /// Returns the errors of [`from_json`](Self::from_json).
    pub fn from_value(&self, document: &Value) -> Result<CreateJob, Error> {
        let (body, warnings) = request_body(document)?;
        let mut job = CreateJob::from_body(self.client().clone(), body);
        job.warnings = warnings;
        Ok(job)
    }
}

impl JobHandle {
    /// Returns the builder of a job with the settings of this job and another name. Makes one call.
    ///
    /// Undocumented fields are kept: [`check`](CreateJob::check) warns about them, and
    /// [`without_field`](CreateJob::without_field) removes them. Values that the service sets and
    /// empty values are removed. The copied code and engine may override those of an algorithm.
    ///
    /// Outputs and the path of the logs are kept as well, so the copy overwrites files of this job.
    /// To keep the files of both jobs, replace each output:
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// let copy = job.copy_as("bert-2").await?;
    /// let copy = copy
    ///     .without_output("train_url")
    ///     .output("train_url", "obs://bucket/model-2/");
    /// # let _ = copy;
    /// # Ok(()) }
    /// ```
    ///
    /// For fine-tuning, set `train_type` and `spec.asset_id` again, because the details omit them.
    ///
    /// # Errors
    /// Returns the errors of [`TrainingJobs::get`](crate::jobs::TrainingJobs::get).
    pub async fn copy_as(&self, name: impl Into<String>) -> Result<CreateJob, Error> {
        let job = self.get().await?;
        // The raw response is converted, because the response types lack undocumented fields.
        let details = serde_json::from_slice(job.raw())
            .map_err(|error| Error::invalid(format!("the job is not understood: {error}")))?;
        Ok(CreateJob::from_body(self.client().clone(), request_from_details(&details)).name(name))
    }
}

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
    // A document with fields that are not sent contains the details of a job.
    if !conversion.warnings.is_empty() {
        body = request_from_details(&body);
    }
    Ok((body, conversion.warnings))
}

/// Parses JSON without duplicate keys. A YAML parser would permit trailing commas.
pub(super) fn json(text: &str) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = ShapeSeed(Shape::Any).deserialize(&mut deserializer);
    value
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| Error::invalid(format!("not JSON: {error}")))
}

/// Parses YAML. Where the shape is a string, `007`, `yes` and `1.50` are taken literally.
pub(super) fn yaml(shape: Shape, text: &str) -> Result<Value, Error> {
    // Error messages omit the surrounding lines, which may contain secrets.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        ShapeSeed(shape).deserialize(deserializer)
    })
    .map_err(|error| {
        let message = error.render_with_formatter(&UserMessageFormatter);
        Error::invalid(format!("not YAML: {message}"))
    })
}

struct ShapeSeed(Shape);

impl<'de> DeserializeSeed<'de> for ShapeSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for ShapeSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(limits::shape_in_words(self.0))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.0 {
            Shape::Text | Shape::OneOf(_) => deserializer.deserialize_str(self),
            Shape::Object(_) | Shape::Map(_) => deserializer.deserialize_map(self),
            Shape::List(_) => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_any(self),
        }
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = match self.0 {
            Shape::List(inner) => *inner,
            _ => Shape::Any,
        };
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(ShapeSeed(inner))? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if members.contains_key(&key) {
                let error = format_args!("the key {key:?} comes twice");
                return Err(A::Error::custom(error));
            }
            let shape = match self.0 {
                Shape::Object(schema) => {
                    limits::field(schema, &key).map_or(Shape::Any, |field| field.shape)
                }
                Shape::Map(inner) => *inner,
                _ => Shape::Any,
            };
            let value = entries.next_value_seed(ShapeSeed(shape))?;
            members.insert(key, value);
        }
        Ok(members.into())
    }
}
