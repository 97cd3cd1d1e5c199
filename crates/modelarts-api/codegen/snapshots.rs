//! Joining of the snapshots into the generated file.
//!
//! A build script without the generator includes this file directly, so the file depends only on
//! the standard library.

use std::{
    fs,
    io::{Error, ErrorKind, Result},
    path::Path,
};

/// Joins the snapshots in a directory, in the order of their pieces.
pub fn join(directory: &Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let file = entry?.file_name();
        // Pending snapshots end with `.snap.new`.
        if let Some(name) = file.to_string_lossy().strip_suffix(".snap") {
            names.push((position(name)?, name.to_owned()));
        }
    }
    names.sort();
    let mut joined = String::new();
    for (_, name) in names {
        let stored = fs::read_to_string(directory.join(format!("{name}.snap")))?;
        joined += text(&stored);
    }
    Ok(joined)
}

/// Removes the header that insta adds before the content of a piece.
pub fn text(stored: &str) -> &str {
    stored
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(stored, |(_, text)| text)
}

/// Returns the position of a piece in the file. Schemas, operations and three tables share one
/// position each, and are sorted by name.
fn position(name: &str) -> Result<u8> {
    Ok(match name {
        "client" => 0,
        "tables" => 1,
        "error_codes" | "fields" | "request_path" => 2,
        "types.begin" => 3,
        "types.common" => 4,
        _ if name.starts_with("schema.") && !name.ends_with(".builder") => 5,
        "types.builder.begin" => 6,
        _ if name.starts_with("schema.") => 7,
        "types.end" => 8,
        "schemas" => 9,
        "operations.begin" => 10,
        "operations.common" => 11,
        _ if name.starts_with("operation.") => 12,
        "operations.end" => 13,
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!("{name}.snap is no piece of the generated file"),
            ));
        }
    })
}
