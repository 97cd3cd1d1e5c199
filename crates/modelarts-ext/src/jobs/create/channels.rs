//! Inputs and outputs of a job: `Input`, `Output`, and their setters of `CreateJob`.

use modelarts_api::types::RemoteConstraint;
use serde_json::{Value, json};

use crate::jobs::create::{CreateJob, json_edit};

const INPUTS: &str = "algorithm.inputs";
const OUTPUTS: &str = "algorithm.outputs";

impl CreateJob {
    /// Adds an input channel. The script gets `--<name>=<directory>` with a copy of the OBS
    /// directory.
    pub fn input(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_input(Input::obs(name, obs_path))
    }

    /// Adds an input channel with further settings.
    pub fn add_input(self, input: Input) -> Self {
        self.push(INPUTS, input.into_json())
    }

    /// Removes an input, from a job that was copied or read from a document.
    pub fn without_input(self, name: &str) -> Self {
        self.without_item(INPUTS, name)
    }

    /// Adds an output channel. The script gets `--<name>=<directory>`, and the files of that
    /// directory are copied to OBS.
    pub fn output(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_output(Output::obs(name, obs_path))
    }

    /// Adds an output channel with further settings.
    pub fn add_output(self, output: Output) -> Self {
        self.push(OUTPUTS, output.into_json())
    }

    /// Removes an output, from a job that was copied or read from a document.
    pub fn without_output(self, name: &str) -> Self {
        self.without_item(OUTPUTS, name)
    }
}

/// An input channel: external data, copied to a directory of the container.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Input(Value);

impl Input {
    /// Creates an input from OBS.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(json!({"name": name.into(), "remote": {"obs": {"obs_url": path.into()}}}))
    }

    /// Creates an input from a version of a data set of the data management.
    pub fn dataset(
        name: impl Into<String>,
        id: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        let dataset = json!({"id": id.into(), "version_id": version.into()});
        Self(json!({"name": name.into(), "remote": {"dataset": dataset}}))
    }

    /// Creates an input from a data set of the asset service, which has no versions (Huawei Cloud).
    pub fn asset_dataset(name: impl Into<String>, id: impl Into<String>) -> Self {
        let dataset = json!({"id": id.into(), "service_type": "V3"});
        Self(json!({"name": name.into(), "remote": {"dataset": dataset}}))
    }

    /// Uses this share of the data set, 1 to 100 percent. Fine-tuning only.
    pub fn proportion(self, percent: u8) -> Self {
        self.set("remote.dataset.dataset_proportion", percent)
    }

    /// Sets the description of the input.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set("description", text.into())
    }

    /// Sets the directory in the container. Default: one that the service chooses.
    pub fn local_dir(self, path: impl Into<String>) -> Self {
        self.set("local_dir", path.into())
    }

    /// Passes the directory in an environment variable with the name of the input, instead of the
    /// parameter `--<name>`.
    pub fn from_env(self) -> Self {
        self.set("access_method", "env")
    }

    /// Restricts the kind of data that the input admits.
    pub fn constraint(mut self, constraint: RemoteConstraint) -> Self {
        let constraint = serde_json::to_value(constraint).unwrap_or_default();
        json_edit::push(&mut self.0, "remote_constraint", constraint);
        self
    }

    fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        json_edit::set(&mut self.0, path, value);
        self
    }

    pub(super) fn into_json(self) -> Value {
        self.0
    }
}

/// An output channel: a directory of the container, copied to OBS.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Output(Value);

impl Output {
    /// Creates an output to this OBS directory, written during and after the run. It should be
    /// empty.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(json!({"name": name.into(), "remote": {"obs": {"obs_url": path.into()}}}))
    }

    /// Sets the description of the output.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set("description", text.into())
    }

    /// Sets the directory in the container. Default: one that the service chooses.
    pub fn local_dir(self, path: impl Into<String>) -> Self {
        self.set("local_dir", path.into())
    }

    /// Passes the directory in an environment variable with the name of the output, instead of the
    /// parameter `--<name>`.
    pub fn from_env(self) -> Self {
        self.set("access_method", "env")
    }

    /// Copies the OBS directory into the container before the start, to continue an earlier run.
    ///
    /// The console offers this, and no source names its field (`openapi/SOURCES.md`, F3); it is
    /// sent as `prefetch_to_local`, which a public example of an algorithm uses.
    pub fn predownload(self) -> Self {
        self.set("prefetch_to_local", true)
    }

    fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        json_edit::set(&mut self.0, path, value);
        self
    }

    pub(super) fn into_json(self) -> Value {
        self.0
    }
}
