//! Redocly commands, which lint the description and build pages and bundles from it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use super::node;
use crate::workspace;

/// The folder of the package.
const PACKAGE: &str = "node_modules/@redocly/cli";

/// Installs Redocly, and returns its command, which runs in the directory of its configuration.
pub fn command() -> Result<Command> {
    node::install(&workspace::lint(), PACKAGE, node::Optional::LeftOut)?;
    let mut command = Command::new("node");
    command
        .arg(format!("{PACKAGE}/bin/cli.js"))
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .current_dir(workspace::lint());
    Ok(command)
}

/// Runs a command of Redocly that writes one file from a description.
pub fn make(arguments: &[&str], description: &Path, file: &Path) -> Result<()> {
    if let Some(why) = node::unavailable() {
        bail!("Redocly cannot run: {why}");
    }
    let mut command = command()?;
    let directory = file.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(directory)?;
    let output = command
        .args(arguments)
        .arg(description)
        .arg("-o")
        .arg(file)
        .output()
        .context("node could not be started")?;
    ensure!(
        output.status.success(),
        "redocly ended with {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
