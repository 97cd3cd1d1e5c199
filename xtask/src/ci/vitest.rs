//! The same suite as that of pytest, for Node.

use std::process::Command;

use anyhow::Result;

use super::{Outcome, checks::passes, redocly};
use crate::{
    clients::emulator,
    node::{self, Optional},
    workspace,
};

const PACKAGE: &str = "node_modules/vitest";

pub fn run() -> Result<Outcome> {
    if let Some(why) = redocly::unavailable() {
        return Ok(why);
    }
    let suite = workspace::root().join("crates/modelarts-emulator/examples/vitest");
    // The bundler has a program for each system, as a package that is optional.
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
