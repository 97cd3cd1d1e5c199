//! Runs the vendor's Python SDK against the emulator. The SDK was written for the service, so a
//! response that it cannot read indicates a defect of the emulator.

use std::{fs, process::Command};

use anyhow::{Context, Result};

use super::{emulator::Emulator, folder::Folder, steps};
use crate::tools::venv;

/// Runs a script that calls eleven operations with the SDK and checks every response.
pub fn run() -> Result<String> {
    let folder = Folder::of_client("official")?;
    let directory = folder.directory();
    let python = venv::python("official", &directory.join("requirements.txt"))?;
    let emulator = Emulator::start("official")?;
    // The home directory is replaced, because the SDK writes an id into it.
    let home = directory.join("home");
    fs::create_dir_all(&home)?;
    let lines = steps::lines(
        Command::new(python)
            .arg("drive.py")
            .envs(emulator.settings())
            .env("HOME", home)
            .current_dir(directory),
    )?;
    lines.last().cloned().context("drive.py printed nothing")
}
