//! `cargo xtask payload`: what needs the generated types is a program of its own,
//! so that this one also builds when the description does not compile.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::workspace;

/// The command that holds bodies against `schema`; the files follow.
pub fn command(schema: &str) -> Command {
    let mut command = program();
    command.arg(schema);
    command
}

fn program() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--package", "modelarts-payload"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--");
    command
}

/// Runs it on `files`, which are relative to where the user is, or on a directory with
/// the bodies that the references print.
pub fn run(schema: Option<&str>, files: &[PathBuf], reference: Option<&Path>) -> Result<ExitCode> {
    let mut program = program();
    program.args(schema).args(files);
    if let Some(directory) = reference {
        program.arg("--reference").arg(directory);
    }
    let status = program.status().context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
