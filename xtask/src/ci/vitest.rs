//! Runs the vitest suite of the emulator's examples.

use std::process::Command;

use anyhow::Result;

use crate::outcome::{Outcome, passes};
use crate::{
    clients::emulator,
    tools::node::{self, Optional},
    workspace,
};

const PACKAGE: &str = "node_modules/vitest";

pub fn run() -> Result<Outcome> {
    if let Some(why) = node::unavailable() {
        return Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        });
    }
    let suite = workspace::root().join("crates/modelarts-emulator/examples/vitest");
    // Optional packages are necessary, because the bundler has one for the binary of each system.
    node::install(&suite, PACKAGE, Optional::Installed)?;
    emulator::build()?;
    passes(
        Command::new("node")
            .arg(format!("{PACKAGE}/vitest.mjs"))
            .arg("run")
            .env("MODELARTS_EMULATOR", emulator::program()?)
            .current_dir(&suite),
    )
}
