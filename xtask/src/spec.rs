//! `cargo xtask spec`: the description compiles, and its examples fit.

mod examples;
mod json_schema;

use std::{path::Path, process::ExitCode};

use anyhow::Result;

use crate::{codegen, regenerate};

/// Prints every offence in the description.
pub fn check(description: &Path) -> Result<ExitCode> {
    let value = regenerate::read(description)?;
    let mut offences = Vec::new();
    match codegen::generate(&value) {
        Ok(pieces) => println!("compiles to {} pieces", pieces.len()),
        Err(error) => offences.push(error.to_string()),
    }
    let examples = examples::find(&value);
    println!("{} examples", examples.len());
    offences.extend(examples::check(&value, &examples)?);
    for offence in &offences {
        println!("error: {offence}");
    }
    Ok(if offences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
