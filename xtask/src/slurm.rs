//! Runs jobs of the emulator on a Slurm cluster of three nodes, which runs on this machine.

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    outcome::{Outcome, passes},
    programs::replace,
    tools::venv,
    workspace::{self, cargo},
};

/// Package with the scenarios.
const PACKAGE: &str = "modelarts-slurm-tests";

/// Options of `cargo xtask slurm`.
#[derive(Args)]
pub struct Options {
    /// Run only the scenarios of CI
    #[arg(long, conflicts_with = "names")]
    ci: bool,
    /// Measure the delay of a job, and the calls of commands with 200 jobs in the queue, with an
    /// optimised build
    #[arg(long, conflicts_with_all = ["ci", "names"])]
    figures: bool,
    /// Scenarios to run; all if not given
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Runs scenarios, or measures.
pub fn command(options: &Options) -> Result<ExitCode> {
    let mut command = build(options.figures)?;
    command.args(options.ci.then_some("--ci"));
    command.args(options.figures.then_some("--figures"));
    command.args(&options.names);
    let uses_official =
        options.names.is_empty() || options.names.iter().any(|it| it == "official-sdk");
    if uses_official && !options.ci && !options.figures {
        let requirements = workspace::root().join("openapi/clients/official/requirements.txt");
        command.env("OFFICIAL_PYTHON", venv::python("official", &requirements)?);
    }
    // The program receives Ctrl-C and ends the cluster.
    replace(command)
}

/// Runs the scenarios of CI.
pub fn check() -> Result<Outcome> {
    if let Some(why) = unavailable() {
        return Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        });
    }
    passes(build(false)?.arg("--ci"))
}

/// Returns the reason for which no cluster can run here.
fn unavailable() -> Option<String> {
    let is_found = |program: &str| {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut directories = env::split_paths(&path).chain(["/usr/sbin".into()]);
        directories.any(|directory| directory.join(program).is_file())
    };
    let mut needed = ["slurmctld", "slurmd", "srun"].into_iter();
    let missing = needed.find(|program| !is_found(program))?;
    Some(format!(
        "there is no {missing}; install the packages slurmctld, slurmd and slurm-client, or run `cargo xtask slurm` as root"
    ))
}

/// Builds the emulator and the scenarios, and returns the command that runs them.
fn build(is_measured: bool) -> Result<Command> {
    let status = cargo(["build", "--quiet", "--package", "modelarts-emulator"])
        .args(["--package", PACKAGE])
        .args(is_measured.then_some("--release"))
        .status()?;
    ensure!(status.success(), "the scenarios do not build: {status}");
    let program = match is_measured {
        true => workspace::root().join("target/release/modelarts-emulator"),
        false => env::current_exe()?.with_file_name("modelarts-emulator"),
    };
    let directory = program.parent().context("the program is in no directory")?;
    let mut command = Command::new(directory.join(PACKAGE));
    command.arg("--program").arg(&program);
    Ok(command)
}
