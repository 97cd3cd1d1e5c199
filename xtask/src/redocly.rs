//! Redocly commands, which build pages and bundles from the description.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Executable of Redocly, which `.ci/npm` installs.
const PROGRAM: &str = "node_modules/.bin/redocly";

/// Runs a command of Redocly that writes one file from a description.
pub fn make(arguments: &[&str], description: &Path, file: &Path) -> Result<()> {
    let status = Command::new(workspace::root().join(".ci/npm"))
        .arg(workspace::lint())
        .arg("--omit=optional")
        .status()
        .context(".ci/npm could not be started")?;
    ensure!(status.success(), ".ci/npm: {status}");
    let directory = file.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(directory)?;
    let output = Command::new(workspace::lint().join(PROGRAM))
        .args(arguments)
        .arg(description)
        .arg("-o")
        .arg(file)
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .current_dir(workspace::lint())
        .output()
        .context("Redocly could not be started")?;
    ensure!(
        output.status.success(),
        "redocly ended with {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
