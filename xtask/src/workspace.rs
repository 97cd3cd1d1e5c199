//! Paths of the repository, and programs that start in it.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// Returns the root of the repository in which this program was started.
///
/// The root is derived from an environment variable that cargo sets when it starts a program. The
/// value of the variable at build time may refer to another clone, if two clones share a target
/// directory.
pub fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// Returns the path of the OpenAPI description.
pub fn description() -> PathBuf {
    root().join("openapi/modelarts.yaml")
}

/// Returns the path of the causes of failures, with their texts.
pub fn causes() -> PathBuf {
    root().join("openapi/causes.yaml")
}

/// Returns the folder in which the linter of the description is installed.
pub fn lint() -> PathBuf {
    root().join("openapi/lint")
}

/// Returns the file in which the emulator lists the operations that it models.
pub fn emulated() -> PathBuf {
    root().join("crates/modelarts-emulator/src/catalog/operations.rs")
}

/// Returns the folder with the snapshots of the generated code.
pub fn snapshots() -> PathBuf {
    root().join("crates/modelarts-api/snapshots")
}

/// Returns a cargo command that runs at the root of the workspace.
pub fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = cargo_here();
    command.args(arguments).current_dir(root());
    command
}

/// Returns a cargo command that runs in the current directory, without the variables that cargo has
/// set for this program: the build script of ring reads them, so that the command would compile ring
/// and all that depends on it again, and so would the next command of a shell.
pub fn cargo_here() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// Returns the paths of the repository's files below a directory. `options` are passed to `git
/// ls-files`.
pub fn files(directory: &Path, options: &[&str]) -> Result<BTreeSet<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .args(options)
        .current_dir(directory)
        .output()
        .context("git could not be started")?;
    ensure!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let names = String::from_utf8(output.stdout)?;
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}
