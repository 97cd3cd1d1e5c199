//! Test environment with variables and credentials files.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use modelarts_ext::config::Environment;

/// Files and variables of a test.
pub(crate) struct TestEnvironment {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    pub(crate) fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a file that only its owner can read.
    pub(crate) fn file(self, path: &str, text: impl AsRef<str>) -> Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text.as_ref()).unwrap();
        set_mode(&path, 0o600);
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Formats a value without the path of the test directory.
    pub(crate) fn short(&self, text: impl fmt::Display) -> String {
        let root = format!("{}/", self.root.path().display());
        text.to_string().replace(&root, "")
    }

    pub(crate) fn environment(&self) -> Environment {
        let variables = self.variables.clone();
        let find = move |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| known == name);
            found.next_back().map(|(_, value)| value.clone())
        };
        Environment::new(find)
            .home(self.path("home"))
            .directory(self.path("here"))
            .system(self.path("etc"))
    }
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
pub(crate) fn set_mode(_: &Path, _: u32) {}
