//! `cargo xtask requests`: records again what the official SDK sends.
//!
//! The tests of `modelarts-api` hold our requests against that record.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};

use crate::{venv, workspace};

/// Runs the SDK and keeps what it sent.
pub fn record() -> Result<ExitCode> {
    let directory = workspace::requests();
    let python = venv::python("sdk", &directory.join("requirements.txt"))?;
    let script = directory.join("record.py");
    let output = Command::new(&python)
        .arg(&script)
        .arg(workspace::description())
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("{} could not be started", python.display()))?;
    ensure!(
        output.status.success(),
        "{} ended with {}",
        script.display(),
        output.status
    );
    let file = directory.join("recorded.json");
    let before = fs::read(&file).unwrap_or_default();
    let said = match before == output.stdout {
        true => "is what it was",
        false => "was rewritten; review the difference, then run the tests of modelarts-api",
    };
    fs::write(&file, output.stdout).with_context(|| file.display().to_string())?;
    println!("recorded.json {said}");
    Ok(ExitCode::SUCCESS)
}
