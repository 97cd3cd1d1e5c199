//! Commands that run other programs. Programs that need the generated types are separate, so that
//! xtask builds even if the description does not compile. Benchmarks are separate because they need
//! an optimised build. A Python program records the requests of the official SDK.

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

/// Records calls to the real service, or compares such a recording.
pub fn live(args: &[String]) -> Result<ExitCode> {
    let mut command = program(&[], "modelarts-live");
    command.args(args);
    replace(command)
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

/// Compares bodies with `schema`, or all bodies in a directory of printed references.
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

/// Returns the command that compares bodies with `schema`. The caller adds the files as arguments.
pub fn payload_command(schema: &str) -> Command {
    let mut command = program(&[], "modelarts-payload");
    command.arg(schema);
    command
}

/// Compares the types with the description that they are generated from, or with another one.
pub fn schema(description: Option<&Path>) -> Result<ExitCode> {
    let mut command = schema_command();
    if let Some(description) = description {
        command
            .arg("--description")
            .arg(path::absolute(description)?);
    }
    run(&mut command)
}

/// Returns the command that compares the types with the description that they are generated from.
pub fn schema_command() -> Command {
    program(&[], "modelarts-schema")
}

/// Python scripts, each with the name of the file for its output.
const RECORDS: [(&str, &str); 2] = [
    ("record.py", "recorded.json"),
    ("classes.py", "classes.json"),
];

/// Records the requests of the official SDK again, and the classes that it sends and receives.
/// Tests of modelarts-api compare generated requests and the description with these records.
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
