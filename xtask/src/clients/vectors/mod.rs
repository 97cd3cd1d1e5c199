//! Test vectors of `openapi/vectors`, and the programs in other languages that run them.

// This file is shared with the tests of modelarts-ext.
#[path = "../../../../crates/modelarts-ext/tests/support/scripted_list.rs"]
mod scripted_list;
pub mod server;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use self::{
    scripted_list::ScriptedLists,
    server::{Reply, serve},
};
use super::steps;
use crate::{regenerate, workspace};

/// Files whose cases the programs do not run. Separate programs read the unusual responses, and no
/// program signs with a derived key.
const RUST_ONLY: [&str; 2] = ["awkward", "signing-scoped"];

/// Fields of a case that determine which programs run it.
#[derive(Debug, Deserialize)]
struct Case {
    /// Ability that a basic client may lack.
    needs: Option<String>,
    operation: Option<String>,
    kind: Option<String>,
    exact: Option<bool>,
}

/// Returns the cases of a file.
pub fn cases<T: DeserializeOwned>(file: &str) -> Result<Vec<T>> {
    let mut document: Value = read(file)?;
    serde_json::from_value(document["cases"].take()).with_context(|| file.to_owned())
}

fn read<T: DeserializeOwned>(file: &str) -> Result<T> {
    let text = fs::read(directory().join(file)).with_context(|| file.to_owned())?;
    serde_json::from_slice(&text).with_context(|| file.to_owned())
}

fn directory() -> PathBuf {
    workspace::root().join("openapi/vectors")
}

/// Runs a program on a copy of the files, and checks that it has run every case that applies to it.
/// The program does not run the files in `without`.
pub fn watch(program: &mut Command, copy: &Path, without: &[&str]) -> Result<String> {
    let description = workspace::root().join("target/clients/modelarts.json");
    fs::create_dir_all(workspace::root().join("target/clients"))?;
    fs::write(
        &description,
        regenerate::read(&workspace::description())?.to_string(),
    )?;
    let lines = steps::lines(
        program
            .env("MODELARTS_DESCRIPTION", description)
            .env("MODELARTS_VECTORS", copy)
            .env("MODELARTS_ENDPOINT", serve_pages()?),
    )?;
    let expected = expected(without)?;
    // `go test` prints an additional line.
    let lines: Vec<_> = lines.iter().filter(|line| is_count(line)).collect();
    ensure!(
        lines.len() == expected.len() && expected.iter().all(|line| lines.contains(&line)),
        "the vectors: printed {lines:?} instead of {expected:?}"
    );
    let counts = expected.iter().map(|line| line.trim_start_matches("ok "));
    Ok(format!(
        "vectors: {}",
        counts.collect::<Vec<_>>().join(", ")
    ))
}

/// Returns true if a line has the form `ok FILE COUNT`.
fn is_count(line: &str) -> bool {
    let words: Vec<_> = line.split(' ').collect();
    matches!(words[..], ["ok", _, count] if count.parse::<usize>().is_ok())
}

/// Returns the expected output lines of a program that runs all files except those in `without`.
fn expected(without: &[&str]) -> Result<Vec<String>> {
    let mut expected = Vec::new();
    let mut files = fs::read_dir(directory())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|it| it == "json"));
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if RUST_ONLY.contains(&&*name) || without.contains(&&*name) {
            continue;
        }
        let count = cases(&format!("{name}.json"))?
            .iter()
            .filter(|case| concerns_programs(&name, case))
            .count();
        expected.push(format!("ok {name} {count}"));
    }
    expected.sort();
    Ok(expected)
}

/// Returns true if the programs, which are basic clients, run a case.
fn concerns_programs(file: &str, case: &Case) -> bool {
    match file {
        // The programs page through events only.
        "pagination" => {
            case.needs.is_none() && case.operation.as_deref() == Some("ListTrainingJobEvents")
        }
        // The programs parse only the texts of the description.
        "events" => case.exact == Some(true) || case.kind.as_deref() == Some("Other"),
        _ => case.needs.is_none(),
    }
}

