//! `modelarts ls obs://…`, which lists the objects below an address.

use std::collections::BTreeMap;

use futures::{TryStreamExt, stream};
use modelarts_ext::Timestamp;
use modelarts_obs::{Obs, ObsPath};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::sync::address,
    exit_status::ExitStatus,
    failure::Failure,
    output::{self, Column, Row, local_time},
    session::Session,
};

/// An object below an address, or a directory with its objects.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ObjectRow {
    /// Name below the address. The name of a directory ends with `/`.
    name: String,
    /// Size in bytes; of a directory, of all its objects.
    bytes: u64,
    /// Number of objects.
    files: u64,
    /// Time of the last change, RFC 3339; of a directory, of the object that changed last.
    modified_at: String,
    /// Address.
    address: String,
    #[serde(skip)]
    modified: Timestamp,
}

impl Row for ObjectRow {
    const LIST: &'static str = "objects";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("NAME", |row| row.name.clone()),
        Column::new("SIZE", |row| output::bytes(row.bytes)),
        Column::new("FILES", |row| row.files.to_string()),
        Column::new("MODIFIED", |row| local_time(row.modified, "%Y-%m-%d %H:%M:%S")),
        Column::wide("ADDRESS", |row| row.address.clone()),
    ];
}

/// Prints the objects below an address. Directories are printed as one row unless `recursive` is
/// set.
pub(crate) async fn list(
    session: &Session,
    place: &str,
    recursive: bool,
) -> Result<ExitStatus, Failure> {
    let Some(path) = address("PLACE", place)? else {
        return Err(Failure::usage(format_args!(
            "ls {place}: it must be an address such as obs://my-bucket/data/; --name {place} \
             selects jobs by their names"
        )));
    };
    let obs = Obs::new(session.client().await?)?;
    let bucket = obs.bucket(path.bucket())?;
    let mut objects = Box::pin(bucket.list(path.key()));
    let mut rows: BTreeMap<String, ObjectRow> = BTreeMap::new();
    while let Some(object) = objects.try_next().await? {
        let name = name_below(path.key(), object.key(), recursive);
        let modified = object.modified().into();
        let row = rows.entry(name).or_insert_with_key(|name| ObjectRow {
            name: name.clone(),
            bytes: 0,
            files: 0,
            modified_at: String::new(),
            address: below(&path, name),
            modified,
        });
        row.bytes += object.size();
        row.files += 1;
        row.modified = row.modified.max(modified);
    }
    if rows.is_empty() && !path.key().is_empty() {
        let exists = bucket.exists(path.key()).await?;
        if exists {
            let object = bucket.head(path.key()).await?;
            let name = path.name().unwrap_or_default().to_owned();
            let (bytes, modified) = (object.size(), object.modified().into());
            let address = path.to_string();
            let row =
                ObjectRow { name, bytes, files: 1, modified_at: String::new(), address, modified };
            rows.insert(row.name.clone(), row);
        }
    }
    let rows = rows.into_values().map(|mut row| {
        row.modified_at = row.modified.to_string();
        row
    });
    let rows = stream::iter([Ok(rows.collect::<Vec<_>>())]);
    session.output.list_or_note(rows, "no objects").await?;
    Ok(ExitStatus::Success)
}

/// Returns the name of an object below a directory, or of the directory that contains it there.
fn name_below(directory: &str, key: &str, recursive: bool) -> String {
    let below = key.strip_prefix(directory.trim_end_matches('/')).unwrap_or(key);
    let below = below.trim_start_matches('/');
    match below.split_once('/') {
        Some((step, _)) if !recursive => format!("{step}/"),
        _ => below.to_owned(),
    }
}

fn below(path: &ObsPath, name: &str) -> String {
    format!("{}/{name}", path.to_string().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_below_their_directory() {
        for (directory, key, recursive, name) in [
            ("data", "data/a/b.csv", false, "a/"),
            ("data/", "data/a/b.csv", true, "a/b.csv"),
            ("data", "data/b.csv", false, "b.csv"),
            ("", "b.csv", false, "b.csv"),
        ] {
            assert_eq!(name_below(directory, key, recursive), name, "{directory} {key}");
        }
    }
}
