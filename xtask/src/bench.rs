//! `cargo xtask bench`: measures with an optimised build, in a program of its own.

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::workspace;

/// Runs it with `args`.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "modelarts-bench",
        ])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--")
        .args(args)
        .status()
        .context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
