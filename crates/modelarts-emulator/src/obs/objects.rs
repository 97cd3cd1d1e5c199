//! Objects as files below the OBS root, each renamed from a temporary file. The database contains
//! ETags, headers and metadata. A key that ends with a slash is a directory.

use std::{
    fs::{self, File, Permissions},
    io::{self, Seek},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use tempfile::NamedTempFile;

use crate::{
    files::confined_dir::PART_PREFIX,
    obs::{
        conditions::Conditions,
        keys::{ObjectName, check_new_bucket, no_such_key},
        pages,
        records::{self, Identity, Record, StoredHeaders, StoredObject, unknown_etag},
        store::{ObjectStore, is_missing, read_error},
        transfer::{Received, io_error},
    },
};

#[derive(Clone, Debug)]
pub(super) struct StoredBucket {
    pub(super) name: String,
    pub(super) created: SystemTime,
}

impl ObjectStore {
    // ---- buckets ----

    /// Returns all buckets, in the order of their names.
    pub(super) fn buckets(&self) -> S3Result<Vec<StoredBucket>> {
        let mut buckets = Vec::new();
        for entry in fs::read_dir(self.root.root()).map_err(io_error)?.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Ok(path) = self.bucket(&name) else {
                continue;
            };
            let metadata = fs::metadata(path).map_err(io_error)?;
            // Some file systems do not store the time of creation.
            let created = metadata.created().or_else(|_| metadata.modified());
            let created = created.map_err(io_error)?;
            buckets.push(StoredBucket { name, created });
        }
        buckets.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(buckets)
    }

    pub(super) fn create_bucket(&self, name: &str) -> S3Result<()> {
        check_new_bucket(name)?;
        let _guard = self.lock.write();
        if self.bucket(name).is_ok() {
            return Err(s3_error!(BucketAlreadyOwnedByYou, "The bucket {name:?} exists already."));
        }
        let created = self.root.directory(Path::new(name));
        created.map(|_| ()).map_err(|error| write_error(error, name))
    }

    /// Deletes a bucket without objects, including its empty directories.
    pub(super) fn delete_bucket(&self, name: &str) -> S3Result<()> {
        let path = self.bucket(name)?;
        let _guard = self.lock.write();
        let not_empty =
            || s3_error!(BucketNotEmpty, "The bucket {name:?} has objects: delete them first.");
        if pages::has_objects(self, name)? {
            return Err(not_empty());
        }
        remove_directories(&path).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => not_empty(),
            _ => io_error(error),
        })?;
        self.forget_uploads(name)?;
        self.write(|connection| records::delete_bucket(connection, name))
    }

    // ---- reads ----

    /// Opens an object. The file is `None` for a directory marker.
    pub(super) fn read(&self, bucket: &str, key: &str) -> S3Result<(StoredObject, Option<File>)> {
        let _guard = self.lock.read();
        self.bucket(bucket)?;
        let name = ObjectName::parse(bucket, key).map_err(|_| no_such_key(key))?;
        self.look(&name)?.ok_or_else(|| no_such_key(key))
    }

    /// Opens an object if it exists. The caller must hold the lock.
    fn look(&self, name: &ObjectName) -> S3Result<Option<(StoredObject, Option<File>)>> {
        let path = match self.root.resolve(&name.relative()) {
            Ok(path) => path,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(read_error(error, || no_such_key(&name.key))),
        };
        // Opening a named pipe would wait for a writer.
        if fs::metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Ok(None);
        }
        let (file, metadata) = match File::open(&path).and_then(|file| {
            let metadata = file.metadata()?;
            Ok((file, metadata))
        }) {
            Ok(opened) => opened,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(io_error(error)),
        };
        let identity = Identity::of(&metadata);
        let record = self.record(name)?;
        if name.is_marker() {
            let marker = record.filter(|record| record.identity.inode == identity.inode);
            return Ok(marker.map(|record| {
                let modified = u64::try_from(record.identity.modified).unwrap_or_default();
                let object = StoredObject {
                    size: 0,
                    modified: SystemTime::UNIX_EPOCH + Duration::from_nanos(modified),
                    etag: record.etag,
                    headers: record.headers,
                };
                (object, None)
            }));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        let record = record.filter(|record| record.identity == identity);
        let (etag, headers) = match record {
            Some(record) => (record.etag, record.headers),
            None => (unknown_etag(identity), StoredHeaders::default()),
        };
        let object = StoredObject {
            size: metadata.len(),
            modified: metadata.modified().map_err(io_error)?,
            etag,
            headers,
        };
        Ok(Some((object, Some(file))))
    }

    fn record(&self, name: &ObjectName) -> S3Result<Option<Record>> {
        self.query(|connection| records::find(connection, &name.bucket, &name.key))
    }

    // ---- writes ----

    pub(super) fn store(
        &self,
        name: &ObjectName,
        received: Received,
        etag: String,
        headers: StoredHeaders,
        conditions: &Conditions,
    ) -> S3Result<StoredObject> {
        let _guard = self.lock.write();
        self.store_locked(name, received, etag, headers, conditions)
    }

    pub(super) fn store_locked(
        &self,
        name: &ObjectName,
        received: Received,
        etag: String,
        headers: StoredHeaders,
        conditions: &Conditions,
    ) -> S3Result<StoredObject> {
        self.bucket(&name.bucket)?;
        if !conditions.is_empty() {
            let earlier = self.look(name)?.map(|(object, _)| object);
            conditions.check_write(earlier.as_ref())?;
        }
        let metadata = if name.is_marker() {
            if received.length > 0 {
                return Err(s3_error!(
                    InvalidArgument,
                    "The key {:?} ends with a slash, so that the object must be empty, because \
                     this emulator stores objects as files.",
                    name.key
                ));
            }
            let path = self.root.directory(&name.relative());
            let path = path.map_err(|error| write_error(error, &name.key))?;
            fs::metadata(path).map_err(io_error)?
        } else {
            self.place(name, received.file)?
        };
        let mut identity = Identity::of(&metadata);
        let mut modified = metadata.modified().map_err(io_error)?;
        if name.is_marker() {
            // The time of a directory changes with its entries.
            modified = SystemTime::now();
            let since = modified.duration_since(SystemTime::UNIX_EPOCH);
            let nanos = since.unwrap_or_default().as_nanos();
            identity.modified = i64::try_from(nanos).unwrap_or(i64::MAX);
        }
        let record = Record { identity, etag, headers };
        self.write(|connection| records::put(connection, &name.bucket, &name.key, &record))?;
        Ok(StoredObject {
            size: received.length,
            modified,
            etag: record.etag,
            headers: record.headers,
        })
    }

    fn place(&self, name: &ObjectName, file: NamedTempFile) -> S3Result<fs::Metadata> {
        let relative = name.relative();
        let directory = self.root.directory(relative.parent().unwrap_or(&relative));
        let directory = directory.map_err(|error| write_error(error, &name.key))?;
        let target = directory.join(relative.file_name().unwrap_or_default());
        if target.is_dir() {
            return Err(s3_error!(
                InvalidArgument,
                "The key {:?} must not be the beginning of other keys up to a slash, because this \
                 emulator stores objects as files: '{}/' is a directory.",
                name.key,
                name.key
            ));
        }
        match file.persist(&target) {
            Ok(file) => file.metadata().map_err(io_error),
            Err(error) if error.error.kind() == io::ErrorKind::CrossesDevices => {
                let mut source = error.file;
                source.rewind().map_err(io_error)?;
                copy_beside(source.as_file_mut(), &target).map_err(io_error)
            }
            Err(error) => Err(io_error(error.error)),
        }
    }

    /// Deletes an object, if it exists, and the directories that are empty afterwards.
    pub(super) fn delete(&self, bucket: &str, key: &str) -> S3Result<()> {
        let _guard = self.lock.write();
        let directory = self.bucket(bucket)?;
        let Ok(name) = ObjectName::parse(bucket, key) else {
            return Ok(());
        };
        let relative = name.relative();
        let parent = match self.root.resolve(relative.parent().unwrap_or(&relative)) {
            Ok(parent) => parent,
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => return Err(read_error(error, || no_such_key(key))),
        };
        let path = parent.join(relative.file_name().unwrap_or_default());
        if name.is_marker() {
            if self.look(&name)?.is_none() {
                return Ok(());
            }
        } else {
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => return Ok(()),
                Ok(_) => fs::remove_file(&path).map_err(io_error)?,
                Err(error) if is_missing(&error) => return Ok(()),
                Err(error) => return Err(io_error(error)),
            }
        }
        self.write(|connection| records::delete(connection, bucket, key))?;
        self.prune(&directory, path, name)
    }

    /// Removes the parent directories of a deleted key that are empty and not markers.
    fn prune(&self, bucket: &Path, path: PathBuf, deleted: ObjectName) -> S3Result<()> {
        let mut name = deleted;
        let mut directory = path;
        if !name.is_marker() {
            directory.pop();
            truncate_to_parent(&mut name.key);
        }
        // A link to a directory elsewhere is kept.
        while directory != bucket && directory == self.root.root().join(name.relative()) {
            if self.record(&name)?.is_some() || fs::remove_dir(&directory).is_err() {
                break;
            }
            directory.pop();
            truncate_to_parent(&mut name.key);
        }
        Ok(())
    }
}

/// Truncates a key to the directory that contains it, with a slash at the end.
fn truncate_to_parent(key: &mut String) {
    let end = key.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    key.truncate(end);
}

/// Copies a file to `target` on another file system. Readers never see an incomplete file.
fn copy_beside(source: &mut File, target: &Path) -> io::Result<fs::Metadata> {
    let directory = target.parent().unwrap_or(target);
    let mut file = tempfile::Builder::new()
        .prefix(PART_PREFIX)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    io::copy(source, file.as_file_mut())?;
    file.persist(target).map_err(|error| error.error)?.metadata()
}

/// Removes a directory tree. Returns an error if it contains a file.
fn remove_directories(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        remove_directories(&entry.path())?;
    }
    fs::remove_dir(path)
}

fn write_error(error: io::Error, key: &str) -> S3Error {
    match error.kind() {
        // A segment of the path is a file, or a link leads out of the root.
        io::ErrorKind::Other => s3_error!(
            InvalidArgument,
            "The key {key:?} cannot be stored, because this emulator stores objects as files: \
             {error}."
        ),
        io::ErrorKind::InvalidFilename => {
            S3Error::with_message(S3ErrorCode::KeyTooLongError, "The key is too long for a path.")
        }
        _ => io_error(error),
    }
}
