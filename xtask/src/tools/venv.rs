//! Python virtual environments, which the script `.ci/venv` creates.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Returns the path of python3 in an environment that contains exactly the packages that
/// `requirements` pins.
pub fn python(name: &str, requirements: &Path) -> Result<PathBuf> {
    let output = Command::new(workspace::root().join(".ci/venv"))
        .arg(name)
        .arg(requirements)
        .stderr(Stdio::inherit())
        .output()
        .context(".ci/venv could not be started")?;
    ensure!(output.status.success(), ".ci/venv: {}", output.status);
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}
