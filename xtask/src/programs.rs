//! Commands that are programs of their own. What needs the generated types is no part of xtask, so
//! that this also builds when the description does not compile; what measures needs an optimised
//! build; what the official SDK sends, a Python program says.

use std::{
    fs,
    path::{self, Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    tools::venv,
    workspace::{self, cargo, cargo_here},
};

/// A program of the workspace. It runs where the user is, so that files may be relative.
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

/// Measures with an optimised build.
pub fn bench(args: &[String]) -> Result<ExitCode> {
    run(program(&["--release"], "modelarts-bench").args(args))
}

/// Records calls to the real service, or compares such a record.
pub fn live(args: &[String]) -> Result<ExitCode> {
    let mut command = program(&[], "modelarts-live");
    command.args(args);
    replace(command)
}

/// Takes the place of this process, so that Ctrl-C is for the program that deletes a job then.
#[cfg(unix)]
fn replace(mut command: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).context("cargo could not be started")
}

#[cfg(not(unix))]
fn replace(mut command: Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Compares bodies with `schema`; or, from a directory, those that the references print.
pub fn payload(
    schema: Option<&str>,
    files: &[PathBuf],
    reference: Option<&Path>,
) -> Result<ExitCode> {
    let mut command = program(&[], "modelarts-payload");
    command.args(schema).args(files);
    if let Some(directory) = reference {
        command.arg("--reference").arg(directory);
    }
    run(&mut command)
}

/// The command that compares bodies with `schema`; the files follow.
pub fn payload_command(schema: &str) -> Command {
    let mut command = program(&[], "modelarts-payload");
    command.arg(schema);
    command
}

/// Compares the types with the description, or with another one.
pub fn schema(description: Option<&Path>) -> Result<ExitCode> {
    let mut command = schema_command();
    if let Some(description) = description {
        command
            .arg("--description")
            .arg(path::absolute(description)?);
    }
    run(&mut command)
}

/// The command that compares the types with the description they are made from.
pub fn schema_command() -> Command {
    program(&[], "modelarts-schema")
}

/// Each script in Python, and the file with what it prints.
const RECORDS: [(&str, &str); 2] = [
    ("record.py", "recorded.json"),
    ("classes.py", "classes.json"),
];

/// Records again what the official SDK sends, and of which classes it makes what it sends and
/// receives. The tests of modelarts-api compare our requests and the description with that.
pub fn requests() -> Result<ExitCode> {
    let directory = workspace::requests();
    let python = venv::python("sdk", &directory.join("requirements.txt"))?;
    for (script, kept) in RECORDS {
        let output = Command::new(&python)
            .arg(directory.join(script))
            .arg(workspace::description())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("{} could not be started", python.display()))?;
        ensure!(
            output.status.success(),
            "{script} ended with {}",
            output.status
        );
        let file = directory.join(kept);
        let before = fs::read(&file).unwrap_or_default();
        let message = match before == output.stdout {
            true => "is what it was",
            false => "was rewritten; review the difference, then run the tests of modelarts-api",
        };
        fs::write(&file, output.stdout).with_context(|| file.display().to_string())?;
        println!("{kept} {message}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The seeds of simulations, and how many.
#[derive(Args)]
pub struct Simulate {
    /// Run one seed, and print every request and every call
    #[arg(long, value_name = "K", conflicts_with_all = ["seeds", "first", "seconds"])]
    seed: Option<u64>,
    /// Number of seeds; 1000 if neither this nor a time is given
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// The first seed; taken from the commit if not given
    #[arg(long, value_name = "K")]
    first: Option<u64>,
    /// Begin no further seed after this many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
}

/// Simulates client, network and emulator in one process, and says how many seeds broke a rule.
pub fn simulate(args: &Simulate) -> Result<ExitCode> {
    run(&mut simulation(args)?)
}

/// The command for as many seeds of this commit as this many seconds are enough for.
pub fn simulation_of(seconds: u64) -> Result<Command> {
    simulation(&Simulate {
        seed: None,
        seeds: None,
        first: None,
        seconds: Some(seconds),
    })
}

/// The simulation is a test program, so that it is built of what the tests have built already.
fn simulation(args: &Simulate) -> Result<Command> {
    let mut command = cargo(["test", "--quiet", "--workspace", "--test", "simulation"]);
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
