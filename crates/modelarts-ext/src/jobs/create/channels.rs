//! Inputs, outputs, volumes and hyper-parameter search of a job.

use std::fmt;

use modelarts_api::{
    request_path::{
        auto_search, input, output, reward_attribute, search_algorithm, search_algorithm_parameter,
        search_parameter, volume,
    },
    types::RemoteConstraint,
};
use serde::Serialize;
use serde_json::Value;

use crate::jobs::create::json_edit::{self, object, text};

/// Input channel of a job: external data that is copied into a directory of the container.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Input(pub(super) Value);

impl Input {
    /// Creates an input from a path in OBS.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(object([(input::NAME, text(name)), (input::remote::obs::OBS_URL, text(path))]))
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

    /// Creates an input from a data set of the asset service, without a version (Huawei Cloud).
    pub fn asset_dataset(name: impl Into<String>, id: impl Into<String>) -> Self {
        Self(object([
            (input::NAME, text(name)),
            (input::remote::dataset::ID, text(id)),
            (input::remote::dataset::SERVICE_TYPE, text("V3")),
        ]))
    }

    /// Limits the input of a fine-tuning job to a percentage of the data set, from 1 to 100.
    pub fn proportion(self, percent: u8) -> Self {
        self.set(input::remote::dataset::DATASET_PROPORTION, percent)
    }

    /// Sets the description of the input.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(input::DESCRIPTION, text.into())
    }

    /// Sets the directory of the container for the input. By default, the service chooses it.
    pub fn local_dir(self, path: impl Into<String>) -> Self {
        self.set(input::LOCAL_DIR, path.into())
    }

    /// Passes the directory in an environment variable named after the input, not as `--<name>`.
    pub fn from_env(self) -> Self {
        self.set(input::ACCESS_METHOD, "env")
    }

    /// Adds a constraint on the kind of data that the input accepts.
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
pub struct Output(pub(super) Value);

impl Output {
    /// Creates an output that is copied to an OBS directory. The directory should be empty.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(object([(output::NAME, text(name)), (output::remote::obs::OBS_URL, text(path))]))
    }

    /// Sets the description of the output.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(output::DESCRIPTION, text.into())
    }

    /// Sets the directory of the container for the output. By default, the service chooses it.
    pub fn local_dir(self, path: impl Into<String>) -> Self {
        self.set(output::LOCAL_DIR, path.into())
    }

    /// Passes the directory in an environment variable named after the output, not as `--<name>`.
    pub fn from_env(self) -> Self {
        self.set(output::ACCESS_METHOD, "env")
    }

    /// Copies the OBS directory into the container before the job starts, to continue a run.
    ///
    /// The console offers this option, but no source names the request field (`openapi/SOURCES.md`,
    /// F3). The client sends `prefetch_to_local`, a field in a public example of an algorithm.
    pub fn predownload(self) -> Self {
        self.set(output::PREFETCH_TO_LOCAL, true)
    }

    fn set(mut self, path: &str, value: impl Serialize) -> Self {
        json_edit::set(&mut self.0, path, value);
        self
    }
}

/// File system that is mounted in the container.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Volume(pub(super) Value);

