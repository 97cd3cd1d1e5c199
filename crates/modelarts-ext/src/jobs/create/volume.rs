//! File systems that are mounted into a job.

use serde_json::{Value, json};

use crate::jobs::create::json_edit;

/// One mounted file system.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Volume(Value);

impl Volume {
    /// An SFS Turbo file system, such as `10.0.0.5:/share`, at a path such as
    /// `/mnt/data`. Dedicated pools only, at most 8 in a job.
    pub fn nfs(server_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        let (source, target) = (server_path.into(), local_path.into());
        Self(json!({"nfs": {"nfs_server_path": source, "local_path": target}}))
    }

    /// An OBS parallel file system, such as `/file-system/path`.
    pub fn pfs(pfs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        let (source, target) = (pfs_path.into(), local_path.into());
        Self(json!({"pfs": {"pfs_path": source, "local_path": target}}))
    }

    /// An OBS directory, such as `/bucket/path`.
    pub fn obs(obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        let (source, target) = (obs_path.into(), local_path.into());
        Self(json!({"obs": {"obs_path": source, "local_path": target}}))
    }

    /// The job may only read it. For SFS Turbo; the others have no such field.
    pub fn read_only(mut self) -> Self {
        if self.0.get("nfs").is_some() {
            json_edit::set(&mut self.0, "nfs.read_only", true);
        }
        self
    }

    pub(crate) fn into_json(self) -> Value {
        self.0
    }
}
