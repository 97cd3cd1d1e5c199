//! Checks links in the Markdown documents of the repository. A link to the repository must lead to
//! an existing file, folder or heading.
//!
//! Registries and the API documentation also show the documents of packages, where relative links
//! do not work. In these documents, a link to another file must be the address of the file in the
//! repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::Result;

use crate::outcome::Outcome;
use crate::{markdown, workspace};

/// Address of the repository.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// Folder of the packages.
const PACKAGES: &str = "crates/";

pub fn run() -> Result<Outcome> {
    let broken = repository()?.broken_links();
    for message in &broken {
        println!("{message}");
    }
    Ok(match broken.len() {
        0 => Outcome::Passed,
        count => Outcome::Failed(format!("{count} links are broken")),
    })
}

/// Reads the files of the repository, including those that are not committed yet.
fn repository() -> Result<Repository> {
    let root = workspace::root();
    let files = workspace::files(&root, &["--cached", "--others", "--exclude-standard"])?;
    // git lists a deleted file until its deletion is committed.
    let files: BTreeSet<_> = files
        .into_iter()
        .filter(|file| root.join(file).exists())
        .collect();
    let mut documents = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".md")) {
        documents.insert(file.clone(), fs::read_to_string(root.join(file))?);
    }
    Ok(Repository { files, documents })
}

struct Repository {
    /// Paths of all files.
    files: BTreeSet<String>,
    /// The text of each document, by its path.
    documents: BTreeMap<String, String>,
}

impl Repository {
    /// Returns a message for each broken link.
    fn broken_links(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (document, text) in &self.documents {
            for target in markdown::targets(&markdown::without_code_blocks(text)) {
                if let Err(reason) = self.check(document, target) {
                    broken.push(format!("{document}: {target} {reason}"));
                }
            }
        }
        broken
    }

    /// Checks a link of a document.
    fn check(&self, document: &str, target: &str) -> Result<(), String> {
        let (file, heading) = match target.split_once('#') {
            Some((file, heading)) => (file, Some(heading)),
            None => (target, None),
        };
        let file = match file.strip_prefix(REPOSITORY) {
            // A branch is missing where the link leads to the start page of the repository.
            Some("") => return Ok(()),
            Some(rest) => {
                let file = ["/blob/HEAD/", "/tree/HEAD/"];
                let file = file.iter().find_map(|branch| rest.strip_prefix(branch));
                let rule = "must name the branch HEAD, as in /blob/HEAD/README.md";
                file.ok_or(rule)?.to_owned()
            }
            None if file.contains(':') => return Ok(()),
            None if file.is_empty() => document.to_owned(),
            None if document.starts_with(PACKAGES) => {
                let absolute = resolve(document, target);
                return Err(format!(
                    "must be {REPOSITORY}/blob/HEAD/{absolute}, because a package has no relative \
                     links"
                ));
            }
            None => resolve(document, file),
        };
        if !self.has(&file) {
            return Err("is not in the repository".to_owned());
        }
        match (heading, self.documents.get(&file)) {
            (Some(heading), Some(text)) if !markdown::anchors(text).contains(heading) => {
                Err(format!("names no heading of {file}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if the repository has this file or folder.
    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        self.files.contains(path) || self.files.iter().any(|file| file.starts_with(&inside))
    }
}

/// Returns the path in the repository of a relative link.
fn resolve(document: &str, target: &str) -> String {
    let mut path: Vec<_> = document.split('/').collect();
    path.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_of_all_documents_lead_somewhere() {
        let repository = repository().unwrap();
        assert_eq!(repository.broken_links(), [""; 0]);
        assert!(repository.documents.contains_key("README.md"));
    }

    /// Returns the messages about one document, in a repository with a few files.
    fn messages(document: &str, text: &str) -> Vec<String> {
        let mut documents = BTreeMap::from([
            (
                "README.md".to_owned(),
                "# Title\n\n## A `b`, c\n".to_owned(),
            ),
            ("crates/a/README.md".to_owned(), String::new()),
        ]);
        documents.insert(document.to_owned(), text.to_owned());
        let mut files: BTreeSet<_> = documents.keys().cloned().collect();
        files.insert("crates/a/src/lib.rs".to_owned());
        let repository = Repository { files, documents };
        repository.broken_links()
    }

    #[test]
    fn files_folders_and_headings_are_found() {
        let text = "[a](../README.md#a-b-c), [b](x.md), [c](../crates/a/src), [d](../crates/a/), \
                    [e](#here), [f](https://example.com/none.md#x), [g](mailto:a@example.com)\n\n\
                    ```text\n[h](none.md)\n```\n\n# Here\n";
        assert_eq!(messages("docs/x.md", text), [""; 0]);
        let text = format!(
            "[a]({REPOSITORY}), [b]({REPOSITORY}/blob/HEAD/README.md#title), \
             [c]({REPOSITORY}/tree/HEAD/crates/a)"
        );
        assert_eq!(messages("crates/a/README.md", &text), [""; 0]);
    }

    #[test]
    fn links_to_missing_files_and_headings_are_reported() {
        let text = format!(
            "[a](none.md), [b](../README.md#none), [c](#none), [d]({REPOSITORY}/blob/HEAD/none), \
             [e]({REPOSITORY}/blob/main/README.md)"
        );
        assert_eq!(
            messages("docs/x.md", &text),
            [
                "docs/x.md: none.md is not in the repository".to_owned(),
                "docs/x.md: ../README.md#none names no heading of README.md".to_owned(),
                "docs/x.md: #none names no heading of docs/x.md".to_owned(),
                format!("docs/x.md: {REPOSITORY}/blob/HEAD/none is not in the repository"),
                format!(
                    "docs/x.md: {REPOSITORY}/blob/main/README.md must name the branch HEAD, as in \
                     /blob/HEAD/README.md"
                ),
            ]
        );
    }

    #[test]
    fn a_document_of_a_package_has_no_relative_links() {
        let of_packages = |file: &str| {
            format!(
                "must be {REPOSITORY}/blob/HEAD/{file}, because a package has no relative links"
            )
        };
        assert_eq!(
            messages(
                "crates/a/README.md",
                "[a](../../README.md), [b](src/lib.rs#x), [c](b.md)"
            ),
            [
                format!(
                    "crates/a/README.md: ../../README.md {}",
                    of_packages("README.md")
                ),
                format!(
                    "crates/a/README.md: src/lib.rs#x {}",
                    of_packages("crates/a/src/lib.rs#x")
                ),
                format!("crates/a/README.md: b.md {}", of_packages("crates/a/b.md")),
            ]
        );
    }
}
