//! Compiles `modelarts.yaml` into `$OUT_DIR/modelarts.rs`.

#[path = "codegen/mod.rs"]
mod codegen;

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=modelarts.yaml");
    println!("cargo::rerun-if-changed=codegen");
    println!("cargo::rerun-if-changed=build.rs");
    let description = codegen::parse(&fs::read_to_string("modelarts.yaml")?)?;
    let pieces = codegen::generate(&description)?;
    let out = PathBuf::from(env::var("OUT_DIR")?).join("modelarts.rs");
    fs::write(out, codegen::join(&pieces))?;
    Ok(())
}
