//! The vendor's own SDK for Python against the emulator: it was written for the service, so
//! what it does not understand is the emulator's fault.

use std::{fs, process::Command};

use anyhow::{Context, Result};

use super::{emulator::Emulator, folder::Folder, steps};
use crate::tools::venv;

/// Drives it through eleven operations; the script checks every answer.
pub fn run() -> Result<String> {
    let folder = Folder::of_client("official")?;
    let directory = folder.directory();
    let python = venv::python("official", &directory.join("requirements.txt"))?;
    let emulator = Emulator::start("official")?;
    // It writes an id of its own below the home directory.
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
