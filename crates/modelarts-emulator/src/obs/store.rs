//! Store of objects, with its directories, buckets and temporary files.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::RwLock;
use rusqlite::Connection;
use s3s::{S3Error, S3Result, s3_error};
use tempfile::NamedTempFile;

use crate::{
    database::Database,
    files::confined_dir::ConfinedDir,
    obs::{
        keys::{may_be_bucket, no_such_bucket},
        transfer::io_error,
    },
};

/// Name of the directory of temporary files and parts, in the data directory.
const INCOMING: &str = "obs-uploads";

pub(super) struct ObjectStore {
    pub(super) root: ConfinedDir,
    pub(super) incoming: PathBuf,
    pub(super) database: Arc<Database>,
    /// Lock that is held while a file and its record are changed or read together.
    pub(super) lock: RwLock<()>,
}

impl ObjectStore {
    /// Opens the store, and removes temporary files of an emulator that was killed.
    pub(super) fn open(
        root: ConfinedDir,
        data_dir: &Path,
        database: Arc<Database>,
    ) -> io::Result<Self> {
        let store =
            Self { root, incoming: data_dir.join(INCOMING), database, lock: RwLock::new(()) };
        fs::create_dir_all(&store.incoming)?;
        for entry in fs::read_dir(&store.incoming)?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(store)
    }

    pub(super) fn bucket(&self, name: &str) -> S3Result<PathBuf> {
        if !may_be_bucket(name) {
            return Err(no_such_bucket(name));
        }
        match self.root.resolve(Path::new(name)) {
            Ok(path) if path.is_dir() => Ok(path),
            Ok(_) => Err(no_such_bucket(name)),
            Err(error) => Err(read_error(error, || no_such_bucket(name))),
        }
    }

    pub(super) fn temporary(&self) -> S3Result<NamedTempFile> {
        tempfile::Builder::new()
            // The umask of the process applies, as for files that jobs write.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&self.incoming)
            .map_err(io_error)
    }

    pub(super) fn query<R>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> S3Result<R> {
        self.database.read(look).map_err(S3Error::internal_error)
    }

    pub(super) fn write<R>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> S3Result<R> {
        self.database.write(change).map_err(S3Error::internal_error)
    }
}

/// Returns `true` if a segment of the path does not exist, or its parent is a file.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Converts an error of a read. `missing` creates the error for a missing file.
pub(super) fn read_error(error: io::Error, missing: impl FnOnce() -> S3Error) -> S3Error {
    match error.kind() {
        _ if is_missing(&error) => missing(),
        // The path leads out of the root.
        io::ErrorKind::Other => s3_error!(AccessDenied, "{error}"),
        io::ErrorKind::InvalidFilename => missing(),
        _ => io_error(error),
    }
}
