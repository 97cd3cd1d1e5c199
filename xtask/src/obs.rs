//! Runs clients of OBS against servers, and compares what they send, list and receive.

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};

use crate::{
    clients::emulator,
    outcome::{Outcome, passes},
    tools::venv,
    workspace::{self, cargo},
};

/// Measures transfers beside rclone and the AWS CLI, with optimised builds.
pub fn measure(rounds: u32) -> Result<ExitCode> {
    let scripts = workspace::root().join("xtask/obs/peers");
    let python = venv::python("obs-all", &scripts.join("all.txt"))?;
    let packages = [
        "--package",
        "modelarts-emulator",
        "--package",
        "modelarts-obs-peer",
    ];
    let status = cargo(["build", "--quiet", "--release"])
        .args(packages)
        .status()?;
    ensure!(status.success(), "modelarts-obs does not build: {status}");
    let programs = workspace::root().join("target/release");
    let status = Command::new(python)
        .arg("-B")
        .arg(scripts.join("speed.py"))
        .arg(rounds.to_string())
        .env("MODELARTS_EMULATOR", programs.join("modelarts-emulator"))
        .env("MODELARTS_OBS_PEER", programs.join("modelarts-obs-peer"))
        .status()?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

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
