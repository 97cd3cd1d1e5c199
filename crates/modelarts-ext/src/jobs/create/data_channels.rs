//! Making a job: what it reads, and what it writes.

use serde_json::Value;

use crate::jobs::create::{
    CreateJob,
    channels::{Input, Output},
};

const INPUTS: &str = "algorithm.inputs";
const OUTPUTS: &str = "algorithm.outputs";

impl CreateJob {
    /// An input channel: the script gets `--<name>=<directory>` with a copy of the
    /// OBS directory.
    pub fn input(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_input(Input::obs(name, obs_path))
    }

    /// An input channel that is more than an OBS path handed over as a parameter.
    pub fn add_input(self, input: Input) -> Self {
        self.push(INPUTS, input.into_json())
    }

    /// Takes an input away again, from a job that was copied or read.
    pub fn without_input(self, name: &str) -> Self {
        self.without(INPUTS, name)
    }

    /// An output channel: what the script writes to the directory it gets as
    /// `--<name>=<directory>` is copied to OBS.
    pub fn output(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_output(Output::obs(name, obs_path))
    }

    /// An output channel that is more than an OBS path handed over as a parameter.
    pub fn add_output(self, output: Output) -> Self {
        self.push(OUTPUTS, output.into_json())
    }

    /// Takes an output away again, from a job that was copied or read.
    pub fn without_output(self, name: &str) -> Self {
        self.without(OUTPUTS, name)
    }

    /// Takes what has this name out of a list.
    pub(crate) fn without(mut self, list: &str, name: &str) -> Self {
        if let Some(items) = self.slot(list).as_array_mut() {
            items.retain(|item| item.get("name").and_then(Value::as_str) != Some(name));
        }
        self
    }
}
