//! Creation of jobs: the builder [`CreateJob`], its validation, and `submit`.
//!
//! The request body of a job is deeply nested, its fields depend on each other, and the service
//! reports one error at a time. [`CreateJob`] builds the request body with setters, which do not
//! fail. [`CreateJob::check`] reports all errors that can be detected locally. If it finds errors,
//! [`CreateJob::submit`] returns them and does not send the create request.
//!
//! If the response to the create request is lost, the job may exist and incur costs. `submit`
//! therefore searches for the job by its name, and repeats the request only if the search finds no
//! job.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # hello(&emulator, &client, "")?;
//! # emulator.put("bucket/data/rows.csv", "1,2\n")?;
//! use std::time::Duration;
//!
//! let job = client
//!     .training_jobs()
//!     .create("bert")
//!     .preset_image("PyTorch", "pytorch_1.8.0")
//!     .code_dir("obs://bucket/code/")
//!     .boot_file("obs://bucket/code/train.py")
//!     .input("data_url", "obs://bucket/data/")
//!     .output("train_url", "obs://bucket/model/")
//!     .parameter("epochs", 3)
//!     .flavor("modelarts.vm.cpu.2u")
//!     .auto_stop(Duration::from_secs(4 * 3600));
//! print!("{}", job.check());
//! println!("{:#}", job.body());
//! let job = job.submit().await?;
//!
//! // A copy is a new builder. It keeps the outputs, so it would overwrite the first model.
//! let again = job
//!     .copy_as("bert-2")
//!     .await?
//!     .parameter("epochs", 5)
//!     .without_output("train_url")
//!     .output("train_url", "obs://bucket/model-2/")
//!     .submit()
//!     .await?;
//! # let algorithm = again.details().algorithm.as_ref();
//! # assert_eq!(algorithm.map(|algorithm| algorithm.outputs.len()), Some(1));
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! The page [`guide::creating`](crate::guide::creating) describes the steps from a local script to a
//! running job, and lists all parameters.
//!
//! | for | see |
//! |---|---|
//! | input and output data | [`Input`], [`Output`], [`Volume`] |
//! | a hyper-parameter search | [`HyperparameterSearch`] |
//! | limits of files, before an upload | [`CodeDir`], [`check_input_size`] |
//! | code and data on this machine | the crate [modelarts-obs](https://docs.rs/modelarts-obs) |
//! | a job from YAML or JSON | [`TrainingJobs::from_yaml`], [`TrainingJobs::from_json`] |
//! | a copy of a job | [`JobHandle::copy_as`](crate::JobHandle::copy_as) |

// `CreateJob` holds the JSON of the request. `code`, `channels`, `resources` and `services` add its
// setters, which write to generated paths (`json_edit`). `from_document` reads the request from
// JSON and YAML (`document`), `copy` from the details of a job; both use `conversion`. `submit`
// looks up the algorithm and the flavor (`look_up`), validates the job, and creates it exactly
// once. `local_files` validates files before they are uploaded. `creating_page_tests` writes the
// tables of CREATING.md.

mod channels;
mod code;
mod comparison;
mod conversion;
mod copy;
#[cfg(test)]
mod creating_page_tests;
mod document;
mod from_document;
mod hyperparameter_search;
mod json_edit;
mod local_files;
mod look_up;
mod resources;
mod services;
pub(super) mod submit;

pub use channels::{Input, Output};
pub use hyperparameter_search::HyperparameterSearch;
pub use local_files::{CodeDir, check_input_size};
pub use resources::Volume;

use std::fmt;

use modelarts_api::{
    request_path::{
        create_training_job::{
            KIND, SPEC,
            metadata::{self, TRAINING_EXPERIMENT_REFERENCE},
            spec,
        },
        experiment_reference, input,
    },
    types,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    client::Client,
    config::cloud::Cloud,
    error::Error,
    jobs::{
        create::json_edit::{object, text},
        training_jobs::TrainingJobs,
    },
    validation::{
        self,
        algorithm_spec::AlgorithmSpec,
        flavor_spec::FlavorSpec,
        known_specs::KnownSpecs,
        report::{Report, Warning},
    },
};

/// Builder of a job. The setters do not fail, and no request is sent before
/// [`submit`](Self::submit).
///
/// [`check`](Self::check) reports all errors at once; [`body`](Self::body) returns the request.
/// [`guide::creating`](crate::guide::creating) describes the steps from a local script to a running
/// job, and lists all parameters.
#[derive(Clone)]
#[must_use = "nothing is sent before submit()"]
pub struct CreateJob {
    client: Client,
    body: Value,
    cloud: Cloud,
    specs: KnownSpecs,
    looks_up: bool,
    unchecked: bool,
    /// Warnings about fields of the source document that the request body omits.
    warnings: Vec<Warning>,
}

impl TrainingJobs {
    /// Returns the builder of a job with a generated unique name, such as `job-0f1e2d3c`.
    pub fn create_unnamed(&self) -> CreateJob {
        self.create(format!("job-{:08x}", fastrand::u32(..)))
    }

    /// Returns the builder of a job with this name: 1 to 64 letters, digits, `-`, `_`.
    pub fn create(&self, name: impl Into<String>) -> CreateJob {
        let body = object([(KIND, text("job")), (metadata::NAME, text(name))]);
        CreateJob::from_body(self.client().clone(), body)
    }
}

impl CreateJob {
    /// Creates a builder from a request body in which all fields have the right types.
    pub(super) fn from_body(client: Client, body: Value) -> Self {
        Self {
            cloud: client.cloud(),
            client,
            body,
            specs: KnownSpecs::default(),
            looks_up: true,
            unchecked: false,
            warnings: Vec::new(),
        }
    }

