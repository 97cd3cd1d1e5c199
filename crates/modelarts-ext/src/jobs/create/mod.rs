//! Creation of jobs: the builder [`CreateJob`], its validation, and `submit`.
//!
//! [`CreateJob`] builds the request body with setters, which do not fail. [`CreateJob::check`]
//! reports all errors that can be detected locally. [`CreateJob::submit`] sends no job with errors.
//!
//! If the response is lost, the job may exist and incur costs. `submit` therefore searches for the
//! job, which it recognizes by a [token](CreateJob::token), and repeats the request only if the
//! search finds no job.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
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
//! # Ok(()) }) }
//! ```
//!
//! The page [`guide::creating`](crate::guide::creating) describes the steps from a local script to
//! a running job, and [`guide::parameters`](crate::guide::parameters) lists all parameters.
//!
//! | for | see |
//! |---|---|
//! | input and output data | [`Input`], [`Output`], [`Volume`] |
//! | a hyper-parameter search | [`HyperparameterSearch`] |
//! | limits of files, before an upload | [`CodeDir`], [`check_input_size`] |
//! | code and data on this machine | the crate [modelarts-obs](https://docs.rs/modelarts-obs) |
//! | a job from YAML or JSON | [`TrainingJobs::from_yaml`], [`TrainingJobs::from_json`] |
//! | a copy of a job | [`JobHandle::copy_as`](crate::JobHandle::copy_as) |

// `CreateJob` holds the JSON of the request, which `json_edit` changes. `fields`, `setters` and
// `field_path` set fields, with values of `channels`. `from_document` reads a job from JSON, YAML
// or details, and `conversion` converts it into a request. `look_up` reads what the check needs.
// `submission` creates the job, with a `token`, and `rejection` explains rejections.
// `parameters_page_tests` writes the tables of PARAMETERS.md.

mod channels;
mod conversion;
mod field_path;
mod fields;
mod from_document;
mod json_edit;
mod local_files;
mod look_up;
mod names;
#[cfg(test)]
mod parameters_page_tests;
mod rejection;
mod setters;
mod submission;
mod token;

pub use channels::HyperparameterSearch;
pub use channels::{Input, Output, Volume};
pub use local_files::{CodeDir, check_input_size};
pub use names::{unique_name, without_suffix};

pub use crate::jobs::submission_token::SUBMISSION_TOKEN;

use std::{fmt, path::Path};

use modelarts_api::{
    request_path::{
        create_training_job::{KIND, SPEC, algorithm, metadata, spec},
        input,
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
        create::{
            json_edit::{object, text},
            token::Token,
        },
        training_jobs::TrainingJobs,
    },
    validation::{
        self,
        known_engines::KnownSpecs,
        obs_path::ObsPath,
        report::{Report, Warning},
        specs::{AlgorithmSpec, FlavorSpec},
    },
};

const DEFAULT_WORKSPACE: &str = "0";

/// Builder of a job. Only [`look_up`](Self::look_up) and [`submit`](Self::submit) send requests.
///
/// [`check`](Self::check) reports all errors; [`body`](Self::body) returns the request body.
/// [`guide::parameters`](crate::guide::parameters) lists all parameters.
#[derive(Clone)]
#[must_use = "nothing is sent before submit()"]
pub struct CreateJob {
    client: Client,
    body: Value,
    cloud: Cloud,
    specs: KnownSpecs,
    unread: Vec<Error>,
    validation: Validation,
    token: Token,
    /// Warnings about fields of the source document that the request body omits.
    warnings: Vec<Warning>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Validation {
    Full,
    Local,
    Off,
}

impl TrainingJobs {
    /// Returns the builder of a job with a generated unique name, such as `job-0f1e2d3c`.
    pub fn create_unnamed(&self) -> CreateJob {
        self.create(format!("job-{:08x}", fastrand::u32(..)))
    }

