//! `cargo xtask`: commands that regenerate files from the description, check it, and release it.

#[path = "../../crates/modelarts-api/codegen/mod.rs"]
mod codegen;

mod api;
mod dist;
mod docs;
mod json;
mod markdown;
mod programs;
mod redocly;
mod regenerate;
mod spec;
mod tables;
mod workspace;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Generates code and documents from the description, checks it, and releases it"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compiles the description; rewrites the snapshots of the result, the description in JSON and
    /// the table of operations
    Codegen {
        /// Fails on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Checks that the description compiles, and that its extensions keep the rules
    Spec {
        /// Path of the OpenAPI description
        #[arg(long, value_name = "FILE", default_value_os_t = workspace::description())]
        description: PathBuf,
    },
    /// Decodes captured bodies, encodes them again and lists the differences
    Payload {
        /// Name of a schema, or Empty
        schema: String,
        /// Files with one JSON body each; - is standard input
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Writes the tables of openapi/OPERATIONS.md and openapi/ERRORS.md
    Tables {
        /// Fails on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Writes the lists of the public API of the crates, in xtask/api
    Api {
        /// Fails on any difference instead of rewriting
        #[arg(long)]
        check: bool,
    },
    /// Builds the files of a release of the description, in target/dist
    #[command(args_conflicts_with_subcommands = true)]
    Dist {
        /// Builds twice, and fails if the bytes differ
        #[arg(long)]
        check: bool,
        #[command(subcommand)]
        other: Option<Dist>,
    },
}

/// Subcommands of `dist`, for files of other releases.
#[derive(Subcommand)]
enum Dist {
    /// Writes the licences of the packages in the programs, for the package for Python
    Notices,
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
        Command::Codegen { check } => {
            let codes = [regenerate::run(check)?, json::run(check)?, tables::run(check)?];
            let failed = codes.into_iter().find(|code| *code != ExitCode::SUCCESS);
            Ok(failed.unwrap_or(ExitCode::SUCCESS))
        }
        Command::Spec { description } => spec::check(&description),
        Command::Payload { schema, files } => programs::payload(&schema, &files),
        Command::Tables { check } => tables::run(check),
        Command::Api { check } => api::run(check),
        Command::Dist { other: Some(Dist::Notices), .. } => {
            dist::notices().map(|()| ExitCode::SUCCESS)
        }
        Command::Dist { check, other: None } => dist::run(check),
    }
}