impl Volume {
    /// Mounts an SFS Turbo file system, such as `10.0.0.5:/share`, in a dedicated pool (at most 8).
    pub fn nfs(server_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::nfs::NFS_SERVER_PATH, text(server_path)),
            (volume::nfs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Mounts an OBS parallel file system, such as `/file-system/path`, at `local_path`.
    pub fn pfs(pfs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::pfs::PFS_PATH, text(pfs_path)),
            (volume::pfs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Mounts an OBS directory, such as `/bucket/path`, at `local_path`.
    pub fn obs(obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::obs::OBS_PATH, text(obs_path)),
            (volume::obs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Makes the mount read-only. Ignored unless the volume is an SFS Turbo file system.
    pub fn read_only(mut self) -> Self {
        if self.0.get(volume::NFS).is_some() {
            json_edit::set(&mut self.0, volume::nfs::READ_ONLY, true);
        }
        self
    }
}

/// Settings of a hyper-parameter search: objectives, parameters and algorithm.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct HyperparameterSearch(pub(super) Value);

impl HyperparameterSearch {
    /// Creates a search that maximizes a metric, which the service finds in the log by `regex`.
    pub fn maximize(metric: impl Into<String>, regex: impl Into<String>) -> Self {
        Self(Value::Null).add_reward(metric, "max", regex)
    }

    /// Creates a search that minimizes a metric, which the service finds in the log by `regex`.
    pub fn minimize(metric: impl Into<String>, regex: impl Into<String>) -> Self {
        Self(Value::Null).add_reward(metric, "min", regex)
    }

    /// Adds a metric to maximize, which the service finds in the log by `regex`.
    pub fn and_maximize(self, metric: impl Into<String>, regex: impl Into<String>) -> Self {
        self.add_reward(metric, "max", regex)
    }

    /// Adds a metric to minimize, which the service finds in the log by `regex`.
    pub fn and_minimize(self, metric: impl Into<String>, regex: impl Into<String>) -> Self {
        self.add_reward(metric, "min", regex)
    }

    fn add_reward(self, name: impl Into<String>, mode: &str, regex: impl Into<String>) -> Self {
        let reward = object([
            (reward_attribute::NAME, text(name)),
            (reward_attribute::MODE, text(mode)),
            (reward_attribute::REGEX, text(regex)),
        ]);
        self.push(auto_search::REWARD_ATTRS, reward)
    }

    /// Adds a hyper-parameter to the search, with values between `low` and `high`.
    pub fn range(self, name: impl Into<String>, low: f64, high: f64) -> Self {
        self.push(auto_search::SEARCH_PARAMS, continuous(name, low, high))
    }

    /// Adds a hyper-parameter to the search, with `points` discrete values from `low` to `high`.
    pub fn points(self, name: impl Into<String>, low: f64, high: f64, points: u32) -> Self {
        let mut parameter = continuous(name, low, high);
        let points = points.to_string();
        json_edit::set(&mut parameter, search_parameter::DISCRETE_POINTS_NUM, points);
        self.push(auto_search::SEARCH_PARAMS, parameter)
    }

    /// Adds a hyper-parameter to the search, with a list of possible values.
    pub fn values<V: fmt::Display>(
        self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(|value| text(value.to_string()));
        let parameter = object([
            (search_parameter::NAME, text(name)),
            (search_parameter::PARAM_TYPE, text("discrete")),
            (search_parameter::DISCRETE_VALUES, values.collect()),
        ]);
        self.push(auto_search::SEARCH_PARAMS, parameter)
    }

    /// Sets the hyper-parameters that the search skips, in a format that no document describes.
    pub fn skip(mut self, names: impl Into<String>) -> Self {
        json_edit::set(&mut self.0, auto_search::SKIP_SEARCH_PARAMS, names.into());
        self
    }

    /// Adds the search algorithm: `bayes_opt_search`, `tpe_search` or `anneal_search`. A setting is
    /// a tuple of key, value and type, such as `("num_samples", "20", "Integer")`.
    pub fn algorithm(self, name: impl Into<String>, settings: &[(&str, &str, &str)]) -> Self {
        let settings = settings.iter().map(|(key, value, kind)| {
            object([
                (search_algorithm_parameter::KEY, text(*key)),
                (search_algorithm_parameter::VALUE, text(*value)),
                (search_algorithm_parameter::TYPE, text(*kind)),
            ])
        });
        let algorithm = object([
            (search_algorithm::NAME, text(name)),
            (search_algorithm::PARAMS, settings.collect()),
        ]);
        self.push(auto_search::ALGO_CONFIGS, algorithm)
    }

    fn push(mut self, list: &str, item: Value) -> Self {
        json_edit::push(&mut self.0, list, item);
        self
    }
}

fn continuous(name: impl Into<String>, low: f64, high: f64) -> Value {
    object([
        (search_parameter::NAME, text(name)),
        (search_parameter::PARAM_TYPE, text("continuous")),
        (search_parameter::LOWER_BOUND, text(low.to_string())),
        (search_parameter::UPPER_BOUND, text(high.to_string())),
    ])
}
