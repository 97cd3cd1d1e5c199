//! Manifest of a staged code directory.

use std::time::SystemTime;

use bytes::Bytes;
use modelarts_ext::{Error, ErrorKind};
use serde::Serialize;

use crate::staging::{LocalDir, git::Revision};

/// Version of the format of the manifest.
pub(super) const VERSION: u32 = 1;
/// Name and version of this crate.
pub(super) const TOOL: &str = concat!("modelarts-obs ", env!("CARGO_PKG_VERSION"));

/// Origin and files of a staged code directory.
#[derive(Debug, Serialize)]
pub(super) struct Manifest {
    version: u32,
    created: Option<String>,
    tool: &'static str,
    host: String,
    name: String,
    /// Commit of the directory; `None` outside of a repository, and before its first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<Revision>,
    files: Vec<File>,
}

/// File of a code directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct File {
    /// Path relative to the directory, with slashes.
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) sha256: String,
    pub(super) executable: bool,
}

impl Manifest {
    /// Creates the manifest of a directory. Blocks.
    pub(super) fn new(directory: LocalDir, files: Vec<File>, now: SystemTime) -> Self {
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        Self {
            version: VERSION,
            created: rfc3339(now),
            tool: TOOL,
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            git: Revision::find(&directory.path, &paths),
            name: directory.name,
            files,
        }
    }

    pub(super) fn to_json(&self) -> Result<Bytes, Error> {
        to_json(self)
    }
}

/// Formats a time in whole seconds.
pub(super) fn rfc3339(time: SystemTime) -> Option<String> {
    let time = jiff::Timestamp::try_from(time).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

pub(super) fn to_json(manifest: &impl Serialize) -> Result<Bytes, Error> {
    let text = serde_json::to_vec_pretty(manifest)
        .map_err(|error| Error::new(ErrorKind::Unexpected, format!("the manifest: {error}")))?;
    Ok(text.into())
}
