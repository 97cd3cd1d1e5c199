//! Decodes captured bodies with the type of a schema, encodes them again and lists the differences:
//! `cargo xtask payload SCHEMA FILE…` starts this program.

mod comparison;
#[path = "../../tests/answers/types.rs"]
mod types;

use std::{env, fs, io, process::ExitCode};

use serde_json::Value;

/// Kinds of findings that are faults.
const FAULTS: [&str; 3] = ["dropped", "lost", "changed"];

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    match run(&arguments.next().unwrap_or_default(), arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns true if no value of any file was lost or changed.
fn run(schema: &str, files: impl Iterator<Item = String>) -> Result<bool, String> {
    types::find(schema)?;
    let description = serde_json::from_str(modelarts_api::DESCRIPTION);
    let description: Value = description.map_err(|error| error.to_string())?;
    let mut passed = true;
    for file in files {
        println!("{file} as {schema}");
        let body = match file.as_str() {
            "-" => io::read_to_string(io::stdin()).map(String::into_bytes),
            file => fs::read(file),
        };
        let body = body.map_err(|error| format!("the file cannot be read: {error}"));
        match body.and_then(|body| comparison::of(&description, schema, &body)) {
            Ok((findings, skipped)) => {
                findings.iter().for_each(|finding| println!("  {finding}"));
                if let Some(error) = skipped.first_error {
                    println!("  left out of a list: {error}");
                }
                let faults = findings.iter().filter(|it| FAULTS.contains(&it.kind)).count();
                println!("  {}", if faults > 0 { "FAILED" } else { "ok" });
                passed &= faults == 0;
            }
            Err(error) => {
                println!("  FAILED: {error}");
                passed = false;
            }
        }
    }
    Ok(passed)
}
