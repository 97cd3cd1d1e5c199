//! Downloads of objects to files.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    thread,
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::Error;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::{
    error,
    sync::{
        cache,
        digest::{Hasher, Stamp, sha256},
        files::PART_SUFFIX,
        journal::Journal,
        limits::{Limits, Permit, blocking, flatten},
        progress::Reporter,
        source::{Content, Object, RANGE},
        target,
    },
};

/// Minimum size of an object that is downloaded in ranges, in bytes.
const RANGES_FROM: u64 = 16 << 20;
/// Number of ranges of one object that are downloaded concurrently.
const RANGES: usize = 4;
/// Number of attempts to lock a file. A call that was dropped may hold the lock until a range is
/// written.
const LOCK_ATTEMPTS: u32 = 150;
/// Pause between two attempts to lock a file.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Maximum length of a file name, in bytes.
const MAX_NAME: usize = 255;

/// Downloads to the files of a directory.
pub(crate) struct Downloads {
    /// Canonical path of the directory.
    pub(crate) root: PathBuf,
    /// Address of OBS or of a local directory, which distinguishes the journals.
    pub(crate) address: String,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) reporter: Arc<Reporter>,
}

pub(crate) enum Received {
    /// The object was written to the file.
    File {
        /// Stamp of the file, if every later change of the file changes the stamp.
        stamp: Option<Stamp>,
        sha256: String,
    },
    /// The object stands for a directory, which was created if it did not exist.
    Directory,
}

/// Description of a download in its journal. A download is continued if all fields are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DownloadHeader {
    address: String,
    object: String,
    etag: String,
    size: u64,
}

/// State of a download in ranges.
struct PartialFile {
    file: File,
    hasher: Hasher,
    /// Number of bytes that have been written.
    offset: u64,
    journal: Journal,
}

impl Downloads {
    /// Downloads an object to the file with this name in the directory.
    pub(crate) async fn receive(&self, name: &str, object: &Object) -> Result<Received, Error> {
        let size = object.size;
        let whole = match size < RANGES_FROM {
            true => {
                let permit = self.limits.bytes(size).await;
                let _request = self.limits.request().await;
                match object.read(0..size, &self.limits).await {
                    // An object that stands for a directory is not found: its key ends with a
                    // slash, which the crate object_store removes.
                    Err(error) if size == 0 && error.is_not_found() => {
                        let (root, name) = (self.root.clone(), name.to_owned());
                        blocking(move || target::directory(&root, &name)).await?;
                        return Ok(Received::Directory);
                    }
                    content => Some((content?, permit)),
                }
            }
            false => None,
        };
        let (root, file_name) = (self.root.clone(), name.to_owned());
        let path = blocking(move || target::file(&root, &file_name)).await?;
        let part = part_path(&path);
        let (stamp, sha256) = match whole {
            Some((content, _permit)) => {
                let (object, to) = (object.clone(), part.clone());
                let write = blocking(move || write_whole(&object, &content, &to));
                let (sha256, file) = write.await?;
                let stamp = self.finish(&part, file, &path).await?;
                self.reporter.transferred(name, size, 0);
                (stamp, sha256)
            }
            None => {
                let (sha256, file, journal) = self.receive_ranges(name, object, &part).await?;
                let stamp = self.finish(&part, file, &path).await?;
                journal.remove();
                self.reporter.transferred(name, size, size);
                (stamp, sha256)
            }
        };
        Ok(Received::File { stamp, sha256 })
    }

    /// Renames a complete file to its final name, and returns its stamp; see [`Stamp::settle`]. The
    /// file stays locked until it is renamed.
    async fn finish(&self, part: &Path, file: File, path: &Path) -> Result<Option<Stamp>, Error> {
        let (part, path) = (part.to_owned(), path.to_owned());
        blocking(move || {
            let stamp = Stamp::settle(&file);
            let renamed = fs::rename(&part, &path);
            drop(file);
            renamed.map_err(|failure| error::local("writing", &path, &failure))?;
            Ok(stamp)
        })
        .await
    }

