//! `cargo xtask payload`: what needs the generated types is a program of its own,
//! so that this one also builds when the description does not compile.

use std::{
    env,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::workspace;

/// The command that holds bodies against `schema`; the files follow.
pub fn command(schema: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--package", "modelarts-payload"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--", schema]);
    command
}

/// Runs it on `files`, which are relative to where the user is.
pub fn run(schema: &str, files: &[PathBuf]) -> Result<ExitCode> {
    let status = command(schema)
        .args(files)
        .status()
        .context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
