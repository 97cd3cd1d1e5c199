//! Runs the pytest suite of the emulator's examples.

use std::process::Command;

use anyhow::Result;

use crate::outcome::{Outcome, passes};
use crate::{clients::emulator, tools::venv, workspace};

pub fn run() -> Result<Outcome> {
    let suite = workspace::root().join("crates/modelarts-emulator/examples/pytest");
    let python = venv::python("pytest", &suite.join("requirements.txt"))?;
    emulator::build()?;
    passes(
        Command::new(python)
            // The options prevent cache files in the folder of the package.
            .args(["-B", "-m", "pytest", "-p", "no:cacheprovider"])
            .arg(&suite)
            .env("MODELARTS_EMULATOR", emulator::program()?),
    )
}
