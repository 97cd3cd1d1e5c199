//! `cargo xtask spec`: checks that Rust code can be generated from the description, that the
//! description complies with the rules in [`rules`], and that its examples are valid for their
//! schemas.

mod document;
mod examples;
mod json_schema;
mod offence;
mod pointer;
mod rules;

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use serde_json::Value;

use self::document::Document;
use crate::{codegen, regenerate};

/// Checks the description, and prints all offences.
pub fn check(description: &Path) -> Result<ExitCode> {
    let value = regenerate::read(description)?;
    let offences = offences(&value)?;
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

/// Returns a sentence for each offence.
pub fn offences(description: &Value) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    match codegen::generate(description) {
        Ok(pieces) => println!("compiles to {} pieces", pieces.len()),
        Err(error) => offences.push(error.to_string()),
    }
    let document = Document::new(description);
    println!(
        "{} rules on {} operations, {} parameters, {} schemas",
        rules::ALL.len(),
        document.operations.len(),
        document.parameters.len(),
        document.schemas.len(),
    );
    for rule in rules::ALL {
        let broken = (rule.check)(&document);
        offences.extend(broken.iter().map(|it| format!("{it} ({})", rule.name)));
    }
    let examples = examples::find(description);
    println!("{} examples", examples.len());
    let unfit = examples::check(description, &examples)?;
    offences.extend(unfit.iter().map(ToString::to_string));
    Ok(offences)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workspace;

    #[test]
    fn the_description_has_no_offence() {
        let description = regenerate::read(&workspace::description()).unwrap();
        assert_eq!(offences(&description).unwrap(), [""; 0]);
    }

    #[test]
    fn an_offence_names_its_rule() {
        let mut description = regenerate::read(&workspace::description()).unwrap();
        description["components"]["schemas"]["TrainingJob"]["title"] = json!("Job");
        assert_eq!(
            offences(&description).unwrap(),
            [
                "/components/schemas/TrainingJob/title: remove it: code generators make type \
                 names of titles (no-title)"
            ]
        );
    }
}
