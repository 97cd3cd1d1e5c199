//! Inputs and outputs of a job: `Input`, `Output`, and the setters of `CreateJob` for them.

use modelarts_api::{
    request_path::{
        create_training_job::algorithm::{INPUTS, OUTPUTS},
        input, output,
    },
    types::RemoteConstraint,
};
use serde::Serialize;
use serde_json::Value;

use crate::jobs::create::{
    CreateJob,
    json_edit::{self, object, text},
};

impl CreateJob {
    /// Adds an input channel. The script receives `--<name>=<directory>`, where the directory
    /// contains a copy of the OBS directory.
    pub fn input(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_input(Input::obs(name, obs_path))
    }

    /// Adds an input channel with further settings.
    pub fn add_input(self, input: Input) -> Self {
        self.push(INPUTS, input.0)
    }

    /// Removes an input by its name. Useful for a job that was copied or read from a document.
    pub fn without_input(self, name: &str) -> Self {
        self.without_item(INPUTS, name)
    }

    /// Adds an output channel. The script receives `--<name>=<directory>`, and the service copies
    /// the files of that directory to OBS.
    pub fn output(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_output(Output::obs(name, obs_path))
    }

    /// Adds an output channel with further settings.
    pub fn add_output(self, output: Output) -> Self {
        self.push(OUTPUTS, output.0)
    }

    /// Removes an output by its name. Useful for a job that was copied or read from a document.
    pub fn without_output(self, name: &str) -> Self {
        self.without_item(OUTPUTS, name)
    }
}

/// Input channel of a job: external data that is copied to a directory of the container.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Input(Value);

impl Input {
    /// Creates an input from a path in OBS.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(object([
            (input::NAME, text(name)),
            (input::remote::obs::OBS_URL, text(path)),
        ]))
    }

    /// Creates an input from a version of a data set in data management.
    pub fn dataset(
        name: impl Into<String>,
        id: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        Self(object([
            (input::NAME, text(name)),
            (input::remote::dataset::ID, text(id)),
            (input::remote::dataset::VERSION_ID, text(version)),
        ]))
    }

    /// Creates an input from a data set of the asset service, where data sets have no versions
    /// (Huawei Cloud).
    pub fn asset_dataset(name: impl Into<String>, id: impl Into<String>) -> Self {
        Self(object([
            (input::NAME, text(name)),
            (input::remote::dataset::ID, text(id)),
            (input::remote::dataset::SERVICE_TYPE, text("V3")),
        ]))
    }

    /// Limits the input to this share of the data set, 1 to 100 percent. Fine-tuning only.
    pub fn proportion(self, percent: u8) -> Self {
        self.set(input::remote::dataset::DATASET_PROPORTION, percent)
    }

    /// Sets the description of the input.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(input::DESCRIPTION, text.into())
    }

    /// Sets the directory in the container. Default: chosen by the service.
    pub fn local_dir(self, path: impl Into<String>) -> Self {
        self.set(input::LOCAL_DIR, path.into())
    }

    /// Passes the directory in an environment variable named after the input, instead of the
    /// parameter `--<name>`.
    pub fn from_env(self) -> Self {
        self.set(input::ACCESS_METHOD, "env")
    }

    /// Restricts the kind of data that the input accepts.
    pub fn constraint(mut self, constraint: RemoteConstraint) -> Self {
        json_edit::push(&mut self.0, input::REMOTE_CONSTRAINT, constraint);
        self
    }

    fn set(mut self, path: &str, value: impl Serialize) -> Self {
        json_edit::set(&mut self.0, path, value);
        self
    }
}

/// Output channel of a job: a directory of the container that is copied to OBS.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Output(Value);

impl Output {
    /// Creates an output to an OBS directory, which should be empty. The service writes to it
    /// during and after the run.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(object([
            (output::NAME, text(name)),
            (output::remote::obs::OBS_URL, text(path)),
        ]))
    }

    /// Sets the description of the output.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(output::DESCRIPTION, text.into())
    }

    /// Sets the directory in the container. Default: chosen by the service.
    pub fn local_dir(self, path: impl Into<String>) -> Self {
        self.set(output::LOCAL_DIR, path.into())
    }

    /// Passes the directory in an environment variable named after the output, instead of the
    /// parameter `--<name>`.
    pub fn from_env(self) -> Self {
        self.set(output::ACCESS_METHOD, "env")
    }

    /// Copies the OBS directory into the container before the start, to continue an earlier run.
    ///
    /// The console offers this option, but no source names its field (`openapi/SOURCES.md`, F3).
    /// The client sends it as `prefetch_to_local`, a field in a public example of an algorithm.
    pub fn predownload(self) -> Self {
        self.set(output::PREFETCH_TO_LOCAL, true)
    }

    fn set(mut self, path: &str, value: impl Serialize) -> Self {
        json_edit::set(&mut self.0, path, value);
        self
    }
}
