//! Rule on the number of files in a folder.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;

const MAX_FILES: usize = 15;

/// Finds folders with more than fifteen source files. Folders named `rules` are exempt, because
/// each of their files is one rule.
pub fn check(files: &BTreeSet<String>) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for file in files {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders.entry(folder).or_default().push(file);
    }
    folders
        .into_iter()
        .filter(|(folder, files)| files.len() > MAX_FILES && !folder.ends_with("/rules"))
        .map(|(folder, files)| {
            let is_head = |file: &&&String| {
                ["mod.rs", "lib.rs", "main.rs"]
                    .iter()
                    .any(|name| file.ends_with(&format!("/{name}")))
            };
            let head = files.iter().find(is_head).unwrap_or(&files[0]);
            let count = files.len();
            Finding::new(
                head,
                1,
                format!(
                    "{folder} has {count} source files, must have at most {MAX_FILES}; those of one \
                     subject go into a folder"
                ),
            )
        })
        .collect()
}
