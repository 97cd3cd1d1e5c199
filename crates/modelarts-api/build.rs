//! Writes the generated code to `$OUT_DIR/modelarts.rs`: with the feature `generate` it compiles
//! `modelarts.yaml`, without it it joins the snapshots of the same code.

use std::{env, error::Error, fs, path::Path};

#[cfg(feature = "generate")]
#[path = "codegen/mod.rs"]
mod codegen;
#[cfg(not(feature = "generate"))]
#[path = "codegen/snapshots.rs"]
mod snapshots;

#[cfg(feature = "generate")]
const INPUT: &str = "modelarts.yaml";
#[cfg(not(feature = "generate"))]
const INPUT: &str = "snapshots";

fn main() {
    println!("cargo::rerun-if-changed={INPUT}");
    println!("cargo::rerun-if-changed=codegen");
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = write() {
        // cargo fails the build and shows this as an error of the package. It
        // reads one line.
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        println!("cargo::error={INPUT}: {message}");
    }
}

fn write() -> Result<(), Box<dyn Error>> {
    let out = Path::new(&env::var("OUT_DIR")?).join("modelarts.rs");
    fs::write(out, generated()?)?;
    Ok(())
}

#[cfg(feature = "generate")]
fn generated() -> Result<String, Box<dyn Error>> {
    let description = codegen::parse(&fs::read_to_string(INPUT)?)?;
    Ok(codegen::join(&codegen::generate(&description)?))
}

#[cfg(not(feature = "generate"))]
fn generated() -> Result<String, Box<dyn Error>> {
    Ok(snapshots::join(Path::new(INPUT))?)
}
