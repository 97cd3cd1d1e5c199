//! Commands that run other programs.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};

use crate::workspace::{cargo_here, root};

/// Runs the example `payload` of modelarts-api, which decodes bodies as `schema` and lists the
/// differences. The example runs in the current directory, so that paths may be relative. It is a
/// separate program, so that xtask builds even if the description does not compile.
pub fn payload(schema: &str, files: &[PathBuf]) -> Result<ExitCode> {
    let status = cargo_here()
        .args(["run", "--quiet", "--package", "modelarts-api", "--example", "payload"])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .args(["--", schema])
        .args(files)
        .status()
        .context("cargo could not be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
