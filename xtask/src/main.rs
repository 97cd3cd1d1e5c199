//! `cargo xtask`: commands that regenerate files of the workspace, run its checks and measure its
//! performance.

#[path = "../../crates/modelarts-api/codegen/mod.rs"]
mod codegen;

mod clients;
mod console;
mod dist;
mod docs;
mod markdown;
mod obs;
mod outcome;
mod plain;
mod programs;
mod readme;
mod regenerate;
mod slurm;
mod spec;
mod tools;
mod workspace;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{clients::Selection, outcome::Outcome};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Regenerates, checks and measures the workspace"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compiles the description and rewrites the snapshots of the result
    Codegen {
        /// Fail on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Checks that the description compiles, and that its extensions keep the rules
    Spec {
        /// The OpenAPI description
        #[arg(long, value_name = "FILE", default_value_os_t = workspace::description())]
        description: PathBuf,
    },
    /// Decodes captured bodies, encodes them again and lists the differences
    Payload {
        /// The name of a schema, or Empty
        schema: String,
        /// Files with one JSON body each; - is standard input
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Writes the table of operations in openapi/README.md
    Readme {
        /// Fail on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Generates clients in other languages, and runs them against the emulator
    Clients {
        /// python, typescript, go, java or official; all if not given
        #[arg(value_name = "LANG")]
        languages: Vec<String>,
        /// Run further generators as well; this installs their requirements, and takes minutes
        #[arg(long, conflicts_with = "languages")]
        all: bool,
        /// Update the tables in openapi/README.md instead of comparing them
        #[arg(long)]
        write: bool,
    },
    /// Runs clients of OBS against servers of the same API: boto3, the vendor's SDK, rclone, the AWS
    /// CLI and modelarts-obs; the emulator, moto and SeaweedFS
    Obs {
        /// Measure transfers beside rclone and the AWS CLI instead; takes minutes
        #[arg(long)]
        speed: bool,
        /// Number of rounds of each program, with --speed
        #[arg(long, default_value_t = 5, requires = "speed")]
        rounds: u32,
    },
    /// Runs the browser tests of the page, which need Chromium, and writes its screenshots to
    /// target/console
    Console {
        /// Measure first paint, delay and memory instead, with an optimised build
        #[arg(long)]
        figures: bool,
        /// Run only the tests whose names match this regular expression
        #[arg(value_name = "PATTERN")]
        pattern: Option<String>,
    },
    /// Runs jobs of the emulator on a Slurm cluster of three nodes, which it starts on this machine;
    /// as root, installs Slurm if it is missing
    Slurm(slurm::Options),
    /// Writes the description without `anyOf`, for generators that lose its values
    Plain {
        #[arg(value_name = "FILE", default_value_os_t = workspace::plain())]
        file: PathBuf,
    },
    /// Builds the files of a release of the description, in target/dist
    #[command(args_conflicts_with_subcommands = true)]
    Dist {
        /// Build twice, and fail if the bytes differ
        #[arg(long)]
        check: bool,
        #[command(subcommand)]
        other: Option<Dist>,
    },
}

/// Releases other than that of the description.
#[derive(Subcommand)]
enum Dist {
    /// Builds the package for Python in target/wheels: the programs modelarts and
    /// modelarts-emulator, and a pytest plugin
    Wheel {
        /// Options of `maturin build`, such as --compatibility manylinux2014 --zig for a wheel that
        /// runs on older systems than this one
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Codegen { check } => regenerate::run(check),
        Command::Spec { description } => spec::check(&description),
        Command::Payload { schema, files } => programs::payload(&schema, &files),
        Command::Readme { check } => readme::run(check),
        Command::Clients {
            languages,
            all,
            write,
        } => {
            let selection = Selection {
                names: languages,
                all_generators: all,
            };
            Ok(if clients::all_work(&selection, write)? {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Command::Console { figures, pattern } => console::command(figures, pattern.as_deref()),
        Command::Slurm(options) => slurm::command(&options),
        Command::Obs {
            speed: true,
            rounds,
        } => obs::measure(rounds),
        Command::Obs { .. } => Ok(match obs::run(true)? {
            Outcome::Passed => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }),
        Command::Plain { file } => plain::run(&file),
        Command::Dist {
            other: Some(Dist::Wheel { options }),
            ..
        } => dist::wheel::run(&options),
        Command::Dist { check, other: None } => dist::run(check),
    }
}
