//! `cargo xtask requests`: records again what the official SDK sends, and of which
//! classes it makes what it sends and receives.
//!
//! The tests of `modelarts-api` hold our requests and the description against that.

use std::{
    fs,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{venv, workspace};

/// Each script, and the file with what it prints.
const RECORDS: [(&str, &str); 2] = [
    ("record.py", "recorded.json"),
    ("classes.py", "classes.json"),
];

/// Runs the SDK and keeps what it sent, and what it is made of.
pub fn record() -> Result<ExitCode> {
    let directory = workspace::requests();
    let python = venv::python("sdk", &directory.join("requirements.txt"))?;
    for (script, kept) in RECORDS {
        let output = Command::new(&python)
            .arg(directory.join(script))
            .arg(workspace::description())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("{} could not be started", python.display()))?;
        ensure!(
            output.status.success(),
            "{script} ended with {}",
            output.status
        );
        let file = directory.join(kept);
        let before = fs::read(&file).unwrap_or_default();
        let said = match before == output.stdout {
            true => "is what it was",
            false => "was rewritten; review the difference, then run the tests of modelarts-api",
        };
        fs::write(&file, output.stdout).with_context(|| file.display().to_string())?;
        println!("{kept} {said}");
    }
    Ok(ExitCode::SUCCESS)
}