    /// Returns the builder of a job with this name: 1 to 64 letters, digits, `-`, `_`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # hello(&emulator, &client, "")?;
    /// let job = client
    ///     .training_jobs()
    ///     .create("bert-base-1")
    ///     .preset_image("PyTorch", "pytorch_1.8.0")
    ///     .code_dir("obs://bucket/code/")
    ///     .boot_file("obs://bucket/code/train.py")
    ///     .flavor("modelarts.vm.cpu.2u")
    ///     .submit()
    ///     .await?;
    /// println!("{job}");
    /// # assert_eq!(job.name(), "bert-base-1");
    /// # Ok(()) }) }
    /// ```
    pub fn create(&self, name: impl Into<String>) -> CreateJob {
        let body = object([(KIND, text("job")), (metadata::NAME, text(name))]);
        CreateJob::from_body(self.client().clone(), body)
    }
}

impl CreateJob {
    pub(super) fn from_body(client: Client, body: Value) -> Self {
        Self {
            cloud: client.cloud(),
            client,
            body,
            specs: KnownSpecs::default(),
            unread: Vec::new(),
            validation: Validation::Full,
            token: Token::default(),
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

    pub(super) fn without_item(mut self, list: &str, name: &str) -> Self {
        if let Some(items) = json_edit::slot(&mut self.body, list).as_array_mut() {
            items.retain(|item| item.get(input::NAME).and_then(Value::as_str) != Some(name));
        }
        self
    }

    /// Sets the cloud whose rules apply. The default is the cloud of the client.
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = cloud;
        self
    }

    /// Sets the field at a path to a value given as text, such as a command line argument.
    ///
    /// ```
    /// # fn main() -> Result<(), modelarts_ext::Error> {
    /// # use modelarts_ext::{Client, Credentials};
    /// # let client = Client::builder().endpoint("https://modelarts.example.com").project_id("p");
    /// # let client = client.credentials(Credentials::token("t")).build()?;
    /// let job = client
    ///     .training_jobs()
    ///     .create("bert")
    ///     .set_field("spec.resource.node_count", "4")?
    ///     .set_field("algorithm.parameters[0].name", "lr")?
    ///     .set_field("algorithm.parameters[0].value", "1e-05")?
    ///     .set_field("metadata.annotations.fault-tolerance/job-retry-num", "2")?;
    /// assert_eq!(job.body()["spec"]["resource"]["node_count"], 4);
    /// assert_eq!(job.body()["algorithm"]["parameters"][0]["value"], "1e-05");
    /// # Ok(()) }
    /// ```
    ///
    /// A string field takes the value literally. The value of any other field is JSON, and `null`
    /// removes the field. The index after the last element appends an element. In a map, such as
    /// `algorithm.environments`, the rest of the path is the key.
    ///
    /// # Errors
    /// Returns an error for a wrong type or index, or an unknown field, with the most similar name.
    pub fn set_field(mut self, path: &str, value: &str) -> Result<Self, Error> {
        field_path::set_field(&mut self.body, path, value)?;
        Ok(self)
    }

    /// Removes a field, such as `spec.notification`.
    pub fn without_field(mut self, field: &str) -> Self {
        json_edit::remove(&mut self.body, field);
        self
    }

    /// Sets the spec of the algorithm, so that [`look_up`](Self::look_up) does not read the spec.
    pub fn with_algorithm_spec(mut self, spec: AlgorithmSpec) -> Self {
        self.specs.algorithm.set(None, spec);
        self
    }

    /// Sets the spec of the flavor for [`check`](Self::check): its type, and its maximum number of
    /// nodes. Otherwise, [`look_up`](Self::look_up) reads the spec from the service.
    pub fn with_flavor_spec(mut self, spec: FlavorSpec) -> Self {
        self.specs.flavor.set(None, spec);
        self
    }

    /// Disables the [look-up](Self::look_up), also in [`submit`](Self::submit).
    pub fn without_look_up(mut self) -> Self {
        if self.validation == Validation::Full {
            self.validation = Validation::Local;
        }
        self
    }

    /// Disables the [look-up](Self::look_up) and the [`check`](Self::check), also in
    /// [`submit`](Self::submit): the service alone validates the job.
    pub fn unchecked(mut self) -> Self {
        self.validation = Validation::Off;
        self
    }

    /// Sets the token of the submission: 1 to 128 visible ASCII characters without `$`. The same
    /// token with the same name and workspace returns the same job, from any process and machine.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "nightly")?;
    /// // `job` is a prepared `CreateJob`.
    /// let first = job.clone().token("ci-4711").submit().await?;
    /// let again = job.clone().token("ci-4711").submit().await?;
    /// assert_eq!(first.id(), again.id());
    ///
    /// let error = job.token("ci-4712").submit().await.unwrap_err();
    /// assert!(error.is_conflict() && !error.is_uncertain());
    /// # Ok(()) }) }
    /// ```
    ///
    /// By default, each submission has a random token. The settings of the jobs are not compared;
    /// see [`submit_or_adopt`](Self::submit_or_adopt). The token is in the environment variable
    /// [`SUBMISSION_TOKEN`]. It is a violation of
    /// [`check`](Self::check) if the job cannot carry the variable: with 100 variables, in a
    /// hyper-parameter search, in fine-tuning, with a stored or subscribed algorithm without own
    /// variables, and with tasks on Open Telekom Cloud.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Token::Given(token.into());
        self
    }

