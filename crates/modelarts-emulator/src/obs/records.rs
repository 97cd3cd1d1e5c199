//! Records of objects in the database: ETag, metadata and headers, which a file cannot store.

use std::{collections::HashMap, fs::Metadata, os::unix::fs::MetadataExt, time::SystemTime};

use md5::{Digest, Md5};
use modelarts_api::hex;
use rusqlite::{Connection, OptionalExtension, params};
use s3s::dto::Timestamp;
use serde::{Deserialize, Serialize};

use crate::database::{read_error, write_error};

/// Properties of a file by which a change is detected. `modified` is in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) size: i64,
    pub(super) modified: i64,
    pub(super) inode: i64,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let seconds = metadata.mtime().saturating_mul(1_000_000_000);
        Self {
            size: i64::try_from(metadata.len()).unwrap_or(i64::MAX),
            modified: seconds.saturating_add(metadata.mtime_nsec()),
            inode: metadata.ino().cast_signed(),
        }
    }
}

/// Headers that a client has sent with an object, and that responses for the object contain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredHeaders {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_disposition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<Timestamp>,
    /// Metadata of the user: `x-amz-meta-*` without the prefix.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub(super) metadata: HashMap<String, String>,
}

/// ETag of an empty object: the MD5 of empty content.
pub(super) const EMPTY_ETAG: &str = "d41d8cd98f00b204e9800998ecf8427e";
#[derive(Clone, Debug)]
pub(super) struct StoredObject {
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    /// ETag without its quotes.
    pub(super) etag: String,
    pub(super) headers: StoredHeaders,
}

/// Record of an object, valid while its file has the same identity.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) identity: Identity,
    pub(super) etag: String,
    pub(super) headers: StoredHeaders,
}

/// Returns the ETag of a file without a valid record. It has a hyphen because it is not an MD5.
pub(super) fn unknown_etag(identity: Identity) -> String {
    let Identity { size, modified, inode } = identity;
    let digest = Md5::digest(format!("{size} {modified} {inode}"));
    format!("{}-0", hex::encode(&digest))
}

/// Returns the record of an object. The record may belong to an earlier content of the file.
pub(super) fn find(
    connection: &Connection,
    bucket: &str,
    key: &str,
) -> rusqlite::Result<Option<Record>> {
    let mut select = connection.prepare_cached(
        "SELECT size, modified, inode, etag, headers FROM obs_objects WHERE bucket = ?1 AND key = \
         ?2",
    )?;
    let found = select.query_row([bucket, key], |row| {
        Ok(Record {
            identity: Identity { size: row.get(0)?, modified: row.get(1)?, inode: row.get(2)? },
            etag: row.get(3)?,
            headers: serde_json::from_str(row.get_ref(4)?.as_str()?).map_err(read_error)?,
        })
    });
    found.optional()
}

/// Returns the identity and the ETag of a record, without its headers.
pub(super) fn find_etag(
    connection: &Connection,
    bucket: &str,
    key: &str,
) -> rusqlite::Result<Option<(Identity, String)>> {
    let mut select = connection.prepare_cached(
        "SELECT size, modified, inode, etag FROM obs_objects WHERE bucket = ?1 AND key = ?2",
    )?;
    let found = select.query_row([bucket, key], |row| {
        let identity = Identity { size: row.get(0)?, modified: row.get(1)?, inode: row.get(2)? };
        Ok((identity, row.get(3)?))
    });
    found.optional()
}

pub(super) fn put(
    connection: &Connection,
    bucket: &str,
    key: &str,
    record: &Record,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO obs_objects (bucket, key, size, modified, inode, etag, headers)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let identity = record.identity;
    let headers = serde_json::to_string(&record.headers).map_err(write_error)?;
    let values = params![
        bucket,
        key,
        identity.size,
        identity.modified,
        identity.inode,
        record.etag,
        headers
    ];
    insert.execute(values)?;
    Ok(())
}

pub(super) fn delete(connection: &Connection, bucket: &str, key: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM obs_objects WHERE bucket = ?1 AND key = ?2";
    connection.prepare_cached(sql)?.execute([bucket, key])?;
    Ok(())
}

pub(super) fn delete_bucket(connection: &Connection, bucket: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM obs_objects WHERE bucket = ?1", [bucket])?;
    Ok(())
}
