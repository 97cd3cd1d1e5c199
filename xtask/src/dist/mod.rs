//! `cargo xtask dist`: builds a release of the description in `target/dist`, as a folder and as an
//! archive with checksums. `cargo xtask dist notices` writes the licences for the Python package.

mod archive;
mod files;
mod notices;

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{codegen, docs, json, workspace};

/// Creates `target/dist`: a folder with the description in all its forms and its documents, and an
/// archive of this folder. The same commit produces the same bytes; `check` verifies that.
pub fn run(check: bool) -> Result<ExitCode> {
    let directory = workspace::root().join("target/dist");
    let sums = make(&directory)?;
    if check {
        let again = make(&directory)?;
        ensure!(sums == again, "made twice, and not the same:\n{sums}and\n{again}");
    }
    print!("{sums}");
    Ok(ExitCode::SUCCESS)
}

/// Writes the licences of the packages in the programs to a file of the Python package.
pub fn notices() -> Result<()> {
    notices::write(&workspace::root().join("crates/modelarts-python/THIRD-PARTY-NOTICES.txt"))
}

/// Builds the release, and returns the checksums of its files and of the archive.
fn make(directory: &Path) -> Result<String> {
    ensure!(json::run(true)? == ExitCode::SUCCESS, "a file of the description is outdated");
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    let description = codegen::read(&workspace::description())?;
    let version = description
        .pointer("/info/version")
        .and_then(|version| version.as_str())
        .context("the description has no version")?;
    let name = format!("modelarts-openapi-{version}");
    let release = directory.join(&name);

    files::copy(&workspace::root(), &release)?;
    docs::build(&release.join("modelarts.html"))?;
    files::links_hold(&release)?;
    let sums = archive::sums(&release)?;
    fs::write(release.join(archive::SUMS), &sums)?;

    let archive = directory.join(format!("{name}.tar.gz"));
    archive::write(&release, &name, &archive)?;
    let sum = archive::sum(directory, &archive)?;
    fs::write(archive.with_added_extension("sha256"), &sum)?;
    Ok(sums + &sum)
}
