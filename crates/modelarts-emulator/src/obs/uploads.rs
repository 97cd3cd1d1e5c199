//! Multipart uploads. Parts are files in the data directory until the upload is completed.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::PathBuf,
    time::SystemTime,
};

use md5::{Digest, Md5};
use modelarts_api::hex;
use rusqlite::{OptionalExtension, params};
use s3s::{S3Error, S3Result, s3_error};
use uuid::Uuid;

use crate::{
    accounts::signature::unhex,
    clock::timestamp::Timestamp,
    database::{read_error, write_error},
    obs::{
        conditions::Conditions,
        keys::ObjectName,
        records::{StoredHeaders, StoredObject},
        store::ObjectStore,
        transfer::{Received, copy, io_error},
    },
};

/// Minimum size in bytes of all parts except the last (OBS API, `api-obs/obs_04_0099.html`).
const MIN_PART_SIZE: u64 = 100 << 10;
/// Maximum part number, as on the service (the same page).
const MAX_PART_NUMBER: i32 = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct UploadedPart {
    pub(super) number: i32,
    pub(super) size: u64,
    /// MD5 of the part, in hexadecimal digits.
    pub(super) etag: String,
    pub(super) modified: SystemTime,
}

impl ObjectStore {
    pub(super) fn begin_upload(
        &self,
        name: &ObjectName,
        headers: &StoredHeaders,
    ) -> S3Result<String> {
        self.bucket(&name.bucket)?;
        if name.is_marker() {
            return Err(s3_error!(
                InvalidArgument,
                "The key {:?} must not end with a slash: an object of parts is not empty.",
                name.key
            ));
        }
        let id = Uuid::new_v4().simple().to_string();
        fs::create_dir(self.parts(&id)).map_err(io_error)?;
        let started = Timestamp::from(SystemTime::now()).millis();
        self.write(|connection| {
            let headers = serde_json::to_string(headers).map_err(write_error)?;
            let sql = "INSERT INTO obs_uploads (id, bucket, key, started, headers)
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.execute(sql, params![id, name.bucket, name.key, started, headers])
        })?;
        Ok(id)
    }

    pub(super) fn upload(&self, name: &ObjectName, id: &str) -> S3Result<StoredHeaders> {
        self.bucket(&name.bucket)?;
        let found = self.query(|connection| {
            let sql = "SELECT headers FROM obs_uploads WHERE id = ?1 AND bucket = ?2 AND key = ?3";
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_row([id, &name.bucket, &name.key], |row| {
                serde_json::from_str(row.get_ref(0)?.as_str()?).map_err(read_error)
            });
            found.optional()
        })?;
        found.ok_or_else(|| no_such_upload(id))
    }

    /// Stores a received part, which replaces an earlier part with this number.
    pub(super) fn store_part(
        &self,
        name: &ObjectName,
        id: &str,
        number: i32,
        received: Received,
    ) -> S3Result<UploadedPart> {
        let _guard = self.lock.write();
        // The upload may have ended while the part was received.
        self.upload(name, id)?;
        let path = self.parts(id).join(number.to_string());
        let persisted = received.file.persist(path);
        persisted.map_err(|error| io_error(error.error))?;
        let part = UploadedPart {
            number,
            size: received.length,
            etag: hex::encode(&received.md5),
            modified: SystemTime::now(),
        };
        self.write(|connection| {
            let sql = "INSERT OR REPLACE INTO obs_parts (upload, part, size, etag, modified)
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            let size = i64::try_from(part.size).unwrap_or(i64::MAX);
            let modified = Timestamp::from(part.modified).millis();
            let mut insert = connection.prepare_cached(sql)?;
            insert.execute(params![id, number, size, part.etag, modified])
        })?;
        Ok(part)
    }

    pub(super) fn upload_parts(&self, name: &ObjectName, id: &str) -> S3Result<Vec<UploadedPart>> {
        self.upload(name, id)?;
        self.query(|connection| {
            let sql =
                "SELECT part, size, etag, modified FROM obs_parts WHERE upload = ?1 ORDER BY part";
            let mut select = connection.prepare_cached(sql)?;
            let parts = select.query_map([id], |row| {
                let size: i64 = row.get(1)?;
                Ok(UploadedPart {
                    number: row.get(0)?,
                    size: size.cast_unsigned(),
                    etag: row.get(2)?,
                    modified: Timestamp::from_millis(row.get(3)?).into(),
                })
            });
            parts?.collect()
        })
    }

    fn uploads(&self, bucket: &str) -> S3Result<Vec<String>> {
        self.query(|connection| {
            let sql = "SELECT id FROM obs_uploads WHERE bucket = ?1";
            let mut select = connection.prepare_cached(sql)?;
            let uploads = select.query_map([bucket], |row| row.get(0));
            uploads?.collect()
        })
    }

