//! Writes the generated code to `$OUT_DIR/modelarts.rs`.
//!
//! With the feature `generate`, the code is generated from `modelarts.yaml` and `causes.yaml`.
//! Otherwise, the code is joined from the snapshots, which contain the same code.

use std::{env, error::Error, fs, path::Path};

#[cfg(feature = "generate")]
#[path = "codegen/mod.rs"]
mod codegen;
#[cfg(not(feature = "generate"))]
#[path = "codegen/link.rs"]
mod link;
#[cfg(not(feature = "generate"))]
#[path = "codegen/snapshots.rs"]
mod snapshots;

const DESCRIPTION: &str = "modelarts.yaml";
#[cfg(feature = "generate")]
const INPUT: &str = "causes.yaml";
#[cfg(not(feature = "generate"))]
const INPUT: &str = "snapshots";

fn main() {
    println!("cargo::rerun-if-changed={DESCRIPTION}");
    println!("cargo::rerun-if-changed={INPUT}");
    println!("cargo::rerun-if-changed=codegen");
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = write() {
        // cargo reports this message when the build fails, but reads only its first line.
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        println!("cargo::error={message}");
    }
}

fn write() -> Result<(), Box<dyn Error>> {
    let out = Path::new(&env::var("OUT_DIR")?).join("modelarts.rs");
    fs::write(out, generated()?)?;
    Ok(())
}

#[cfg(feature = "generate")]
fn generated() -> Result<String, Box<dyn Error>> {
    let in_file = |file: &str, error: &dyn std::fmt::Display| format!("{file}: {error}");
    let read = |file: &str| fs::read_to_string(file).map_err(|error| in_file(file, &error));
    let description = codegen::parse(&read(DESCRIPTION)?);
    let pieces = description.and_then(|description| codegen::generate(&description));
    let mut pieces = pieces.map_err(|error| in_file(DESCRIPTION, &error))?;
    let causes = codegen::causes::generate(&read(INPUT)?);
    let causes = causes.map_err(|error| in_file(INPUT, &error))?;
    pieces.insert("causes".to_owned(), causes);
    Ok(codegen::snapshots::join(&pieces))
}

#[cfg(not(feature = "generate"))]
fn generated() -> Result<String, Box<dyn Error>> {
    // The file becomes a constant of the crate, so it must contain the description and not the
    // target path of a symbolic link.
    let description = fs::read_to_string(DESCRIPTION);
    description
        .map_err(|error| error.to_string())
        .and_then(|text| link::check(&text))
        .map_err(|error| format!("{DESCRIPTION}: {error}"))?;
    let snapshots = snapshots::read(Path::new(INPUT));
    Ok(snapshots::join(&snapshots.map_err(|error| format!("{INPUT}: {error}"))?))
}
