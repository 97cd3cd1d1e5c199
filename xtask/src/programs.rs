//! `cargo xtask simulate`: client, network and emulator in one process, from seeds.

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace;

/// Which seeds, and how many.
#[derive(Args)]
pub struct Simulate {
    /// Run one seed, and print every request and every call
    #[arg(long, value_name = "K", conflicts_with_all = ["seeds", "first", "seconds"])]
    seed: Option<u64>,
    /// How many seeds; 1000 if neither this nor a time is given
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// The first seed; taken from the commit if not given
    #[arg(long, value_name = "K")]
    first: Option<u64>,
    /// Begin no further seed after this many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
}

/// Runs them and says how many broke a rule.
pub fn run(args: &Simulate) -> Result<ExitCode> {
    let status = command(args)?.status();
    let status = status.context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The command for as many seeds of this commit as this many seconds are enough for.
pub fn for_seconds(seconds: u64) -> Result<Command> {
    command(&Simulate {
        seed: None,
        seeds: None,
        first: None,
        seconds: Some(seconds),
    })
}

/// The simulation is a test program, so that it is built of what the tests have built already.
fn command(args: &Simulate) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--quiet", "--workspace", "--test", "simulation"]);
    command.current_dir(workspace::root());
    command.args(["--", "--nocapture", "no_seed_breaks_a_rule"]);
    let first = match (args.seed, args.first) {
        (Some(_), _) => None,
        (None, Some(first)) => Some(first),
        (None, None) => Some(first_of_commit()?),
    };
    let seeds = args.seeds.or(args.seconds.is_none().then_some(1000));
    for (name, value) in [
        ("SIMULATION_SEED", args.seed),
        ("SIMULATION_FIRST", first),
        ("SIMULATION_SEEDS", seeds),
        ("SIMULATION_SECONDS", args.seconds),
    ] {
        match value {
            Some(value) => command.env(name, value.to_string()),
            None => command.env_remove(name),
        };
    }
    Ok(command)
}

/// A seed for each commit, so that each one tries others, and the same ones again.
fn first_of_commit() -> Result<u64> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=8", "HEAD"])
        .current_dir(workspace::root())
        .output()
        .context("git could not be started; give --first")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = u64::from_str_radix(text.trim(), 16);
    // Apart, so that those of two commits are not the same.
    Ok(number.context("this is no commit; give --first")? << 20)
}
