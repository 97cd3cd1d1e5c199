//! Compresses the OpenAPI description, which `modelarts api` reads.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::Write,
    path::Path,
};

use flate2::{Compression, write::DeflateEncoder};

const DESCRIPTION: &str = "modelarts.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DESCRIPTION}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = Path::new(&env::var("OUT_DIR")?).join("modelarts.json.deflate");
    let mut encoder = DeflateEncoder::new(File::create(out)?, Compression::best());
    encoder.write_all(&fs::read(DESCRIPTION)?)?;
    encoder.finish()?;
    Ok(())
}
