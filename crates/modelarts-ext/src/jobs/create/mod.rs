//! Creating a job: the builder [`CreateJob`], its check, and `submit`.
//!
//! The request of a job is deep, its fields depend on each other, and its errors come one at a
//! time. The builder never fails in the middle: [`CreateJob::check`] says everything that is wrong
//! at once, and [`CreateJob::submit`] refuses that before anything is sent. A create whose answer
//! is lost may have made a job that costs money, so `submit` then looks for the job by its name,
//! and sends it again only if there is none.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # hello(&emulator, &client, "")?;
//! # std::fs::create_dir_all(emulator.obs_root().join("bucket/data"))?;
//! # std::fs::write(emulator.obs_root().join("bucket/data/rows.csv"), "1,2\n")?;
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
//! // A copy is a builder again.
//! let again = job.copy_as("bert-2").await?.parameter("epochs", 5).submit().await?;
//! # let _ = again;
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! The page `CREATING.md` in this crate goes from a script on disk to a running job, and lists all
//! parameters.
//!
//! | for | see |
//! |---|---|
//! | data that is read and written | [`Input`], [`Output`], [`Volume`] |
//! | a search for hyper-parameters | [`HyperparameterSearch`] |
//! | limits of files, before they are uploaded | [`CodeDir`], [`check_input_size`] |
//! | a job from YAML or JSON | [`TrainingJobs::from_yaml`], [`TrainingJobs::from_json`] |
//! | a job like another | [`Job::copy_as`](crate::Job::copy_as) |

// `CreateJob` holds the JSON of the request. `code`, `channels`, `resources` and `services` add its
// setters, which write by the paths of `json_edit`. `from_document` reads it from JSON and YAML
// (`document`), `copy` makes it from the details of a job. `submit` asks for the algorithm and the
// flavor (`look_up`), checks, and creates the job exactly once. `local_files` checks files before
// they are uploaded; `parameter_tables` writes the tables of CREATING.md.

mod channels;
mod code;
mod copy;
mod document;
mod from_document;
mod hyperparameter_search;
mod json_edit;
mod local_files;
mod look_up;
mod parameter_tables;
mod resources;
mod services;
mod submit;

pub use channels::{Input, Output};
pub use hyperparameter_search::HyperparameterSearch;
pub use local_files::{CodeDir, check_input_size};
#[doc(hidden)]
pub use parameter_tables::parameters_as_markdown;
pub use resources::Volume;

use std::fmt;

use modelarts_api::types;
use serde_json::{Value, json};

use crate::{
    client::Client,
    config::cloud::Cloud,
    error::Error,
    jobs::training_jobs::TrainingJobs,
    validation::{
        self,
        algorithm_spec::AlgorithmSpec,
        flavor_spec::FlavorSpec,
        known_specs::KnownSpecs,
        report::{Report, Warning},
    },
};

/// A job to be made. Nothing is sent, and nothing fails, before
/// [`submit`](Self::submit).
///
/// [`check`](Self::check) says everything that is wrong with it at once;
/// [`body`](Self::body) is what would be sent. `CREATING.md` in this crate goes from
/// a script on disk to a running job, and lists all parameters.
#[derive(Clone)]
#[must_use = "nothing is sent before submit()"]
pub struct CreateJob {
    client: Client,
    body: Value,
    cloud: Cloud,
    specs: KnownSpecs,
    looks_up: bool,
    unchecked: bool,
    /// Fields of the document that are not in the body.
    warnings: Vec<Warning>,
}

impl TrainingJobs {
    /// Begins to make a job whose name does not matter: it gets one that no other job
    /// has, such as `job-0f1e2d3c`.
    pub fn create_unnamed(&self) -> CreateJob {
        self.create(format!("job-{:08x}", fastrand::u32(..)))
    }

    /// Begins to make a job with this name: 1 to 64 letters, digits, `-`, `_`.
    pub fn create(&self, name: impl Into<String>) -> CreateJob {
        let body = json!({"kind": "job", "metadata": {"name": name.into()}});
        CreateJob::from_body(self.client().clone(), body)
    }
}

impl CreateJob {
    /// `body` has fields of the right types only.
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

    pub(super) fn with_warnings(mut self, warnings: Vec<Warning>) -> Self {
        self.warnings = warnings;
        self
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        json_edit::set(&mut self.body, path, value);
        self
    }

    pub(super) fn push(mut self, path: &str, value: impl Into<Value>) -> Self {
        json_edit::push(&mut self.body, path, value);
        self
    }

    pub(super) fn insert(mut self, path: &str, key: String, value: impl Into<Value>) -> Self {
        json_edit::insert(&mut self.body, path, key, value);
        self
    }

    pub(super) fn slot(&mut self, path: &str) -> &mut Value {
        json_edit::slot(&mut self.body, path)
    }

