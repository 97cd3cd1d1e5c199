//! `cargo xtask live`: what needs the generated types is a program of its own, so that this one
//! also builds when the description does not compile.

use std::{env, process::Command, process::ExitCode};

use anyhow::{Context, Result};

use crate::workspace;

/// Runs it with these arguments, where the user is.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--package", "modelarts-live"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--")
        .args(args);
    replace(command)
}

/// Takes the place of this process, so that Ctrl-C is for the program that deletes a job then.
#[cfg(unix)]
fn replace(mut command: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).context("cargo could not be started")
}

#[cfg(not(unix))]
fn replace(mut command: Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