    /// Sends no token. If the response to the submission is lost, an existing job with the name and
    /// the settings of this job is not returned, because it may be that of another request.
    pub fn without_token(mut self) -> Self {
        self.token = Token::Off;
        self
    }

    /// Returns the errors of the calls of the last [look-up](Self::look_up).
    #[must_use]
    pub fn unread(&self) -> &[Error] {
        &self.unread
    }

    /// Returns the JSON body of the request, as it is sent, without the [token](Self::token).
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = self.body.clone();
        json_edit::prune(&mut body);
        token::replace(&mut body, None);
        // The default of 1 is sent explicitly, because Huawei Cloud requires the field.
        if body.get(SPEC).is_some() {
            let nodes = json_edit::slot(&mut body, spec::resource::NODE_COUNT);
            if nodes.is_null() {
                *nodes = 1.into();
            }
        }
        body
    }

    /// Returns the request body as the type of the generated client, without undocumented fields.
    ///
    /// # Errors
    /// Returns an error if the body does not fit the type.
    pub fn request(&self) -> Result<types::CreateTrainingJobRequest, Error> {
        serde_path_to_error::deserialize(self.body())
            .map_err(|error| Error::invalid(format!("{}: {}", error.path(), error.inner())))
    }

    /// Validates the job without a request, and reports all violations and warnings.
    ///
    /// A broken rule is a violation if the service is known to reject such jobs or a document
    /// states it, and a warning if it is only recommended or inferred (`openapi/SOURCES.md`).
    ///
    /// Only the service can check whether the name is in use, and whether OBS objects and pools
    /// exist. The algorithm, the flavor and the engine are validated after a
    /// [`look_up`](Self::look_up). The report of an [unchecked](Self::unchecked) job is empty.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
    /// let report = job.check();
    /// print!("{report}");
    /// if report.is_ok() {
    ///     println!("{}", job.submit().await?);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn check(&self) -> Report {
        if self.validation == Validation::Off {
            return Report::default();
        }
        let body = self.body();
        let mut report = validation::check(&body, self.cloud, &self.specs);
        if let Err(error) = self.token.new_token(&body, self.cloud) {
            report.violations.extend_from_slice(error.violations());
        }
        report.warnings.splice(0..0, self.warnings.iter().cloned());
        report
    }

    pub(in crate::jobs) fn workspace_and_name(&self) -> (String, String) {
        let workspace = match json_edit::text_at(&self.body, metadata::WORKSPACE_ID) {
            "" => DEFAULT_WORKSPACE,
            id => id,
        };
        let name = json_edit::text_at(&self.body, metadata::NAME);
        (workspace.to_owned(), name.to_owned())
    }

    /// Checks a local code directory before its upload: its limits, and the boot file of the job.
    ///
    /// # Errors
    /// Returns the errors of [`CodeDir::scan`].
    pub fn check_code_dir(&self, path: impl AsRef<Path>) -> Result<Report, Error> {
        let body = self.body();
        let obs_path = |path| ObsPath::parse(json_edit::text_at(&body, path));
        let boot_file = obs_path(algorithm::BOOT_FILE).zip(obs_path(algorithm::CODE_DIR));
        let boot_file = boot_file.and_then(|(file, directory)| file.path_below(&directory));
        Ok(CodeDir::scan(path)?.check(boot_file.as_deref()))
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
