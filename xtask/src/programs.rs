//! Commands that run other programs. Programs that need the generated types are separate, so that
//! xtask builds even if the description does not compile. Benchmarks are separate because they need
//! an optimised build.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::workspace::{self, cargo_here};

/// Returns the command for a program of the workspace. The program runs in the current directory,
/// so that its arguments may contain relative paths.
fn program(options: &[&str], package: &str) -> Command {
    let mut command = cargo_here();
    command
        .args(["run", "--quiet"])
        .args(options)
        .args(["--package", package]);
    command
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--");
    command
}

fn run(command: &mut Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Replaces this process by the program, so that the program receives Ctrl-C and can delete what it
/// has created.
#[cfg(unix)]
pub fn replace(mut command: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).context("the program could not be started")
}

#[cfg(not(unix))]
pub fn replace(mut command: Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Decodes bodies as `schema` by the example `payload` of modelarts-api, and lists the differences.
pub fn payload(schema: &str, files: &[PathBuf]) -> Result<ExitCode> {
    let mut command = program(&["--example", "payload"], "modelarts-api");
    run(command.arg(schema).args(files))
}
