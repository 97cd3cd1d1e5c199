//! With the feature `generate`, compiles `modelarts.yaml` into `$OUT_DIR/modelarts.rs`.

#[cfg(feature = "generate")]
#[path = "codegen/mod.rs"]
mod codegen;

#[cfg(not(feature = "generate"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "generate")]
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

#[cfg(feature = "generate")]
const DESCRIPTION: &str = "modelarts.yaml";

#[cfg(feature = "generate")]
fn compile() -> Result<(), Box<dyn std::error::Error>> {
    let description = codegen::parse(&std::fs::read_to_string(DESCRIPTION)?)?;
    let pieces = codegen::generate(&description)?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("modelarts.rs");
    std::fs::write(out, codegen::join(&pieces))?;
    Ok(())
}
