//! `cargo xtask layers`: checks the imports between the modules of each crate, and the number of
//! files in each folder.
//!
//! For every crate of the workspace, the command reports three kinds of findings:
//!
//! - import cycles between files
//! - folders with more than fifteen source files, except folders named `rules`
//! - names that are imported from the crate root although another module defines them
//!
//! `CONTRIBUTING.md` contains tables with the order of modules of some crates. For these crates,
//! the command also reports imports that violate the order, and modules that the table lacks. Test
//! modules are exempt.

mod finding;
mod folders;
mod graph;
mod order;
mod resolve;
mod source;
mod tree;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};

use self::{finding::Finding, tree::Tree};
use crate::metadata::Metadata;

/// The document with the tables.
const DOCUMENT: &str = "CONTRIBUTING.md";

/// Checks the workspace in `root` with the tables of a document, and prints the findings.
pub fn run(root: &Path, tables: Option<&Path>) -> Result<ExitCode> {
    let document = tables.map_or_else(|| root.join(DOCUMENT), Path::to_owned);
    let document = fs::read_to_string(&document).with_context(|| document.display().to_string())?;
    let starts = Metadata::read(root)?.roots();
    let findings = check(root, &starts, &document)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("the modules of {} crates are in order", starts.len());
        return Ok(ExitCode::SUCCESS);
    }
    let count = findings.len();
    println!("{count} finding{}", if count == 1 { "" } else { "s" });
    Ok(ExitCode::FAILURE)
}

/// Checks the crates whose root files are `starts`.
fn check(root: &Path, starts: &[PathBuf], document: &str) -> Result<BTreeSet<Finding>> {
    let root = root
        .canonicalize()
        .with_context(|| root.display().to_string())?;
    let orders = order::parse(document);
    let mut findings = BTreeSet::new();
    let mut files = BTreeSet::new();
    for start in starts {
        let tree = Tree::read(&root, start)?;
        let (graph, from_root) = graph::read(&tree);
        findings.extend(from_root);
        findings.extend(graph::circles(&graph));
        for order in &orders {
            findings.extend(order.check(&graph));
        }
        files.extend(graph.into_keys());
    }
    findings.extend(folders::check(&files));
    for order in &orders {
        findings.extend(order.check_completeness(DOCUMENT, &files));
    }
    Ok(findings)
}
