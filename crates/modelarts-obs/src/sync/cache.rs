//! Cache of checksums, so that unchanged files are not read again.
//!
//! A table is one file in the cache directory. It is written under a temporary name and renamed. If
//! two processes write a table at the same time, the later file replaces the earlier file. A table
//! that cannot be read counts as empty, and a failure to write is only logged.

use std::{
    collections::HashMap,
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::sync::digest::{self, Stamp};

/// Age after which files of the cache are deleted.
const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Number of temporary files that this process has written, which makes their names unique.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// SHA-256 of a local file, valid while the file has this stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) stamp: Stamp,
    pub(crate) sha256: String,
}

/// SHA-256 of an object, valid while the object has this entity tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRecord {
    pub(crate) etag: String,
    pub(crate) sha256: String,
}

/// Checksums by path. A changed table is saved when it is dropped.
pub(crate) struct Table<V: Serialize> {
    /// Path of the file; `None` if the connection has no cache directory.
    path: Option<PathBuf>,
    entries: Mutex<HashMap<String, V>>,
    changed: AtomicBool,
}

impl<V: Clone + PartialEq + Serialize + DeserializeOwned> Table<V> {
    /// Reads the table with this name. Blocks.
    pub(crate) fn open(cache: Option<&Path>, name: &str) -> Self {
        let path = cache.map(|cache| file(cache, "tables", name));
        let bytes = path.as_ref().and_then(|path| fs::read(path).ok());
        let entries = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self {
            path,
            entries: Mutex::new(entries.unwrap_or_default()),
            changed: AtomicBool::new(false),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<V> {
        self.entries.lock().get(key).cloned()
    }

    pub(crate) fn insert(&self, key: &str, value: V) {
        let mut entries = self.entries.lock();
        if entries.get(key) != Some(&value) {
            entries.insert(key.to_owned(), value);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Removes the entries for which the condition is `false`.
    pub(crate) fn retain(&self, condition: impl Fn(&str) -> bool) {
        let mut entries = self.entries.lock();
        let before = entries.len();
        entries.retain(|key, _| condition(key));
        if entries.len() < before {
            self.changed.store(true, Ordering::Relaxed);
        }
    }
}

impl<V: Serialize> Drop for Table<V> {
    fn drop(&mut self) {
        let Some(path) = &self.path else { return };
        if !self.changed.load(Ordering::Relaxed) {
            return;
        }
        match write(path, &*self.entries.lock()) {
            Ok(()) => remove_old(path),
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "the cache was not written");
            }
        }
    }
}

/// Returns the path of a file in the cache. `name` may contain any characters, because the file
/// name is a hash of it.
pub(crate) fn file(cache: &Path, kind: &str, name: &str) -> PathBuf {
    let name = digest::sha256(name.as_bytes());
    cache.join(kind).join(&name[..32])
}

/// Replaces a file atomically: other processes read either the old or the new file. A large table
/// is not converted in memory.
fn write(path: &Path, table: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let replaced = fs::File::create(&temporary).map(BufWriter::new).and_then(|mut file| {
        serde_json::to_writer(&mut file, table)?;
        file.flush()?;
        fs::rename(&temporary, path)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Removes the files of the cache whose last write is older than [`MAX_AGE`].
fn remove_old(table: &Path) {
    let directories = ["tables", "uploads", "downloads"];
    let Some(cache) = table.parent().and_then(Path::parent) else {
        return;
    };
    let now = SystemTime::now();
    for directory in directories {
        let entries = fs::read_dir(cache.join(directory));
        for entry in entries.into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.map(|modified| now.duration_since(modified).unwrap_or_default());
            if age.is_ok_and(|age| age > MAX_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(etag: &str) -> ObjectRecord {
        ObjectRecord { etag: etag.to_owned(), sha256: "00".to_owned() }
    }

    #[test]
    fn a_table_is_saved_and_read_again() {
        let cache = tempfile::tempdir().unwrap();
        let open = || Table::<ObjectRecord>::open(Some(cache.path()), "bucket");
        let first = open();
        first.insert("a", record("1"));
        first.insert("b", record("2"));
        drop(first);
        let second = open();
        assert_eq!(second.get("a"), Some(record("1")));
        second.retain(|key| key == "b");
        drop(second);
        assert_eq!((open().get("a"), open().get("b")), (None, Some(record("2"))));
        let other = Table::<ObjectRecord>::open(Some(cache.path()), "other");
        assert_eq!(other.get("b"), None);
        assert_eq!(fs::read_dir(cache.path().join("tables")).unwrap().count(), 1);
    }

    #[test]
    fn a_corrupt_table_counts_as_empty() {
        let cache = tempfile::tempdir().unwrap();
        let path = file(cache.path(), "tables", "bucket");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for bytes in [&b"{\"a\":{\"etag\""[..], b"[1]", b"\xff"] {
            fs::write(&path, bytes).unwrap();
            let table = Table::<ObjectRecord>::open(Some(cache.path()), "bucket");
            assert_eq!(table.get("a"), None);
            table.insert("a", record("1"));
            drop(table);
            let table = Table::<ObjectRecord>::open(Some(cache.path()), "bucket");
            assert_eq!(table.get("a"), Some(record("1")));
        }
    }

    #[test]
    fn a_table_without_a_directory_is_not_kept() {
        let table = Table::open(None, "bucket");
        table.insert("a", record("1"));
        assert_eq!(table.get("a"), Some(record("1")));
        drop(table);
        assert_eq!(Table::<ObjectRecord>::open(None, "bucket").get("a"), None);
    }

    #[test]
    fn old_files_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        let old = file(cache.path(), "uploads", "old");
        fs::create_dir_all(old.parent().unwrap()).unwrap();
        let times = fs::FileTimes::new().set_modified(SystemTime::now() - MAX_AGE * 2);
        fs::File::create(&old).unwrap().set_times(times).unwrap();
        let new = file(cache.path(), "uploads", "new");
        fs::write(&new, "").unwrap();
        let table = Table::open(Some(cache.path()), "bucket");
        table.insert("a", record("1"));
        drop(table);
        assert_eq!((old.exists(), new.exists()), (false, true));
    }
}
