//! Contents of a directory in OBS, from which the form takes addresses.

use std::{str::FromStr, time::Duration};

use axum::Json;
use modelarts_obs::ObsPath;
use serde::Serialize;

use crate::{display, problem::Problem, site::UserRequest};

/// Maximum number of entries of a directory that are returned.
const MAX_ENTRIES: usize = 500;
/// Time limit for the list: a directory may have millions of entries.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Serialize)]
pub(super) struct Directory {
    /// Address of the directory, with a slash at its end.
    address: String,
    /// Address of the enclosing directory; `None` for a bucket.
    parent: Option<String>,
    directories: Vec<Entry>,
    files: Vec<Entry>,
    /// `true` if there are more entries.
    has_more: bool,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    address: String,
    /// Size of a file as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
}

/// Returns the contents of the directory `address`, by default of the bucket for staged files.
pub(super) async fn browse(request: UserRequest) -> Result<Json<Directory>, Problem> {
    let UserRequest { state, fields, .. } = request;
    let given = match fields.get("address") {
        Some(address) => ObsPath::from_str(&display::obs_address(address))?,
        None => ObsPath::new(state.staging.root()?.bucket(), "")?,
    };
    let bucket = state.staging.connect()?.bucket(given.bucket())?;
    let listing = tokio::time::timeout(TIMEOUT, bucket.list_directory(given.key()));
    let (mut directories, mut files) = listing.await.map_err(|_| {
        Problem::invalid("the directory has too many entries to be listed")
            .with_advice("enter its address")
    })??;
    directories.sort_unstable();
    files.sort_by(|one, other| one.key().cmp(other.key()));
    let address = |key: &str| format!("obs://{}/{key}", given.bucket());
    let name = |key: &str| key.trim_end_matches('/').rsplit('/').next().unwrap_or(key).to_owned();
    let has_more = directories.len() > MAX_ENTRIES || files.len() > MAX_ENTRIES;
    let directories = directories.into_iter().take(MAX_ENTRIES);
    let files = files.into_iter().take(MAX_ENTRIES);
    let parent = given.key().rsplit_once('/').map_or("", |(parent, _)| parent);
    Ok(Json(Directory {
        address: match given.key() {
            "" => address(""),
            key => address(&format!("{key}/")),
        },
        parent: (!given.key().is_empty()).then(|| match parent {
            "" => address(""),
            parent => address(&format!("{parent}/")),
        }),
        directories: directories
            .map(|key| Entry { name: name(&key), address: address(&key), size: None })
            .collect(),
        files: files
            .map(|file| Entry {
                name: name(file.key()),
                address: address(file.key()),
                size: Some(display::bytes(file.size())),
            })
            .collect(),
        has_more,
    }))
}
