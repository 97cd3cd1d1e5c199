//! `cargo xtask schema`: needs the generated types, so it is a program of its own,
//! as `payload` is.

use std::{
    env,
    path::{self, Path},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::workspace;

/// The command that holds the types against the description they are made from.
pub fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--package", "modelarts-schema"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--");
    command
}

/// Runs it, on another description if there is one.
pub fn run(description: Option<&Path>) -> Result<ExitCode> {
    let mut command = command();
    if let Some(description) = description {
        command
            .arg("--description")
            .arg(path::absolute(description)?);
    }
    let status = command.status().context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
