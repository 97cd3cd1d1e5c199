//! `cargo xtask dist`: what a release of the description consists of.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{docs, regenerate, tools::redocly, workspace};

const SUMS: &str = "SHA256SUMS";

/// Makes `target/dist` anew: the description as one JSON file, the reference as one HTML
/// page, what changed, and the sums of the three. The same commit gives the same bytes.
pub fn run() -> Result<ExitCode> {
    let directory = workspace::root().join("target/dist");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let description = regenerate::read(&workspace::description())?;
    let version = description
        .pointer("/info/version")
        .and_then(|version| version.as_str())
        .context("the description has no version")?;

    let named = |kind: &str| directory.join(format!("modelarts-openapi-{version}.{kind}"));
    redocly::make(
        &["bundle", "--ext", "json"],
        &workspace::description(),
        &named("json"),
    )?;
    docs::build(&named("html"))?;
    let changes = workspace::root().join("openapi/CHANGELOG.md");
    fs::copy(changes, directory.join("CHANGELOG.md"))?;
    let sums = sums(&directory)?;
    fs::write(directory.join(SUMS), &sums)?;
    print!("{sums}");
    Ok(ExitCode::SUCCESS)
}

/// As `sha256sum` writes them, in the order of the names.
fn sums(directory: &Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let mut sums = String::new();
    for name in names {
        let sum = Sha256::digest(fs::read(directory.join(&name))?);
        let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        sums += &format!("{hex}  {}\n", name.display());
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_sha256sum() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            fs::write(directory.path().join(name), "abc").unwrap();
        }
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(
            sums(directory.path()).unwrap(),
            format!("{sum}  a\n{sum}  b\n")
        );
    }
}