    /// Completes an upload: joins the parts that the client lists, and stores the object.
    pub(super) fn complete_upload(
        &self,
        name: &ObjectName,
        id: &str,
        listed: &[(i32, String)],
        conditions: &Conditions,
    ) -> S3Result<StoredObject> {
        let headers = self.upload(name, id)?;
        let parts = self.check_parts(name, id, listed)?;
        let mut digests = Md5::new();
        let mut files = Vec::with_capacity(parts.len());
        for part in &parts {
            digests.update(unhex(&part.etag).unwrap_or_default());
            files.push(self.parts(id).join(part.number.to_string()));
        }
        let etag = format!("{}-{}", hex::encode(&digests.finalize()), parts.len());
        let mut file = self.temporary()?;
        let mut length = 0;
        for path in files {
            // On Linux, the kernel copies the bytes without passing them through this process.
            let copied =
                File::open(path).and_then(|mut part| io::copy(&mut part, file.as_file_mut()));
            length += match copied {
                Ok(copied) => copied,
                Err(error) => {
                    // The upload may have ended in the meantime, which deletes the parts.
                    self.upload(name, id)?;
                    return Err(io_error(error));
                }
            };
        }
        let _guard = self.lock.write();
        let same = self.check_parts(name, id, listed)? == parts;
        if !same || length != parts.iter().map(|part| part.size).sum::<u64>() {
            return Err(s3_error!(
                InvalidPart,
                "A part was replaced while the upload was completed: complete it again."
            ));
        }
        let received = Received::of_parts(file, length);
        let object = self.store_locked(name, received, etag, headers, conditions)?;
        self.end_upload(id)?;
        Ok(object)
    }

    /// Finds the parts that the client lists, and checks their order, ETags and sizes.
    fn check_parts(
        &self,
        name: &ObjectName,
        id: &str,
        listed: &[(i32, String)],
    ) -> S3Result<Vec<UploadedPart>> {
        let stored = self.upload_parts(name, id)?;
        if listed.is_empty() {
            return Err(s3_error!(
                MalformedXML,
                "CompleteMultipartUpload must list at least one part."
            ));
        }
        if !listed.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(s3_error!(
                InvalidPartOrder,
                "CompleteMultipartUpload must list parts in the order of their numbers, each once."
            ));
        }
        let mut parts = Vec::with_capacity(listed.len());
        for (number, etag) in listed {
            let part = stored.iter().find(|part| part.number == *number);
            let Some(part) = part.filter(|part| part.etag == *etag) else {
                return Err(s3_error!(
                    InvalidPart,
                    "Part {number} with the ETag {etag:?} was not uploaded."
                ));
            };
            parts.push(part.clone());
        }
        let all_but_last = &parts[..parts.len() - 1];
        if let Some(small) = all_but_last.iter().find(|part| part.size < MIN_PART_SIZE) {
            return Err(s3_error!(
                EntityTooSmall,
                "Part {} has {} bytes: all parts but the last must have at least {MIN_PART_SIZE} \
                 bytes.",
                small.number,
                small.size
            ));
        }
        Ok(parts)
    }

    pub(super) fn abort_upload(&self, name: &ObjectName, id: &str) -> S3Result<()> {
        let _guard = self.lock.write();
        self.upload(name, id)?;
        self.end_upload(id)
    }

    /// Deletes all uploads of a deleted bucket. The caller must hold the lock.
    pub(super) fn forget_uploads(&self, bucket: &str) -> S3Result<()> {
        for upload in self.uploads(bucket)? {
            self.end_upload(&upload)?;
        }
        Ok(())
    }

    fn end_upload(&self, id: &str) -> S3Result<()> {
        self.write(|connection| {
            connection.execute("DELETE FROM obs_parts WHERE upload = ?1", [id])?;
            connection.execute("DELETE FROM obs_uploads WHERE id = ?1", [id])
        })?;
        match fs::remove_dir_all(self.parts(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(error)),
            _ => Ok(()),
        }
    }

    /// Copies the next `length` bytes of an object to a temporary file.
    pub(super) fn copy_content(&self, source: Option<File>, length: u64) -> S3Result<Received> {
        let file = self.temporary()?;
        let copied = match source {
            Some(source) => copy(&mut source.take(length), file),
            None => copy(&mut io::empty(), file),
        };
        let copied = copied.map_err(io_error)?;
        if copied.length != length {
            return Err(s3_error!(
                OperationAborted,
                "The source has changed while it was copied: copy it again."
            ));
        }
        Ok(copied)
    }

    fn parts(&self, id: &str) -> PathBuf {
        self.incoming.join(id)
    }
}

pub(super) fn check_part_number(number: i32) -> S3Result<()> {
    if (1..=MAX_PART_NUMBER).contains(&number) {
        return Ok(());
    }
    Err(s3_error!(InvalidArgument, "partNumber must be 1 to {MAX_PART_NUMBER}, and is {number}."))
}

fn no_such_upload(id: &str) -> S3Error {
    s3_error!(
        NoSuchUpload,
        "The upload {id:?} of this key does not exist: it was completed or aborted, or never begun."
    )
}
