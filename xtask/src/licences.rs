//! `cargo xtask licences`: lists the dependencies of the published crates that are available under
//! neither Apache-2.0 nor MIT, with their licences.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use spdx::{Expression, ParseMode};

use crate::{
    markdown,
    metadata::Metadata,
    workspace::{self, cargo},
};

const DOCUMENT: &str = "THIRD-PARTY.md";

/// Licences of this workspace. A dependency that is available under one of them is not listed.
const OURS: [&str; 2] = ["Apache-2.0", "MIT"];

/// Further licences that a dependency may have. They permit programs under other licences to
/// contain the dependency, on the conditions that THIRD-PARTY.md explains.
const ADMITTED: [&str; 6] = [
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// Kinds of dependencies, in the syntax of `cargo tree --edges`, whose code becomes part of a
/// program.
const LINKED: &str = "normal,no-proc-macro";

/// Kinds of dependencies, in the syntax of `cargo tree --edges`, that a build uses, including
/// procedural macros and dependencies of build scripts.
const BUILT: &str = "normal,build";

const BEGIN: &str = "<!-- cargo xtask licences: begin -->\n";
const END: &str = "<!-- cargo xtask licences: end -->\n";

/// Pairs of a package and its licence. A package has several pairs if the licences of its versions
/// differ.
type Licences = BTreeSet<(String, String)>;

/// Writes the table between its marks in the document. With `check`, fails if the table is
/// outdated.
pub fn run(check: bool) -> Result<ExitCode> {
    let file = workspace::root().join(DOCUMENT);
    let before = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let metadata = Metadata::read(&workspace::root())?;
    let packages = metadata.published();
    let packages: Vec<_> = packages.iter().map(|(name, _)| *name).collect();
    let linked = licences(&packages, LINKED)?;
    let built = licences(&packages, BUILT)?;
    let after = markdown::between(&before, BEGIN, END, &table(&linked, &built)?)
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

/// Returns the dependencies of packages of the kinds `edges`, on all platforms and with all
/// features.
///
/// `cargo metadata` would also report packages that only other members of the workspace enable.
fn licences(packages: &[&str], edges: &str) -> Result<Licences> {
    let mut command = cargo(["tree", "--locked", "--all-features", "--target", "all"]);
    command.args(["--prefix", "none", "--format", "{p}\t{l}", "--edges", edges]);
    for package in packages {
        command.args(["--package", package]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo tree failed");
    read_tree(&String::from_utf8(output.stdout)?, packages)
}

/// Parses the output of `cargo tree`, in which empty lines separate the trees of several packages.
fn read_tree(tree: &str, packages: &[&str]) -> Result<Licences> {
    let mut found = Licences::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, licence) = line
            .split_once('\t')
            .with_context(|| format!("cargo tree: {line}"))?;
        let name = package.split(' ').next().unwrap_or(package);
        if !packages.contains(&name) {
            // `(*)` marks a package whose dependencies were already printed.
            let licence = licence.trim_end_matches(" (*)");
            found.insert((name.to_owned(), licence.to_owned()));
        }
    }
    Ok(found)
}

/// Returns a table with a row for each licence other than those of this workspace. The last column
/// contains the packages that are used only at build time.
fn table(linked: &Licences, built: &Licences) -> Result<String> {
    let mut rows: BTreeMap<&str, [BTreeSet<&str>; 2]> = BTreeMap::new();
    let only_built = built.difference(linked).collect();
    for (index, packages) in [linked.iter().collect(), only_built]
        .into_iter()
        .enumerate()
    {
        let packages: Vec<&(String, String)> = packages;
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
    let heads = [
        "licence expression",
        "linked into programs",
        "used only at build time",
    ];
    Ok(markdown::table(heads, &rows))
}

/// Returns true for a licence of this workspace, and false for another admitted licence. Fails for
/// all other licences.
fn is_admitted(package: &str, licence: &str) -> Result<bool> {
    // Lax parsing is necessary because older packages separate alternatives by a slash.
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
        let linked = "ours v0.1.0 (/ours)\tMIT\nring v0.17.0\tApache-2.0 AND ISC\n\
            serde v1.0.0\tMIT OR Apache-2.0\nuntrusted v0.9.0\tISC\n\n\
            walkdir v2.0.0\tUnlicense/MIT\nwebpki v0.1.0\tISC\nring v0.17.0\tApache-2.0 AND ISC (*)\n";
        let built = format!(
            "{linked}progenitor v0.15.0\tMPL-2.0\nuntrusted v0.7.0\tISC\nyoke-derive v0.8.0 (proc-macro)\tUnicode-3.0\n"
        );
        let [linked, built] = [linked, &built].map(|tree| read_tree(tree, &["ours"]).unwrap());
        assert_eq!(
            table(&linked, &built).unwrap(),
            "| licence expression | linked into programs | used only at build time |\n\
             | --- | --- | --- |\n\
             | Apache-2.0 AND ISC | ring |  |\n\
             | ISC | untrusted, webpki |  |\n\
             | MPL-2.0 |  | progenitor |\n\
             | Unicode-3.0 |  | yoke-derive |\n"
        );
    }

    #[test]
    fn a_line_without_a_licence_is_an_error() {
        let error = read_tree("ring v0.17.0", &[]).unwrap_err();
        assert_eq!(error.to_string(), "cargo tree: ring v0.17.0");
    }

    #[test]
    fn packages_that_are_not_linked_are_not_counted() {
        let found = licences(&["modelarts-api"], LINKED).unwrap();
        assert!(found.iter().any(|(name, _)| name == "progenitor-client"));
        assert!(found.iter().all(|(name, _)| name != "zlib-rs"));
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
