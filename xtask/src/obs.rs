//! Runs clients of OBS against servers, and compares what they send, list and receive.

use std::{env, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    ci::outcome::{Outcome, passes},
    clients::emulator,
    tools::venv,
    workspace::{self, cargo},
};

/// Runs the clients and servers of the check. With `all`, also runs those that take longer to
/// install.
pub fn run(all: bool) -> Result<Outcome> {
    let scripts = workspace::root().join("xtask/obs/peers");
    let (environment, packages) = match all {
        true => ("obs-all", "all.txt"),
        false => ("obs", "requirements.txt"),
    };
    let python = venv::python(environment, &scripts.join(packages))?;
    emulator::build()?;
    let status = cargo(["build", "--quiet", "--package", "modelarts-obs-peer"]).status()?;
    ensure!(status.success(), "modelarts-obs does not build: {status}");
    let here = env::current_exe()?;
    let directory = here.parent().context("this program is in no directory")?;
    passes(
        Command::new(python)
            // `-B` prevents cache files in the folder of the scripts.
            .arg("-B")
            .arg(scripts.join("main.py"))
            .args(all.then_some("--all"))
            .env("MODELARTS_EMULATOR", emulator::program()?)
            .env("MODELARTS_OBS_PEER", directory.join("modelarts-obs-peer"))
            .env(
                "MODELARTS_CACHE_DIR",
                workspace::root().join("target/obs-cache"),
            ),
    )
}