    pub(super) fn unset(mut self, path: &str) -> Self {
        json_edit::remove(&mut self.body, path);
        self
    }

    /// Removes the item with this name from a list.
    pub(super) fn without_item(mut self, list: &str, name: &str) -> Self {
        if let Some(items) = self.slot(list).as_array_mut() {
            items.retain(|item| item.get("name").and_then(Value::as_str) != Some(name));
        }
        self
    }

    /// Another name: 1 to 64 letters, digits, `_` and `-`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.set("metadata.name", name.into())
    }

    /// Up to 256 characters about the job.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set("metadata.description", text.into())
    }

    /// The workspace that the job belongs to. Default `0`.
    pub fn workspace(self, id: impl Into<String>) -> Self {
        self.set("metadata.workspace_id", id.into())
    }

    /// Another kind of job than a plain one.
    pub fn kind(self, kind: types::JobKind) -> Self {
        self.set("kind", kind.as_str())
    }

    /// An annotation; most features of a job that are switched on are switched on
    /// by one.
    pub fn annotation(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.insert("metadata.annotations", key.into(), value.into())
    }

    /// Files the job under an experiment that exists (Huawei Cloud).
    pub fn experiment(self, id: impl Into<String>) -> Self {
        self.set(
            "metadata.training_experiment_reference",
            json!({"id": id.into()}),
        )
    }

    /// Makes an experiment together with the job (Huawei Cloud).
    pub fn new_experiment(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let (name, description) = (name.into(), description.into());
        self.set(
            "metadata.training_experiment_reference",
            json!({"name": name, "description": description}),
        )
    }

    /// Checks by the rules of this cloud. Default: that of the
    /// [client](crate::client::ClientBuilder::cloud).
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = cloud;
        self
    }

    /// Takes a field away, whatever it holds, such as `spec.notification`: from a job
    /// that was copied or read, or to take back what was set before.
    pub fn without_field(self, field: &str) -> Self {
        self.unset(field)
    }

    /// Checks against this spec of the algorithm that the job is made of, too: its channels,
    /// the constraints of its hyper-parameters, the flavors that it needs.
    /// [`look_up`](Self::look_up) asks the service for them.
    pub fn with_algorithm_spec(mut self, spec: AlgorithmSpec) -> Self {
        self.specs.set_algorithm(None, spec);
        self
    }

    /// Checks against this spec of the flavor that the job runs on, too: how many nodes
    /// it admits, and of what kind it is. [`look_up`](Self::look_up) asks the
    /// service for them.
    pub fn with_flavor_spec(mut self, spec: FlavorSpec) -> Self {
        self.specs.set_flavor(None, spec);
        self
    }

    /// [`submit`](Self::submit) does not ask the service about algorithm and flavor: one
    /// call then, instead of up to three.
    pub fn without_look_up(mut self) -> Self {
        self.looks_up = false;
        self
    }

    /// Sends the job whatever [`check`](Self::check) says about it, and asks nothing
    /// before.
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// The JSON that is sent, as it is sent.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = self.body.clone();
        json_edit::prune(&mut body);
        // The default, but Huawei Cloud demands that it is said.
        if body.get("spec").is_some_and(|spec| !spec.is_null()) {
            let nodes = json_edit::slot(&mut body, "spec.resource.node_count");
            if nodes.is_null() {
                *nodes = 1.into();
            }
        }
        body
    }

    /// The body as the type that the generated client takes. It has the documented
    /// fields only; what else a copied job brought along is not in it.
    ///
    /// # Errors
    /// When it is no request at all, such as one for half a node.
    pub fn request(&self) -> Result<types::CreateTrainingJobRequest, Error> {
        serde_path_to_error::deserialize(self.body())
            .map_err(|error| Error::invalid(format!("{}: {}", error.path(), error.inner())))
    }

    /// Everything that is wrong with the job, as far as it can be known before it is
    /// sent; nothing is sent for it.
    ///
    /// A rule is a violation when the service was seen to refuse such jobs, or when a
    /// document states it; advice of the documents, and what only seems to follow from
    /// them, is a warning that names the reason. `openapi/SOURCES.md` has a row for each
    /// rule.
    ///
    /// Some things only the service knows: whether the name is taken, what lies in OBS,
    /// which pools there are. Algorithm and flavor are checked where
    /// [`look_up`](Self::look_up) asked for them.
    pub fn check(&self) -> Report {
        let mut report = validation::check(&self.body(), self.cloud, &self.specs);
        report.warnings.splice(0..0, self.warnings.iter().cloned());
        report
    }
}

impl fmt::Debug for CreateJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment variables and parameters may hold secrets of the user.
        f.debug_struct("CreateJob")
            .field("name", &self.body.pointer("/metadata/name"))
            .finish_non_exhaustive()
    }
}