    /// Downloads the missing ranges of an object, and verifies the contents. Returns their
    /// checksum, the locked file and the journal.
    async fn receive_ranges(
        &self,
        name: &str,
        object: &Object,
        path: &Path,
    ) -> Result<(String, File, Journal), Error> {
        let header = object.etag.as_ref().map(|etag| DownloadHeader {
            address: self.address.clone(),
            object: object.doing("reading"),
            etag: etag.clone(),
            size: object.size,
        });
        let journal = self.cache.as_ref().filter(|_| header.is_some());
        let journal =
            journal.map(|cache| cache::file(cache, "downloads", &path.display().to_string()));
        let mut part = {
            let path = path.to_owned();
            blocking(move || {
                open_part(&path, header.as_ref(), journal)
                    .map_err(|failure| error::local("writing", &path, &failure))
            })
            .await?
        };
        if part.offset > 0 {
            self.reporter.advanced(name, part.offset);
        }
        let mut expected = None;
        if part.offset == object.size && object.bucket.store().has_metadata() {
            expected = object.sha256(&self.limits).await?;
        }
        let starts = (part.offset..object.size).step_by(usize::try_from(RANGE).unwrap_or(1 << 20));
        // The permits are acquired in the order of the ranges, so that the range to be written next
        // never waits for a permit that a later range holds.
        let contents = stream::iter(starts)
            .then(|start| {
                let end = (start + RANGE).min(object.size);
                let limits = Arc::clone(&self.limits);
                async move { (start..end, limits.bytes(end - start).await) }
            })
            .map(|(range, permit)| {
                let (object, limits) = (object.clone(), Arc::clone(&self.limits));
                // Dropping the set aborts the task.
                let mut task = JoinSet::new();
                task.spawn(async move {
                    let _request = limits.request().await;
                    let content = object.read(range, &limits).await?;
                    Ok::<(Content, Permit), Error>((content, permit))
                });
                async move { task.join_next().await.map(flatten).transpose() }
            })
            .buffered(RANGES);
        let mut contents = pin!(contents);
        while let Some(next) = contents.try_next().await? {
            let Some((content, _permit)) = next else {
                break;
            };
            expected = expected.or(content.sha256);
            let length = content.bytes.len() as u64;
            let path = path.to_owned();
            part = blocking(move || write_part(part, &content.bytes, &path)).await?;
            self.reporter.advanced(name, length);
        }
        let found = part.hasher.finish().sha256;
        if let Err(error) = object.verify(expected.as_deref(), &found) {
            part.journal.remove();
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok((found, part.file, part.journal))
    }
}

/// Writes the contents of a small object, and returns their checksum and the locked file. If
/// writing fails, the file is removed.
fn write_whole(object: &Object, content: &Content, path: &Path) -> Result<(String, File), Error> {
    let found = sha256(&content.bytes);
    object.verify(content.sha256.as_deref(), &found)?;
    let failed = |failure: io::Error| error::local("writing", path, &failure);
    let mut file = create(path).map_err(failed)?;
    file.write_all(&content.bytes).map_err(|failure| {
        let _ = fs::remove_file(path);
        failed(failure)
    })?;
    Ok((found, file))
}

/// Opens and locks the file of an earlier call. Returns `None` if it does not exist, cannot be
/// opened or was renamed meanwhile. A link at this path is not followed.
fn open_locked(path: &Path) -> io::Result<Option<File>> {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
        return Ok(None);
    };
    lock(&file)?;
    // The previous holder of the lock may have renamed the file.
    let stamp = Stamp::new(&file.metadata()?);
    let now = fs::symlink_metadata(path).map(|metadata| Stamp::new(&metadata));
    Ok(now.is_ok_and(|now| now == stamp).then_some(file))
}

/// Locks a file until it is closed, if the file system supports locks. Returns an error if the file
/// is still locked by another handle after 3 seconds.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
        }
    }
    let message = "another synchronization must not receive this file at the same time";
    Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
}

/// Creates and locks a file, which replaces the file of an earlier call. A link at this path is not
/// followed.
fn create(path: &Path) -> io::Result<File> {
    // The lock is held until the file is replaced.
    let _old = open_locked(path)?;
    match fs::remove_file(path) {
        Err(failure) if failure.kind() != io::ErrorKind::NotFound => return Err(failure),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    lock(&file)?;
    Ok(file)
}

/// Continues the download that the journal describes, if its header is the same; otherwise begins a
/// new download.
fn open_part(
    path: &Path,
    header: Option<&DownloadHeader>,
    journal: Option<PathBuf>,
) -> io::Result<PartialFile> {
    let mut hasher = Hasher::new(false);
    let old = Journal::read::<DownloadHeader>(journal.as_deref()).map(|(old, _)| old);
    if let Some(header) = header
        && old.as_ref() == Some(header)
        && let Some(mut file) = open_locked(path)?
        && let length = file.metadata()?.len()
        && length <= header.size
    {
        let offset = match length == header.size {
            true => length,
            false => length - length % RANGE,
        };
        if hasher.read(&mut file, offset)? == offset {
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
            return Ok(PartialFile { file, hasher, offset, journal: Journal::resume(journal) });
        }
        hasher = Hasher::new(false);
    }
    let file = create(path)?;
    Ok(PartialFile { file, hasher, offset: 0, journal: Journal::begin(journal, &header) })
}

/// Appends a range to the file of a download.
fn write_part(mut part: PartialFile, bytes: &Bytes, path: &Path) -> Result<PartialFile, Error> {
    let written = part.file.write_all(bytes);
    written.map_err(|failure| error::local("writing", path, &failure))?;
    part.hasher.update(bytes);
    part.offset += bytes.len() as u64;
    Ok(part)
}

/// Returns the path of the file to which an incomplete download is written.
fn part_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = format!(".{name}{PART_SUFFIX}");
    let name = match name.len() <= MAX_NAME {
        true => name,
        false => {
            let digest = sha256(name.as_bytes());
            format!(".{}{PART_SUFFIX}", &digest[..32])
        }
    };
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_unfinished_download_is_never_too_long() {
        let path = |name: &str| part_path(&Path::new("out").join(name));
        assert_eq!(path("model.pt"), Path::new("out/.model.pt.modelarts-part"));
        let long = path(&"x".repeat(255));
        assert_eq!(long.parent(), Some(Path::new("out")));
        assert!(long.file_name().unwrap().len() <= MAX_NAME);
        assert_ne!(long, path(&"y".repeat(255)));
    }
}
