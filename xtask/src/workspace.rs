//! Paths of the repository, and programs that start in it.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// The root of the repository that this program was started in.
///
/// cargo says so when it starts a program. What it said when it built this one
/// may be another clone, if two share their target directory.
pub fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// The OpenAPI description.
pub fn description() -> PathBuf {
    root().join("openapi/modelarts.yaml")
}

/// The plain variant of the description, which is made anew.
pub fn plain() -> PathBuf {
    root().join("target/modelarts.plain.json")
}

/// The description as clients know it.
pub fn base() -> PathBuf {
    root().join("openapi/base.json")
}

/// The folder in which the linter of the description is installed.
pub fn lint() -> PathBuf {
    root().join("openapi/lint")
}

/// The file in which the emulator lists the operations that it models.
pub fn emulated() -> PathBuf {
    root().join("crates/modelarts-emulator/src/catalog/operations.rs")
}

/// The snapshots of the generated code.
pub fn snapshots() -> PathBuf {
    root().join("crates/modelarts-api/snapshots")
}

/// The captured bodies that the tests of modelarts-api decode.
pub fn fixtures() -> PathBuf {
    root().join("crates/modelarts-api/tests/fixtures")
}

/// The requests of the official SDK, and what records them.
pub fn requests() -> PathBuf {
    root().join("crates/modelarts-api/tests/requests")
}

/// cargo, at the root of the workspace.
pub fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = cargo_here();
    command.args(arguments).current_dir(root());
    command
}

/// cargo, in the directory of the user.
pub fn cargo_here() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The names of files of the repository below a directory, as `git ls-files` lists them with
/// further options.
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
