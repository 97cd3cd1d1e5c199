//! Tests of synchronizations of directories.

mod bad_input;
mod copy;
mod encoded;
mod files;
#[cfg(target_os = "linux")]
mod limited;
mod local;
mod progress;
mod safety;
mod service;
mod service_safety;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use modelarts_obs::{Obs, Summary, sync::SkipReason};
use tempfile::TempDir;

/// Temporary directory with the bucket `bucket`, a cache, and local data.
pub struct Place {
    root: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.path("obs/bucket")).unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Returns a connection to the local directory.
    pub fn obs(&self) -> Obs {
        Obs::directory(self.path("obs")).with_cache_dir(self.path("cache"))
    }

    /// Writes a file below the root, like [`write`].
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        write(&path, contents);
        path
    }
}

/// Writes a file, and sets its modification time to a minute ago, or to 1 ms after that of the file
/// that it replaces.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) {
    let before = fs::metadata(path).and_then(|metadata| metadata.modified());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, contents).unwrap();
    let modified = before.map_or(SystemTime::now() - Duration::from_secs(60), |before| {
        before + Duration::from_millis(1)
    });
    set_modified(path, modified);
}

pub fn set_modified(path: &Path, modified: SystemTime) {
    let times = fs::FileTimes::new().set_modified(modified);
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_times(times).unwrap();
}

/// Returns the contents of the files of a directory by their paths.
pub fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Returns the names of the files of a directory.
pub fn names(root: &Path) -> Vec<String> {
    tree(root).into_keys().collect()
}

/// Returns the paths that were left out, with their reasons.
pub fn skipped(summary: &Summary) -> Vec<(&str, SkipReason)> {
    let skipped = summary.skipped.iter();
    skipped.map(|skipped| (skipped.path.as_str(), skipped.reason.clone())).collect()
}

/// Returns bytes with a period of 251, so that exchanged parts differ.
pub fn bytes(size: usize) -> Vec<u8> {
    let block: Vec<u8> = (0..251).collect();
    let mut bytes = block.repeat(size.div_ceil(block.len()));
    bytes.truncate(size);
    bytes
}
