//! `cargo xtask codegen`: regenerates or checks the snapshots of the generated code.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};

use crate::{
    codegen,
    workspace::{self, cargo},
};

/// Test that compares the snapshots with the generated code.
const TEST: &str = "regenerate::tests::the_snapshots_are_the_generated_code";

/// Generates the code from the description in a file and from the causes. Returns the texts of the
/// snapshots by name.
pub fn generate(description: &Path) -> Result<BTreeMap<String, String>> {
    let generated = codegen::generate(&codegen::read(description)?);
    let mut generated = generated.with_context(|| file_name(description))?;
    let causes = workspace::causes();
    let yaml = fs::read_to_string(&causes).with_context(|| causes.display().to_string())?;
    let text = codegen::causes::generate(&yaml).with_context(|| file_name(&causes))?;
    generated.insert("causes".to_owned(), text);
    Ok(generated)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Compares the snapshots with the generated code, or rewrites them if `is_check` is `false`.
pub fn run(is_check: bool) -> Result<ExitCode> {
    // An invalid description is reported in one sentence, and leaves the snapshots unchanged.
    let generated = generate(&workspace::description())?;
    let directory = workspace::snapshots();
    let before = codegen::snapshots::read(&directory).unwrap_or_default();
    if !is_check {
        remove_snapshots(&directory)?;
    }
    // With `--bin`, cargo leaves the file of the running program unchanged.
    let status = cargo(["test", "--quiet", "--package", "xtask", "--bin", "xtask"])
        .args(["--", "--exact", TEST])
        .env("INSTA_UPDATE", if is_check { "no" } else { "always" })
        .env("INSTA_OUTPUT", if is_check { "diff" } else { "none" })
        .env("RUST_BACKTRACE", "0")
        .status()
        .context("cargo")?;
    if !status.success() {
        return Ok(ExitCode::FAILURE);
    }
    let is_changed = |(name, text): &(&String, &String)| before.get(*name) != Some(*text);
    let changed = generated.iter().filter(is_changed);
    let changed: Vec<_> = changed.map(|(name, _)| name.as_str()).collect();
    println!("{} snapshots match the generated code", generated.len());
    if !changed.is_empty() {
        println!("changed: {}", changed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn remove_snapshots(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let name = path.to_string_lossy();
        if name.ends_with(".snap") || name.ends_with(".snap.new") {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