/// Starts a server with the lists of `pagination.json`. The project id of a request selects the
/// case.
fn serve_pages() -> Result<String> {
    let lists: ScriptedLists = read("pagination.json")?;
    let requests = Mutex::new(BTreeMap::<String, u64>::new());
    serve(move |target| {
        let project = server::project(target);
        let case = lists.cases.iter().find(|case| case.name == project);
        let case = case.with_context(|| format!("no list is called {project}"))?;
        let number = |name: &str| -> Result<u64> {
            let mut pairs = target.split(['?', '&']);
            let value = pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            Ok(value.with_context(|| format!("no {name}"))?.parse()?)
        };
        let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
        let request = requests.entry(project.to_owned()).or_default();
        *request += 1;
        let answer = lists.answer(case, *request, number("offset")?, number("limit")?);
        Ok(Reply::json(answer.context("no such page")?))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_is_in_the_readme_and_no_case_has_the_name_of_another() {
        let readme = fs::read_to_string(directory().join("README.md")).unwrap();
        let mut files = 0;
        for entry in fs::read_dir(directory()).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            if file.ends_with(".json") {
                let cases: Vec<Value> = cases(&file).unwrap();
                assert!(!cases.is_empty(), "{file}");
                assert!(
                    readme.contains(&format!("| [`{file}`]({file}) |")),
                    "{file}"
                );
                let mut names = BTreeSet::new();
                for case in &cases {
                    let name = (case["waiter"].as_str(), case["name"].as_str().unwrap());
                    assert!(names.insert(name), "{file}: {name:?} comes twice");
                }
                files += 1;
            }
        }
        assert!(files > 0);
    }

    #[test]
    fn a_list_is_served_page_by_page() {
        let url = serve_pages().unwrap();
        let get = |offset: u64| -> Value {
            let target =
                format!("/v2/total-as-text/training-jobs/j/events?limit=5&offset={offset}");
            let mut answer = ureq::get(format!("{url}{target}")).call().unwrap();
            answer.body_mut().read_json().unwrap()
        };
        let page = get(10);
        assert_eq!(page["total"], "12");
        let rows = page["events"].as_array().unwrap();
        let messages: Vec<_> = rows.iter().map(|row| &row["message"]).collect();
        assert_eq!(messages, ["event 11", "event 12"]);
    }

    #[test]
    fn a_program_that_leaves_out_a_case_is_refused() {
        let print = |lines: &str| {
            let mut program = Command::new("printf");
            program.arg(lines);
            program
        };
        let all = expected(&[]).unwrap();
        assert!(all.iter().any(|line| line.starts_with("ok signing ")));
        let directory = directory();
        watch(&mut print(&all.join("\\n")), &directory, &[]).unwrap();
        let error = watch(&mut print(&all[1..].join("\\n")), &directory, &[]).unwrap_err();
        assert!(
            error.to_string().starts_with("the vectors: printed"),
            "{error}"
        );
    }

    #[test]
    fn the_example_is_one_of_the_official_signer() {
        let vectors: Vec<Value> = cases("signing.json").unwrap();
        let vector = vectors
            .iter()
            .find(|vector| vector["name"] == "get-events-query")
            .unwrap();
        let says = |key: &str| vector[key].as_str().unwrap();
        let block = format!(
            "```text\naccess key   {}\nsecret key   {}\nrequest      {} {}\n\n{}\n\n{}\n\n\
             Authorization: {}\n```\n",
            says("access_key"),
            says("secret_key"),
            says("method"),
            format_args!(
                "https://{}{}",
                vector["headers"]["Host"].as_str().unwrap(),
                says("target")
            ),
            says("canonical_request"),
            says("string_to_sign"),
            says("authorization")
        );
        let text = fs::read_to_string(workspace::root().join("openapi/README.md")).unwrap();
        assert!(text.contains(&block), "openapi/README.md has not\n{block}");
    }
}
