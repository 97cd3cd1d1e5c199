//! Inputs, outputs and volumes of a job.

use modelarts_api::{
    request_path::{input, output, volume},
    types::RemoteConstraint,
};
use serde::Serialize;
use serde_json::Value;

use crate::jobs::create::json_edit::{self, object, text};

/// Input channel of a job: external data that is copied to a directory of the container.
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
pub struct Output(pub(super) Value);

impl Output {
    /// Creates an output to an OBS directory, which should be empty. The service writes to it
    /// during and after the run.
    pub fn obs(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self(object([(output::NAME, text(name)), (output::remote::obs::OBS_URL, text(path))]))
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

/// File system that is mounted in the container.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Volume(pub(super) Value);

impl Volume {
    /// Mounts an SFS Turbo file system, such as `10.0.0.5:/share`, at a path such as `/mnt/data`.
    /// Dedicated pools only, at most 8 in a job.
    pub fn nfs(server_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::nfs::NFS_SERVER_PATH, text(server_path)),
            (volume::nfs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Mounts an OBS parallel file system, such as `/file-system/path`.
    pub fn pfs(pfs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::pfs::PFS_PATH, text(pfs_path)),
            (volume::pfs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Mounts an OBS directory, such as `/bucket/path`.
    pub fn obs(obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::obs::OBS_PATH, text(obs_path)),
            (volume::obs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Makes the mount read-only. Supported for SFS Turbo only.
    pub fn read_only(mut self) -> Self {
        if self.0.get(volume::NFS).is_some() {
            json_edit::set(&mut self.0, volume::nfs::READ_ONLY, true);
        }
        self
    }
}
