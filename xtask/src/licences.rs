//! `cargo xtask licences`: the licences of what the published crates depend on.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use spdx::{Expression, ParseMode};

use crate::{markdown, metadata::Metadata, workspace};

const DOCUMENT: &str = "THIRD-PARTY.md";

/// The licences of this workspace. What can be had under one of them needs no mention.
const OURS: [&str; 2] = ["Apache-2.0", "MIT"];

/// Further licences that a dependency may have: none of them asks anything of a program beyond
/// naming it, but for MPL-2.0, which the document explains.
const ADMITTED: [&str; 6] = [
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

const BEGIN: &str = "<!-- cargo xtask licences: begin -->\n";
const END: &str = "<!-- cargo xtask licences: end -->\n";

/// Writes the table between its marks; with `check`, fails when it is another one.
pub fn run(check: bool) -> Result<ExitCode> {
    let file = workspace::root().join(DOCUMENT);
    let before = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let metadata = Metadata::read_with_dependencies(&workspace::root())?;
    let after = markdown::between(&before, BEGIN, END, &table(&metadata.licences())?)
        .with_context(|| format!("{DOCUMENT} lacks the marks {BEGIN}and {END}"))?;
    if before == after {
        println!("{DOCUMENT} lists the licences of the dependencies");
        return Ok(ExitCode::SUCCESS);
    }
    if check {
        println!("{DOCUMENT} is not that of the dependencies; run `cargo xtask licences`");
        return Ok(ExitCode::FAILURE);
    }
    fs::write(&file, after)?;
    println!("{DOCUMENT} was rewritten");
    Ok(ExitCode::SUCCESS)
}

/// A row for each licence that is not ours.
fn table([linked, built]: &[BTreeMap<&str, &str>; 2]) -> Result<String> {
    let mut rows: BTreeMap<&str, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for (index, packages) in [linked, built].into_iter().enumerate() {
        for (name, licence) in packages {
            if !is_admitted(name, licence)? {
                rows.entry(licence).or_default()[index].insert(name);
            }
        }
    }
    let joined = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(licence, [linked, built])| [licence.to_owned(), joined(linked), joined(built)])
        .collect();
    let heads = ["licence", "in programs", "only in the build"];
    Ok(markdown::table(heads, &rows))
}

/// True for licences like ours, false for others that are admitted.
fn is_admitted(package: &str, licence: &str) -> Result<bool> {
    // Older packages separate choices by a slash.
    let expression = Expression::parse_mode(licence, ParseMode::LAX)
        .with_context(|| format!("{package} has the licence {licence:?}"))?;
    let satisfied = |admitted: &[&[&str]]| {
        expression.evaluate(|part| {
            let name = part.license.id().map(|id| id.name);
            let listed = name.is_some_and(|name| admitted.iter().any(|it| it.contains(&name)));
            listed && part.addition.is_none()
        })
    };
    if satisfied(&[&OURS]) {
        return Ok(true);
    }
    if satisfied(&[&OURS, &ADMITTED]) {
        return Ok(false);
    }
    bail!("{package} has the licence {licence}, which xtask/src/licences.rs does not admit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_licences_are_listed() {
        let linked = BTreeMap::from([
            ("ring", "Apache-2.0 AND ISC"),
            ("serde", "MIT OR Apache-2.0"),
            ("untrusted", "ISC"),
            ("walkdir", "Unlicense/MIT"),
            ("webpki", "ISC"),
        ]);
        let built = BTreeMap::from([("progenitor", "MPL-2.0")]);
        assert_eq!(
            table(&[linked, built]).unwrap(),
            "| licence | in programs | only in the build |\n\
             | --- | --- | --- |\n\
             | Apache-2.0 AND ISC | ring |  |\n\
             | ISC | untrusted, webpki |  |\n\
             | MPL-2.0 |  | progenitor |\n"
        );
    }

    #[test]
    fn a_licence_that_is_not_admitted_is_refused() {
        for licence in [
            "GPL-3.0-only",
            "MIT AND AGPL-3.0-only",
            "MIT WITH LLVM-exception",
        ] {
            assert_eq!(
                is_admitted("a", licence).unwrap_err().to_string(),
                format!("a has the licence {licence}, which xtask/src/licences.rs does not admit")
            );
        }
        let error = is_admitted("a", "").unwrap_err();
        assert_eq!(error.to_string(), "a has the licence \"\"");
    }
}
