//! Holds captured bodies against the generated types: decodes, encodes again,
//! and says what became of each value. Started by `cargo xtask payload`.

mod compare;
mod pointer;
mod schemas;
mod trip;

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Parser;

use crate::{compare::Finding, trip::Report};

#[derive(Parser)]
#[command(name = "cargo xtask payload")]
struct Cli {
    /// The name of a schema, or Empty
    schema: String,
    /// Files with one JSON body each; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let Some(trip) = schemas::find(&cli.schema) else {
        eprintln!("error: {}", schemas::unknown(&cli.schema));
        return ExitCode::FAILURE;
    };
    let mut code = ExitCode::SUCCESS;
    for file in &cli.files {
        let report = read(file).and_then(|body| trip(&body));
        println!("{} as {}", file.display(), cli.schema);
        match report {
            Ok(Report { findings, dropped }) => {
                for finding in &findings {
                    println!("  {finding}");
                }
                println!("  {}", compare::summary(&findings, &dropped));
                if findings.iter().any(Finding::is_failure) {
                    code = ExitCode::FAILURE;
                }
            }
            Err(error) => {
                println!("  FAILED: {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn read(file: &Path) -> Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut body = Vec::new();
        io::stdin().read_to_end(&mut body)?;
        return Ok(body);
    }
    fs::read(file).context("the file cannot be read")
}
