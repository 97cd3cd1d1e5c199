//! Joining of the snapshots into the generated file.
//!
//! A build script without the generator includes this file directly, so the file depends only on
//! the standard library.

use std::{collections::BTreeMap, fs, io::Result, path::Path};

/// Kinds of snapshots in the order of the generated file, each with the text before and after it.
/// The snapshots of a kind are named after it, such as `types.Algorithms`.
const KINDS: [(&str, &str, &str); 11] = [
    ("client", "", ""),
    ("tables", "", ""),
    ("error_codes", "", ""),
    ("causes", "", ""),
    ("events", "", ""),
    ("fields", "", ""),
    ("request_path", "", ""),
    ("schemas", "", ""),
    ("types", "/// The types of requests and answers.\npub mod types {\n", ""),
    ("builders", "/// Builders of the types that requests need.\npub mod builder {\n", "}\n}\n"),
    ("operations", "/// Builders of the calls, one per operation.\npub mod builder {\n", "}\n"),
];

/// Joins the texts of all snapshots into the generated file.
pub fn join(snapshots: &BTreeMap<String, String>) -> String {
    let mut joined = String::new();
    for (kind, before, after) in KINDS {
        joined += before;
        for (name, text) in snapshots {
            if name.split('.').next() == Some(kind) {
                joined += text;
            }
        }
        joined += after;
    }
    joined
}

/// Reads the texts of all snapshots in a directory, without the headers that insta adds.
pub fn read(directory: &Path) -> Result<BTreeMap<String, String>> {
    let mut snapshots = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        // Pending snapshots end with `.snap.new`.
        if path.extension().is_none_or(|extension| extension != "snap") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let stored = fs::read_to_string(&path)?;
        let header = stored.strip_prefix("---\n");
        let text = header.and_then(|rest| rest.split_once("\n---\n"));
        let text = text.map_or(stored.as_str(), |(_, text)| text);
        snapshots.insert(name.into_owned(), text.to_owned());
    }
    Ok(snapshots)
}
