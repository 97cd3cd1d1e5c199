//! Paths below `/home` in a container, and their location on this machine.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Home directory of the job's user in a container.
pub(crate) const MA_HOME: &str = "/home/ma-user";
/// Directory of inputs, outputs, code and logs in a container.
pub(crate) const MA_MOUNT_PATH: &str = "/home/ma-user/modelarts";
/// Default directory for the copy of the code in a container.
pub(crate) const DEFAULT_LOCAL_CODE_DIR: &str = "/home/ma-user/modelarts/user-job-dir";
/// Directory of the log of a worker in its container.
pub(crate) const MA_LOG_DIR: &str = "/home/ma-user/modelarts/log";

/// Directory of the wheel of MoXing in a container.
pub(crate) const PACKAGE_DIR: &str = "/home/ma-user/modelarts/package";

/// Checks a container path. The error is a phrase that follows the name of the field.
pub(crate) fn check_plain(path: &str) -> Result<(), &'static str> {
    if !path.starts_with('/') {
        return Err("it must be an absolute path");
    }
    if path.chars().any(char::is_control) {
        return Err("control characters are not allowed");
    }
    if path.split('/').any(|part| part == "." || part == "..") {
        return Err("the steps . and .. are not allowed");
    }
    Ok(())
}

/// Absolute path below `/home` in a container, stored below the worker's directory on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerPath(String);

impl ContainerPath {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let trimmed = text.trim_end_matches('/');
        if !trimmed.starts_with("/home/") {
            return Err("it must be a directory below /home");
        }
        check_plain(trimmed)?;
        Ok(Self(trimmed.to_owned()))
    }

    /// Creates a path from a constant of this module.
    pub(crate) fn from_static(path: &'static str) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn join(&self, names: &str) -> Self {
        Self(format!("{}/{names}", self.0))
    }

    /// Returns the path relative to the directory of a worker.
    pub(crate) fn relative(&self) -> &Path {
        Path::new(self.0.trim_start_matches('/'))
    }

    pub(crate) fn host_path(&self, worker: &Path) -> PathBuf {
        worker.join(self.relative())
    }
}

impl fmt::Display for ContainerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_home_are_taken() {
        let path = ContainerPath::parse("/home/ma-user/demo/").unwrap();
        assert_eq!(path.to_string(), "/home/ma-user/demo");
        assert_eq!(
            path.host_path(Path::new("/data/w")),
            PathBuf::from("/data/w/home/ma-user/demo")
        );
        for text in
            ["", "demo", "/home", "/home/", "/etc", "/home/../etc", "/home/a/./b", "/home/a\0"]
        {
            assert!(ContainerPath::parse(text).is_err(), "{text:?}");
        }
    }
}
