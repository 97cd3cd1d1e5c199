//! `cargo xtask`: regenerates, checks and measures the workspace.

#[path = "../../crates/modelarts-api/codegen/mod.rs"]
mod codegen;

mod breaking;
mod ci;
mod clients;
mod dist;
mod docs;
mod layers;
mod licences;
mod markdown;
mod metadata;
mod new_operation;
mod plain;
mod programs;
mod readme;
mod regenerate;
mod snapshots;
mod spec;
mod tools;
mod workspace;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::clients::Selection;

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
    Codegen(Codegen),
    /// Checks that the description compiles, keeps the rules, and that its examples fit
    Spec {
        /// The OpenAPI description
        #[arg(long, value_name = "FILE", default_value_os_t = workspace::description())]
        description: PathBuf,
    },
    /// Decodes captured bodies, encodes them again and says what became of each value
    Payload {
        /// The name of a schema, or Empty
        #[arg(required_unless_present = "reference")]
        schema: Option<String>,
        /// Files with one JSON body each; - is standard input
        #[arg(required_unless_present = "reference")]
        files: Vec<PathBuf>,
        /// A directory with the bodies that the references print, which are not in the repository
        #[arg(long, value_name = "DIR", conflicts_with_all = ["schema", "files"])]
        reference: Option<PathBuf>,
    },
    /// Compares the generated types with the description, name by name and field by field
    Schema {
        /// Another description than the one that the types were made from
        #[arg(long, value_name = "FILE")]
        description: Option<PathBuf>,
    },
    /// Fails when the description breaks clients of an older one and its version does not say so
    Breaking {
        /// A revision; the committed openapi/base.json if nothing is said
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// Make the description the base, unless its version does not say that it breaks clients
        #[arg(long, conflicts_with = "base")]
        accept: bool,
    },
    /// Writes the table of operations in the README
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
    /// Records again what the official Python SDK sends; the tests of modelarts-api compare
    Requests,
    /// Measures the client against reqwest and serde by hand, and prints tables
    Bench {
        /// get, official or build; all of them if nothing is said
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Simulates client, network and emulator from seeds, and compares calls with the database
    Simulate(programs::Simulate),
    /// Records calls to the real service, or compares such a record with what the project knows
    #[command(disable_help_flag = true)]
    Live {
        /// --record FILE or --compare FILE; `cargo xtask live --help` lists the others
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Makes clients in other languages and runs them against the emulator
    Clients {
        /// python, typescript, go, java or official; all of them if nothing is said
        #[arg(value_name = "LANG")]
        languages: Vec<String>,
        /// Make clients with other generators too; this installs what they need, and takes minutes
        #[arg(long, conflicts_with = "languages")]
        all: bool,
        /// Bring the tables in openapi/README.md up to date instead of comparing them
        #[arg(long)]
        write: bool,
    },
    /// Adds operations to a copy of the description, and calls them: they cost no Rust
    NewOperation,
    /// Builds the reference as one HTML page that loads nothing
    Docs,
    /// Writes the description without `anyOf`, for generators that lose its values
    Plain {
        #[arg(value_name = "FILE", default_value_os_t = workspace::plain())]
        file: PathBuf,
    },
    /// Makes what a release of the description consists of, in target/dist
    Dist {
        /// Make it twice and fail if the bytes differ
        #[arg(long)]
        check: bool,
    },
    /// Checks that modules use only what stands below them, as CONTRIBUTING.md shows
    Layers {
        /// The workspace
        #[arg(long, value_name = "DIR", default_value_os_t = workspace::root())]
        root: PathBuf,
        /// The document with the tables, if it is not CONTRIBUTING.md of the workspace
        #[arg(long, value_name = "FILE")]
        tables: Option<PathBuf>,
    },
    /// Runs every check and ends with a table
    Ci {
        /// Run only this check; may be given more than once
        #[arg(long, value_name = "NAME")]
        only: Vec<String>,
    },
}

#[derive(Args)]
struct Codegen {
    /// Fail on any difference instead of rewriting
    #[arg(long)]
    check: bool,
    /// The OpenAPI description
    #[arg(long, value_name = "FILE", default_value_os_t = workspace::description())]
    description: PathBuf,
    /// Directory of the snapshots
    #[arg(long, value_name = "DIR", default_value_os_t = workspace::snapshots())]
    snapshots: PathBuf,
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
        Command::Codegen(args) if args.check => {
            regenerate::check(&args.description, &args.snapshots)
        }
        Command::Codegen(args) => regenerate::rewrite(&args.description, &args.snapshots),
        Command::Spec { description } => spec::check(&description),
        Command::Payload {
            schema,
            files,
            reference,
        } => programs::payload(schema.as_deref(), &files, reference.as_deref()),
        Command::Schema { description } => programs::schema(description.as_deref()),
        Command::Breaking { accept: true, .. } => breaking::accept(),
        Command::Breaking { base, .. } => breaking::run(base.as_deref()),
        Command::Readme { check } => readme::run(check),
        Command::Licences { check } => licences::run(check),
        Command::Requests => programs::requests(),
        Command::Bench { args } => programs::bench(&args),
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
        Command::NewOperation => new_operation::run(),
        Command::Docs => docs::run(),
        Command::Plain { file } => plain::run(&file),
        Command::Dist { check } => dist::run(check),
        Command::Layers { root, tables } => layers::run(&root, tables.as_deref()),
        Command::Ci { only } => ci::run(&only),
    }
}
