//! Writes the generated code to `$OUT_DIR/modelarts.rs`.
//!
//! With the feature `generate`, the code is generated from `modelarts.yaml`, the files to which it
//! refers, and `causes.yaml`.
//! Otherwise, the code is joined from the snapshots, which contain the same code.

use std::{env, error::Error, fs, path::Path};

#[cfg(feature = "generate")]
#[path = "codegen/mod.rs"]
mod codegen;
#[cfg(feature = "generate")]
use codegen::link;
#[cfg(not(feature = "generate"))]
#[path = "codegen/link.rs"]
mod link;
#[cfg(not(feature = "generate"))]
#[path = "codegen/snapshots.rs"]
mod snapshots;

#[cfg(feature = "generate")]
const INPUTS: &[&str] =
    &["modelarts.yaml", "errors.yaml", "events.yaml", "waiters.yaml", "causes.yaml"];
#[cfg(not(feature = "generate"))]
const INPUTS: &[&str] = &["modelarts.json", "snapshots"];

fn main() {
    for input in INPUTS.iter().chain(&["codegen", "build.rs"]) {
        println!("cargo::rerun-if-changed={input}");
    }
    if let Err(error) = write() {
        // cargo reports this message when the build fails, but reads only its first line.
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        println!("cargo::error={message}");
    }
}

fn write() -> Result<(), Box<dyn Error>> {
    check_link()?;
    let out = Path::new(&env::var("OUT_DIR")?).join("modelarts.rs");
    fs::write(out, generated()?)?;
    Ok(())
}

/// Checks the file that becomes a constant of the crate. It must contain the description, and not
/// the target path of a symbolic link.
fn check_link() -> Result<(), String> {
    let text = fs::read_to_string("modelarts.json").map_err(|error| error.to_string());
    let checked = text.and_then(|text| link::check(&text));
    checked.map_err(|error| format!("modelarts.json: {error}"))
}

#[cfg(feature = "generate")]
fn generated() -> Result<String, Box<dyn Error>> {
    let in_file = |file: &str, error: &dyn std::fmt::Display| format!("{file}: {error}");
    let description = codegen::read(Path::new("modelarts.yaml"))?;
    let mut pieces =
        codegen::generate(&description).map_err(|error| in_file("modelarts.yaml", &error))?;
    let causes = fs::read_to_string("causes.yaml");
    let causes = causes.map_err(|error| in_file("causes.yaml", &error))?;
    let causes = codegen::causes::generate(&causes);
    let causes = causes.map_err(|error| in_file("causes.yaml", &error))?;
    pieces.insert("causes".to_owned(), causes);
    Ok(codegen::snapshots::join(&pieces))
}

#[cfg(not(feature = "generate"))]
fn generated() -> Result<String, Box<dyn Error>> {
    let snapshots = snapshots::read(Path::new("snapshots"));
    Ok(snapshots::join(&snapshots.map_err(|error| format!("snapshots: {error}"))?))
}
