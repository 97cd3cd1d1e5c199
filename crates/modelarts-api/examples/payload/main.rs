//! The program that `cargo xtask payload` starts.

mod reference;

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::Parser;
use modelarts_payload::{
    Report,
    compare::{self, Finding},
    schemas,
};

#[derive(Parser)]
#[command(name = "cargo xtask payload")]
struct Cli {
    /// The name of a schema, or Empty
    #[arg(required_unless_present = "reference")]
    schema: Option<String>,
    /// Files with one JSON body each; - is standard input
    #[arg(required_unless_present = "reference")]
    files: Vec<PathBuf>,
    /// A directory with the bodies that are shown in the API references and guides, one file per body
    #[arg(long, value_name = "DIR", conflicts_with_all = ["schema", "files"])]
    reference: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    let mut failed = 0;
    if let Some(directory) = cli.reference {
        let bodies = reference::bodies(&directory)?;
        for (name, schema) in bodies {
            failed += usize::from(!passes(schema, &directory.join(format!("{name}.json")))?);
        }
        println!("{} bodies, {failed} failed", bodies.len());
    } else {
        for file in &cli.files {
            let schema = cli.schema.as_deref().unwrap_or_default();
            failed += usize::from(!passes(schema, file)?);
        }
    }
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Decodes a file with the type of a schema, and prints the differences. Returns true if no value
/// was lost or changed.
fn passes(schema: &str, file: &Path) -> Result<bool> {
    let Some(trip) = schemas::find(schema) else {
        bail!("{}", schemas::unknown(schema));
    };
    println!("{} as {schema}", file.display());
    Ok(match read(file).and_then(|body| trip(&body)) {
        Ok(Report { findings, dropped }) => {
            for finding in &findings {
                println!("  {finding}");
            }
            println!("  {}", compare::summary(&findings, &dropped));
            !findings.iter().any(Finding::is_failure)
        }
        Err(error) => {
            println!("  FAILED: {error:#}");
            false
        }
    })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut body = Vec::new();
        io::stdin().read_to_end(&mut body)?;
        return Ok(body);
    }
    fs::read(file).context("the file cannot be read")
}
