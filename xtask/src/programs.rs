//! Commands that run other programs. Programs that need the generated types are separate, so that
//! xtask builds even if the description does not compile. Benchmarks are separate because they need
//! an optimised build.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::{self, cargo, cargo_here};

/// Returns the command for a program of the workspace. The program runs in the current directory,
/// so that its arguments may contain relative paths.
fn program(options: &[&str], package: &str) -> Command {
    let mut command = cargo_here();
    command
        .args(["run", "--quiet"])
        .args(options)
        .args(["--package", package]);
    command
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--");
    command
}

fn run(command: &mut Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Replaces this process by the program, so that the program receives Ctrl-C and can delete what it
/// has created.
#[cfg(unix)]
pub fn replace(mut command: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).context("the program could not be started")
}

#[cfg(not(unix))]
pub fn replace(mut command: Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Decodes bodies as `schema` by the example `payload` of modelarts-api, and lists the differences.
pub fn payload(schema: &str, files: &[PathBuf]) -> Result<ExitCode> {
    let mut command = program(&["--example", "payload"], "modelarts-api");
    run(command.arg(schema).args(files))
}

/// Options of `cargo xtask simulate`: the seeds, and their number.
#[derive(Args)]
pub struct Simulate {
    /// Run one seed, and print every request and every call
    #[arg(long, value_name = "K", conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// The number of seeds
    #[arg(long, value_name = "N", default_value_t = 1000)]
    seeds: u64,
    /// The first seed; taken from the commit if not given
    #[arg(long, value_name = "K")]
    first: Option<u64>,
}

/// Simulates client, network and emulator in one process, and prints the seeds that broke a rule.
pub fn simulate(args: &Simulate) -> Result<ExitCode> {
    run(&mut simulation(args)?)
}

/// Returns the command that runs the first seeds, so that the result depends only on the code.
pub fn simulation_of(seeds: u64) -> Result<Command> {
    simulation(&Simulate {
        seed: None,
        seeds,
        first: Some(0),
    })
}

/// Returns the command for the simulation, a test program of modelarts-ext. The build is optimised,
/// because a seed takes twenty times as long without.
fn simulation(args: &Simulate) -> Result<Command> {
    let mut command = cargo(["test", "--quiet", "--release", "--package", "modelarts-ext"]);
    command.args([
        "--test",
        "simulation",
        "--",
        "--nocapture",
        "no_seed_breaks_a_rule",
    ]);
    let first = match (args.seed, args.first) {
        (Some(_), _) => None,
        (None, Some(first)) => Some(first),
        (None, None) => Some(first_of_commit()?),
    };
    for (name, value) in [
        ("SIMULATION_SEED", args.seed),
        ("SIMULATION_FIRST", first),
        ("SIMULATION_SEEDS", Some(args.seeds)),
    ] {
        match value {
            Some(value) => command.env(name, value.to_string()),
            None => command.env_remove(name),
        };
    }
    Ok(command)
}

/// Returns a first seed that is derived from the commit. Different commits run different seeds, and
/// a run of a commit can be repeated.
fn first_of_commit() -> Result<u64> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=8", "HEAD"])
        .current_dir(workspace::root())
        .output()
        .context("git could not be started; give --first")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = u64::from_str_radix(text.trim(), 16);
    // The shift separates the ranges of seeds of different commits.
    Ok(number.context("this is no commit; give --first")? << 20)
}
