//! `cargo xtask clients`: runs the commands of `openapi/README.md`. For each language, they
//! generate a client, check its types and run a program of `openapi/clients` that calls the
//! emulator through the client.

mod awkward;
mod commands;
pub mod emulator;
mod first_job;
mod folder;
mod generator_table;
mod generators;
mod languages;
mod official;
mod steps;
mod table;
mod vectors;

use std::{collections::BTreeMap, fs, time::Instant};

use anyhow::{Context, Result, bail};

use self::{
    folder::Folder,
    generators::GENERATORS,
    languages::{LANGUAGES, Language},
};
use crate::workspace;

/// Name that selects the official SDK, which the emulator must support.
const OFFICIAL: &str = "official";

/// Selection of the clients to generate.
pub struct Selection {
    /// Names of the languages; all languages if empty.
    pub names: Vec<String>,
    /// True to run the additional generators as well.
    pub all_generators: bool,
}

/// Generates the selected clients and prints a line for each. Returns true if all clients work.
/// With `write`, updates the tables in `openapi/README.md` instead of comparing them.
pub fn all_work(selection: &Selection, write: bool) -> Result<bool> {
    let names = &selection.names;
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
    let mut columns = BTreeMap::new();
    let mut results = BTreeMap::new();
    let mut add_line = |name: &str, start: Instant, result: Result<String>| {
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
        add_line(
            language.name,
            start,
            one(language).map(|(line, cells)| {
                results.insert(language.generator, generators::reads(&cells));
                columns.insert(language.name, cells);
                line
            }),
        );
    }
    if wanted(OFFICIAL) {
        let start = Instant::now();
        add_line(OFFICIAL, start, official::run());
    }
    if selection.all_generators {
        for generator in GENERATORS {
            let start = Instant::now();
            let result = generators::run(generator);
            if let Ok(text) = &result {
                results.insert(generator.name, text.clone());
            }
            add_line(generator.name, start, result);
        }
    }
    println!("\n{}", lines.join("\n"));
    let readme = workspace::root().join("openapi/README.md");
    if !failed && !columns.is_empty() {
        table::compare_or_write(&readme, &columns, write)?;
    }
    if !failed && selection.all_generators {
        generator_table::compare_or_write(&readme, &results, write)?;
    }
    Ok(!failed)
}

/// Returns the packages of the required programs that are not installed.
pub fn missing() -> Vec<&'static str> {
    LANGUAGES
        .iter()
        .filter(|language| !steps::is_there(language.needs.0))
        .map(|language| language.needs.1)
        .collect()
}

fn one(language: &Language) -> Result<(String, BTreeMap<&'static str, String>)> {
    steps::require(&language.needs)?;
    let readme = fs::read_to_string(workspace::root().join("openapi/README.md"))?;
    let commands = commands::of(&readme, language.name)?;
    let folder = Folder::of_client(language.name)?;
    let line = first_job::watch(&mut folder.at_root(&commands), language.name)
        .context("the commands of openapi/README.md")?;
    let cells = awkward::watch(&mut folder.at_client(language.awkward))?;
    let mut program = folder.at_client(language.vectors);
    let vectors = vectors::watch(&mut program, &folder.vectors(), language.vectors_without)?;
    Ok((format!("{line}; {vectors}"), cells))
}