    pub(super) fn set(mut self, path: &str, value: impl Serialize) -> Self {
        json_edit::set(&mut self.body, path, value);
        self
    }

    pub(super) fn push(mut self, path: &str, value: impl Serialize) -> Self {
        json_edit::push(&mut self.body, path, value);
        self
    }

    pub(super) fn insert(mut self, path: &str, key: &str, value: String) -> Self {
        json_edit::insert(&mut self.body, path, key, value);
        self
    }

    /// Removes the element with this name from the list at a path.
    pub(super) fn without_item(mut self, list: &str, name: &str) -> Self {
        if let Some(items) = json_edit::slot(&mut self.body, list).as_array_mut() {
            items.retain(|item| item.get(input::NAME).and_then(Value::as_str) != Some(name));
        }
        self
    }

    /// Sets the name: 1 to 64 letters, digits, `_` and `-`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.set(metadata::NAME, name.into())
    }

    /// Sets the description, up to 256 characters.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(metadata::DESCRIPTION, text.into())
    }

    /// Sets the workspace. Default `0`.
    pub fn workspace(self, id: impl Into<String>) -> Self {
        self.set(metadata::WORKSPACE_ID, id.into())
    }

    /// Sets the kind of the job. Default: a plain training job.
    pub fn kind(self, kind: types::JobKind) -> Self {
        self.set(KIND, kind.as_str())
    }

    /// Sets an annotation. Annotations enable most of the optional features of a job.
    pub fn annotation(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.insert(metadata::ANNOTATIONS, &key.into(), value.into())
    }

    /// Adds the job to an existing experiment (Huawei Cloud).
    pub fn experiment(self, id: impl Into<String>) -> Self {
        let experiment = object([(experiment_reference::ID, text(id))]);
        self.set(TRAINING_EXPERIMENT_REFERENCE, experiment)
    }

    /// Creates an experiment together with the job (Huawei Cloud).
    pub fn new_experiment(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let experiment = object([
            (experiment_reference::NAME, text(name)),
            (experiment_reference::DESCRIPTION, text(description)),
        ]);
        self.set(TRAINING_EXPERIMENT_REFERENCE, experiment)
    }

    /// Sets the cloud whose rules apply. Default: the cloud of the
    /// [client](crate::client::ClientBuilder::cloud).
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = cloud;
        self
    }

    /// Removes a field, such as `spec.notification`, that was set before, copied, or read from a
    /// document.
    pub fn without_field(mut self, field: &str) -> Self {
        json_edit::remove(&mut self.body, field);
        self
    }

    /// Sets the spec of the algorithm for [`check`](Self::check): its channels, constraints of its
    /// hyper-parameters, and the flavors that it requires. [`look_up`](Self::look_up) reads it from
    /// the service.
    pub fn with_algorithm_spec(mut self, spec: AlgorithmSpec) -> Self {
        self.specs.algorithm.set(None, spec);
        self
    }

    /// Sets the spec of the flavor for [`check`](Self::check): its type, and its maximum number of
    /// nodes. [`look_up`](Self::look_up) reads it from the service.
    pub fn with_flavor_spec(mut self, spec: FlavorSpec) -> Self {
        self.specs.flavor.set(None, spec);
        self
    }

    /// Makes [`submit`](Self::submit) skip the look-up of algorithm and flavor, which saves up to
    /// two calls, and [`validate`](Self::validate) also that of the engines.
    pub fn without_look_up(mut self) -> Self {
        self.looks_up = false;
        self
    }

    /// Makes [`submit`](Self::submit) skip the look-up and the [`check`](Self::check).
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Returns the JSON body of the request, exactly as it is sent.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = self.body.clone();
        json_edit::prune(&mut body);
        // The default of 1 is sent explicitly, because Huawei Cloud requires the field.
        if body.get(SPEC).is_some() {
            let nodes = json_edit::slot(&mut body, spec::resource::NODE_COUNT);
            if nodes.is_null() {
                *nodes = 1.into();
            }
        }
        body
    }

    /// Returns the body as the type of the generated client. That type contains only the documented
    /// fields, so it omits all other fields of a copied job.
    ///
    /// # Errors
    /// Returned for a body that does not fit the type, such as one with a fractional number of
    /// nodes.
    pub fn request(&self) -> Result<types::CreateTrainingJobRequest, Error> {
        serde_path_to_error::deserialize(self.body())
            .map_err(|error| Error::invalid(format!("{}: {}", error.path(), error.inner())))
    }

    /// Validates the job without sending a request, and reports all errors that can be detected
    /// locally.
    ///
    /// A violated rule is reported as a violation if the service is known to reject such jobs or a
    /// document states the rule. It is reported as a warning, with the reason, if a document only
    /// recommends the rule or if the rule is inferred. `openapi/SOURCES.md` contains a row for each
    /// rule.
    ///
    /// Only the service can check whether the name is in use, and whether OBS objects and pools
    /// exist. The algorithm and the flavor are validated after a [`look_up`](Self::look_up), and
    /// the engine after [`validate`](Self::validate).
    pub fn check(&self) -> Report {
        self.check_body(&self.body())
    }

    fn check_body(&self, body: &Value) -> Report {
        let mut report = validation::check(body, self.cloud, &self.specs);
        report.warnings.splice(0..0, self.warnings.iter().cloned());
        report
    }
}

impl fmt::Debug for CreateJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment variables and parameters may be secrets, so they are not printed.
        f.debug_struct("CreateJob")
            .field("name", &json_edit::get(&self.body, metadata::NAME))
            .finish_non_exhaustive()
    }
}
