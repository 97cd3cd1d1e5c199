//! `cargo xtask codegen`: regenerates or checks the snapshots of the generated code.

use std::{
    env, fs,
    path::{self, Path},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    codegen::{self, Piece},
    snapshots, workspace,
};

/// Reads and parses the description.
pub fn read(description: &Path) -> Result<Value> {
    let yaml =
        fs::read_to_string(description).with_context(|| description.display().to_string())?;
    codegen::parse(&yaml).with_context(|| file_name(description))
}

/// Generates the code of the description in a file.
pub fn generate(description: &Path) -> Result<Vec<Piece>> {
    codegen::generate(&read(description)?).with_context(|| file_name(description))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// Fails if the snapshots differ from the code that is generated from the description.
pub fn check(description: &Path, directory: &Path) -> Result<ExitCode> {
    let pieces = generate(description)?;
    let difference = snapshots::compare(directory, &pieces)?;
    if difference.is_none() {
        println!(
            "{} snapshots are what the description compiles to",
            pieces.len()
        );
        return Ok(ExitCode::SUCCESS);
    }
    print!("{}", difference.report());
    println!("run `cargo xtask codegen` and commit the result with the description");
    Ok(ExitCode::FAILURE)
}

/// Rewrites the snapshots and prints the changes.
pub fn rewrite(description: &Path, directory: &Path) -> Result<ExitCode> {
    if !insta_writes() {
        return again();
    }
    let pieces = generate(description)?;
    let before = snapshots::compare(directory, &pieces)?;
    snapshots::write(&path::absolute(directory)?, &pieces)?;
    let after = snapshots::compare(directory, &pieces)?;
    anyhow::ensure!(
        after.is_none(),
        "the snapshots just written are not the generated file\n{}",
        after.report()
    );

    let changed: Vec<_> = before.changed.into_iter().map(|c| c.name).collect();
    let kept = pieces.len() - before.added.len() - changed.len();
    for (what, names) in [
        ("added", before.added),
        ("changed", changed),
        ("removed", before.orphans),
    ] {
        if !names.is_empty() {
            println!("{} {what}: {}", names.len(), names.join(", "));
        }
    }
    println!("{kept} as before");
    Ok(ExitCode::SUCCESS)
}

fn insta_writes() -> bool {
    let says = |name: &str, value: &Path| env::var_os(name).is_some_and(|set| *set == *value);
    snapshots::WRITING
        .iter()
        .all(|(name, value)| says(name, Path::new(value)))
        && says("INSTA_WORKSPACE_ROOT", &workspace::root())
}

/// Restarts this program with the environment variables that insta needs, because a program cannot
/// change its own environment safely.
fn again() -> Result<ExitCode> {
    let status = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .envs(snapshots::WRITING)
        .env("INSTA_WORKSPACE_ROOT", workspace::root())
        .status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
