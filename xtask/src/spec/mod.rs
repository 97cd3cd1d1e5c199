//! `cargo xtask spec`: checks that the extensions of the description are well-formed, that the
//! description complies with the rules in [`rules`], and that Rust code can be generated from it.
//! Redocly checks examples, and rejects constructs that generators of other languages do not
//! support (`openapi/lint/redocly.yaml`).

mod document;
mod report;
mod rules;
#[cfg(test)]
mod tests;

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use serde_json::Value;

pub use self::document::{Document, Operation};
use crate::codegen;

/// Checks the description, and prints all offences.
pub fn check(description: &Path) -> Result<ExitCode> {
    let offences = offences(&codegen::read(description)?);
    for offence in &offences {
        println!("error: {offence}");
    }
    Ok(if offences.is_empty() {
        ExitCode::SUCCESS
    } else {
        println!("offences: {}", offences.len());
        ExitCode::FAILURE
    })
}

/// Returns a sentence for each offence. The rules are checked if the extensions are well-formed,
/// and the code is generated if the description complies with the rules.
pub fn offences(description: &Value) -> Vec<String> {
    let document = match Document::read(description) {
        Ok(document) => document,
        Err(offences) => return offences,
    };
    println!("{} rules on {} operations", rules::ALL.len(), document.operations.len());
    let offences = rules::offences(&document);
    if !offences.is_empty() {
        return offences;
    }
    match codegen::generate(description) {
        Ok(pieces) => {
            println!("compiles to {} pieces", pieces.len());
            Vec::new()
        }
        Err(error) => vec![error.to_string()],
    }
}
