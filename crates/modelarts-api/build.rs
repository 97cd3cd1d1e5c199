//! Compiles `modelarts.yaml` into `$OUT_DIR/modelarts.rs`.

#[path = "codegen/mod.rs"]
mod codegen;

use std::{env, error::Error, fs, path::PathBuf};

const DESCRIPTION: &str = "modelarts.yaml";

fn main() {
    println!("cargo::rerun-if-changed={DESCRIPTION}");
    println!("cargo::rerun-if-changed=codegen");
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = compile() {
        // cargo fails the build and shows this as an error of the package. It
        // reads one line.
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        println!("cargo::error={DESCRIPTION}: {message}");
    }
}

fn compile() -> Result<(), Box<dyn Error>> {
    let description = codegen::parse(&fs::read_to_string(DESCRIPTION)?)?;
    let pieces = codegen::generate(&description)?;
    let out = PathBuf::from(env::var("OUT_DIR")?).join("modelarts.rs");
    fs::write(out, codegen::join(&pieces))?;
    Ok(())
}
