//! Checks citations in the files of the repository.
//!
//! A statement about the service cites a row of `openapi/SOURCES.md`: by the id of a contradiction,
//! the tag of a source (`SOURCES K 20`), or a rule (`` rule `code-dir-files` ``). A citation is
//! rejected if the row does not exist. The name of a Markdown document is rejected if the document
//! is not in the repository.

use std::{collections::BTreeSet, fs};

use anyhow::{Context, Result};

use crate::outcome::Outcome;
use crate::workspace;

const SOURCES: &str = "openapi/SOURCES.md";
const EXTENSIONS: [&str; 13] = [
    "rs", "md", "yaml", "yml", "py", "ts", "mjs", "go", "java", "toml", "sh", "sql", "json",
];
/// Documents that name files of other repositories. File names in these documents are not checked.
const EVIDENCE: [&str; 2] = [SOURCES, "openapi/attested/"];

pub fn run() -> Result<Outcome> {
    let root = workspace::root();
    // Includes files that are not committed yet.
    let files = workspace::files(&root, &["--cached", "--others", "--exclude-standard"])?;
    let sources = fs::read_to_string(root.join(SOURCES)).context(SOURCES)?;
    let known = Known::new(&sources, &files);
    let mut broken = 0;
    for path in &files {
        let is_text = path
            .rsplit_once('.')
            .is_some_and(|(_, end)| EXTENSIONS.contains(&end));
        if !is_text || path.contains("/snapshots/") {
            continue;
        }
        // Skips deleted files, which git lists until the deletion is committed.
        let Ok(text) = fs::read_to_string(root.join(path)) else {
            continue;
        };
        for (line, message) in known.broken_citations(path, &text) {
            println!("{path}:{line}: {message}");
            broken += 1;
        }
    }
    Ok(match broken {
        0 => Outcome::Passed,
        count => Outcome::Failed(format!("{count} citations name no row or document")),
    })
}

/// Rows and documents that a citation may name.
struct Known<'a> {
    ids: BTreeSet<&'a str>,
    tags: BTreeSet<&'a str>,
    rules: BTreeSet<&'a str>,
    documents: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn new(sources: &'a str, files: &'a BTreeSet<String>) -> Self {
        let mut ids = BTreeSet::new();
        let mut tags = BTreeSet::new();
        let mut rules = BTreeSet::new();
        for line in sources.lines() {
            let Some(cell) = line
                .strip_prefix("| ")
                .and_then(|row| row.split(" | ").next())
            else {
                continue;
            };
            if is_id(cell) {
                ids.insert(cell);
            } else if let Some(rule) = cell.strip_prefix('`') {
                rules.insert(rule.trim_end_matches('`'));
            } else if let Some(names) = cell.strip_prefix("**") {
                tags.extend(tags_of(names));
            }
        }
        let documents = files.iter().map(String::as_str);
        let documents = documents.filter(|name| name.ends_with(".md")).collect();
        Self {
            ids,
            tags,
            rules,
            documents,
        }
    }

    /// Returns the line number and the reason for each broken citation.
    fn broken_citations(&self, path: &str, text: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let mut add = |message| found.push((number + 1, message));
            for id in words(line).filter(|word| is_id(word) && !self.ids.contains(word)) {
                add(format!("{SOURCES} has no row {id}"));
            }
            for tag in cited_tags(line).filter(|tag| !self.tags.contains(tag)) {
                add(format!("{SOURCES} has no source {tag}"));
            }
            if path.starts_with("crates/") {
                for rule in cited_rules(line).filter(|rule| !self.rules.contains(rule)) {
                    add(format!("{SOURCES} has no rule {rule}"));
                }
            }
            if EVIDENCE.iter().any(|evidence| path.starts_with(evidence)) {
                continue;
            }
            for document in documents(path, line).filter(|name| !self.has_document(name)) {
                add(format!("{document} is not in the repository"));
            }
        }
        found
    }

    /// Returns true if the repository contains a document with this path, or with a path that ends
    /// with it.
    fn has_document(&self, name: &str) -> bool {
        let name = name.trim_start_matches("../").trim_start_matches("./");
        self.documents.iter().any(|document| {
            let before = document.strip_suffix(name);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        })
    }
}

/// Returns true if a word is the id of a contradiction: `D-` and digits.
fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix("D-");
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the tags in the first cell of a legend row, such as `O-6d9**, **O-f3d**`. `F1 .. F5`
/// denotes five tags.
fn tags_of(names: &str) -> Vec<&str> {
    const GUIDES: [&str; 5] = ["F1", "F2", "F3", "F4", "F5"];
    if names.starts_with("F1 .. F5") {
        return GUIDES.to_vec();
    }
    names
        .split(['*', ',', ' '])
        .filter(|name| !name.is_empty())
        .collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
}

