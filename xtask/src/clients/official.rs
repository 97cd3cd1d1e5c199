//! The vendor's SDK for Python against the emulator. It was written for the service, so a response
//! that it cannot read is a defect of the emulator.

use std::{fs, process::Command};

use anyhow::{Context, Result};

use super::{emulator::Emulator, folder::Folder, steps};
use crate::tools::venv;

/// Calls eleven operations with the SDK, in a script that checks every response.
pub fn run() -> Result<String> {
    let folder = Folder::of_client("official")?;
    let directory = folder.directory();
    let python = venv::python("official", &directory.join("requirements.txt"))?;
    let emulator = Emulator::start("official")?;
    // The SDK writes an id below the home directory.
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
