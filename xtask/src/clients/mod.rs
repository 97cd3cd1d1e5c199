//! `cargo xtask clients`: makes a client in each language of the description, checks its
//! types, and runs the programs of `openapi/clients` over it against the emulator.

mod awkward;
pub mod emulator;
mod first_job;
mod go;
mod java;
mod languages;
mod official;
mod python;
mod signing;
mod steps;
mod table;
mod typescript;
mod vectors;

use std::{collections::BTreeMap, time::Instant};

use anyhow::{Context, Result, bail};

use self::languages::{LANGUAGES, Language};
use crate::workspace;

/// The client that is not ours, and that the emulator must satisfy nonetheless.
const OFFICIAL: &str = "official";

/// Runs the languages named, or all, prints a line for each, and says whether all work. With `write` the table
/// of awkward values in `openapi/README.md` is brought up to date instead of compared.
pub fn all_work(names: &[String], write: bool) -> Result<bool> {
    if let Some(unknown) = names
        .iter()
        .find(|name| *name != OFFICIAL && LANGUAGES.iter().all(|it| it.name != **name))
    {
        let known: Vec<_> = LANGUAGES.iter().map(|it| it.name).collect();
        bail!(
            "no client is called {unknown}; there are {}, {OFFICIAL}",
            known.join(", ")
        );
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    let mut lines = Vec::new();
    let mut failed = false;
    let mut seen = BTreeMap::new();
    let mut note = |name: &str, start: Instant, result: Result<String>| {
        let text = result.unwrap_or_else(|error| {
            failed = true;
            format!("FAILED: {error:#}")
        });
        let line = format!(
            "{name:<10}  {:>5.1} s  {text}",
            start.elapsed().as_secs_f64()
        );
        println!("{line}");
        lines.push(line);
    };
    emulator::build()?;
    for language in LANGUAGES.iter().filter(|it| wanted(it.name)) {
        let start = Instant::now();
        note(
            language.name,
            start,
            one(language).map(|(line, cells)| {
                seen.insert(language.name, cells);
                line
            }),
        );
    }
    if wanted(OFFICIAL) {
        let start = Instant::now();
        note(OFFICIAL, start, official::run());
    }
    println!("\n{}", lines.join("\n"));
    if !failed && !seen.is_empty() {
        table::bring(&workspace::root().join("openapi/README.md"), &seen, write)?;
    }
    Ok(!failed)
}

/// What is not installed and would have to be.
pub fn missing() -> Vec<&'static str> {
    LANGUAGES
        .iter()
        .filter(|language| !steps::is_there(language.needs.0))
        .map(|language| language.needs.1)
        .collect()
}

fn one(language: &Language) -> Result<(String, BTreeMap<&'static str, String>)> {
    let (program, package) = language.needs;
    if !steps::is_there(program) {
        bail!("there is no {program}; install {package}");
    }
    let directory = steps::copy_sources(language.name)?;
    let mut programs = (language.prepare)(&directory).context("before it could run")?;
    let line = first_job::watch(&mut programs.first_job, language.name)?;
    let cells = awkward::watch(&mut programs.awkward)?;
    // Java logs in with a password and has no signer.
    let without: &[&str] = if language.name == "java" {
        &["signing"]
    } else {
        &[]
    };
    let vectors = vectors::watch(&mut vectors::program(language.name, &directory)?, without)?;
    Ok((format!("{line}; {vectors}"), cells))
}