/// Returns the tags that follow a mention of SOURCES.md, as in `SOURCES C3`, `openapi/SOURCES.md, K
/// 20 and F1`.
fn cited_tags(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("SOURCES").flat_map(|(at, name)| {
        let rest = &line[at + name.len()..];
        let rest = rest.strip_prefix(".md").unwrap_or(rest);
        let rest = rest.strip_prefix('`').unwrap_or(rest);
        let rest = rest.strip_prefix(',').unwrap_or(rest);
        let rest = rest.strip_prefix(' ').unwrap_or_default();
        let end = rest.find([')', '.', ':', '|']).unwrap_or(rest.len());
        let cited = words(&rest[..end]).filter(|word| !word.is_empty());
        let joins = |word: &str| {
            ["and", "or", "to"].contains(&word) || word.bytes().all(|b| b.is_ascii_digit())
        };
        let cited = cited.take_while(move |word| joins(word) || is_id(word) || is_tag(word));
        cited.filter(|word| is_tag(word))
    })
}

/// Returns true if a word is the tag of a source: a capital letter, optionally with a number or a
/// revision, such as `O`, `F1` and `O-6d9`.
fn is_tag(word: &str) -> bool {
    let Some(rest) = word.strip_prefix(|c: char| c.is_ascii_uppercase()) else {
        return false;
    };
    let is_number = rest.bytes().all(|b| b.is_ascii_digit());
    !is_id(word) && (is_number || rest.starts_with('-'))
}

/// Returns the names of rules, which follow the word `rule`.
fn cited_rules(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("rule `").filter_map(|(at, word)| {
        let (rule, _) = line[at + word.len()..].split_once('`')?;
        Some(rule)
    })
}

/// Returns the Markdown documents that a line names. In Rust files, only comments are searched,
/// because tests contain names of files that they write.
fn documents<'a>(path: &str, line: &'a str) -> impl Iterator<Item = &'a str> {
    let text = match path.ends_with(".rs") {
        true => comment(line).unwrap_or_default(),
        false => line,
    };
    let names = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-./:".contains(c));
    let names = names.filter(|name| !name.contains("//"));
    let names = names.map(|name| name.trim_end_matches(['.', ':', '/']));
    names.filter(|name| name.len() > ".md".len() && name.ends_with(".md"))
}

/// Returns the comment at the end of a line. Slashes in a string literal do not begin a comment.
fn comment(line: &str) -> Option<&str> {
    let mut slashes = line.match_indices("//");
    let (at, _) = slashes.find(|(at, _)| line[..*at].matches('"').count().is_multiple_of(2))?;
    Some(&line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
        | tag | document |\n|---|---|\n| **O** | reference |\n| **O-6d9**, **O-f3d** | older |\n\
        | **F1 .. F5** | guides |\n| **K** | skills |\n\n| id | why |\n|---|---|\n| D-01 | x |\n\n\
        | rule | basis |\n|---|---|\n| `obs-paths` | refusal |\n";

    fn messages(path: &str, text: &str) -> Vec<(usize, String)> {
        let files = ["openapi/SOURCES.md", "crates/a/GUIDE.md", "README.md"];
        let files = files.map(str::to_owned).into();
        Known::new(TABLE, &files).broken_citations(path, text)
    }

    #[test]
    fn citations_of_rows_and_documents_pass() {
        for text in [
            "/// As (`openapi/SOURCES.md`, D-01) says.",
            "// SOURCES F5, K 20 and O-f3d; SOURCES has more.",
            "// See SOURCES.md. The rule `obs-paths` is one.",
            "//! [Guide](../../crates/a/GUIDE.md), a/GUIDE.md, GUIDE.md: all of them.",
            "let url = \"https://example.com/a.md\"; // README.md",
            "fs::write(\"other.md\", ID-99)",
            "/// <https://example.com/other.md>",
        ] {
            assert_eq!(messages("crates/a/src/lib.rs", text), [], "{text}");
        }
    }

    #[test]
    fn citations_of_missing_rows_and_documents_are_found() {
        let id = format!("D-{}", 99);
        let name = "SOURCES";
        for (text, message) in [
            (
                format!("a\n// by ({id})"),
                format!("{SOURCES} has no row {id}"),
            ),
            (format!("\"{id}\""), format!("{SOURCES} has no row {id}")),
            (format!("// {name} Z"), format!("{SOURCES} has no source Z")),
            (
                format!("// (`{name}.md`, D-01, K 7 and F6)"),
                format!("{SOURCES} has no source F6"),
            ),
            (
                format!("// {name}, O-zzz"),
                format!("{SOURCES} has no source O-zzz"),
            ),
            (
                "// rule `no-rule`".to_owned(),
                format!("{SOURCES} has no rule no-rule"),
            ),
            (
                "/// See notes.md.".to_owned(),
                "notes.md is not in the repository".to_owned(),
            ),
            (
                "// a/README.md".to_owned(),
                "a/README.md is not in the repository".to_owned(),
            ),
            (
                "// DE.md".to_owned(),
                "DE.md is not in the repository".to_owned(),
            ),
        ] {
            let line = text.lines().count();
            assert_eq!(
                messages("crates/a/src/lib.rs", &text),
                [(line, message)],
                "{text}"
            );
        }
    }

    #[test]
    fn evidence_names_documents_of_other_repositories() {
        let text = "K `known-issues.md`";
        assert_eq!(messages("openapi/attested/evidence.md", text), []);
        assert_eq!(messages("openapi/README.md", text).len(), 1);
    }
}
