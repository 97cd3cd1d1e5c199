//! `cargo xtask`: commands that regenerate files of the workspace, run its checks and measure its
//! performance.

#[path = "../../crates/modelarts-api/codegen/mod.rs"]
mod codegen;

mod ci;
mod clients;
mod console;
mod dist;
mod docs;
mod instructions;
mod licences;
mod markdown;
mod metadata;
mod obs;
mod outcome;
mod plain;
mod programs;
mod readme;
mod regenerate;
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
    /// Checks that the description compiles and keeps the rules, and that its examples are valid
    Spec {
        /// The OpenAPI description
        #[arg(long, value_name = "FILE", default_value_os_t = workspace::description())]
        description: PathBuf,
    },
    /// Decodes captured bodies, encodes them again and lists the differences
    Payload {
        /// The name of a schema, or Empty
        #[arg(required_unless_present = "reference")]
        schema: Option<String>,
        /// Files with one JSON body each; - is standard input
        #[arg(required_unless_present = "reference")]
        files: Vec<PathBuf>,
        /// A directory with the bodies printed in the API references, which the repository lacks
        #[arg(long, value_name = "DIR", conflicts_with_all = ["schema", "files"])]
        reference: Option<PathBuf>,
    },
    /// Compares the generated types with the description, name by name and field by field
    Schema {
        /// A description to compare with, instead of the one that the types are generated from
        #[arg(long, value_name = "FILE")]
        description: Option<PathBuf>,
    },
    /// Writes the table of operations in openapi/README.md
    Readme {
        /// Fail on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Writes the table of licences in THIRD-PARTY.md, and fails on a licence that is not admitted
    Licences {
        /// Fail on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Records the requests of the official Python SDK again, for the tests of modelarts-api
    Requests,
    /// Measures the client in comparison with reqwest and serde by hand, and prints tables
    Bench {
        /// A measurement, such as get, instructions or build; all those of time and memory if not given
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Simulates client, network and emulator from seeds, and compares calls with the database
    Simulate(programs::Simulate),
    /// Records calls to the real service, or compares a recording with the description and the
    /// emulator
    #[command(disable_help_flag = true)]
    Live {
        /// --record FILE or --compare FILE; `cargo xtask live --help` lists the other options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
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
    /// Builds the reference as one self-contained HTML page
    Docs,
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
    /// Runs all checks and prints a table of the results
    Ci {
        /// Run only this check; may be given more than once
        #[arg(long, value_name = "NAME")]
        only: Vec<String>,
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
        Command::Payload {
            schema,
            files,
            reference,
        } => programs::payload(schema.as_deref(), &files, reference.as_deref()),
        Command::Schema { description } => programs::schema(description.as_deref()),
        Command::Readme { check } => readme::run(check),
        Command::Licences { check } => licences::run(check),
        Command::Requests => programs::requests(),
        Command::Bench { args } => match args.split_first() {
            Some((name, args)) if name == "instructions" => instructions::run(args),
            _ => programs::bench(&args),
        },
        Command::Simulate(args) => programs::simulate(&args),
        Command::Live { args } => programs::live(&args),
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
        Command::Obs {
            speed: true,
            rounds,
        } => obs::measure(rounds),
        Command::Obs { .. } => Ok(match obs::run(true)? {
            Outcome::Passed => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }),
        Command::Docs => docs::run(),
        Command::Plain { file } => plain::run(&file),
        Command::Dist {
            other: Some(Dist::Wheel { options }),
            ..
        } => dist::wheel::run(&options),
        Command::Dist { check, other: None } => dist::run(check),
        Command::Ci { only } => ci::run(&only),
    }
}
