//! Files or objects of the source or the target, with their cached checksums.

use std::{collections::BTreeMap, path::Path, time::SystemTime};

use futures::TryStreamExt;
use modelarts_ext::Error;

use crate::{
    address::ObsPath,
    bucket::{Bucket, ObjectInfo, is_missing_object, object_path},
    sync::{
        cache::{FileRecord, ObjectRecord, Table},
        files::WRITE_TEST,
        plan::Listed,
        source::{Object, SourceItem},
    },
};

/// Source or target of a synchronization.
pub(crate) struct Side {
    pub(crate) items: BTreeMap<String, SourceItem>,
    pub(crate) checksums: Checksums,
}

/// Cached checksums of one side.
pub(crate) enum Checksums {
    Files(Table<FileRecord>),
    Objects(Table<ObjectRecord>),
}

impl Checksums {
    /// Reads the cached checksums of a directory, whose path is canonical. Blocks.
    pub(crate) fn of_directory(cache: Option<&Path>, root: &Path) -> Self {
        let name = format!("files {}", root.display());
        Self::Files(Table::open(cache, &name))
    }

    /// Reads the cached checksums of the objects below an address. Blocks.
    pub(crate) fn of_objects(cache: Option<&Path>, service: &str, address: &ObsPath) -> Self {
        Self::Objects(Table::open(cache, &format!("objects {service} {address}")))
    }

    /// Returns the cached checksum, if it was stored with the same stamp or entity tag.
    pub(crate) fn find(&self, name: &str, source: &SourceItem) -> Option<String> {
        match (self, source) {
            (Self::Files(table), SourceItem::File { stamp, .. }) => {
                let record = table.get(name)?;
                (record.stamp == *stamp).then_some(record.sha256)
            }
            (Self::Objects(table), SourceItem::Object(object)) => {
                let record = table.get(name)?;
                (Some(&record.etag) == object.etag.as_ref()).then_some(record.sha256)
            }
            _ => None,
        }
    }

    /// Stores a checksum, unless the file could change without a change of its stamp.
    pub(crate) fn store(&self, name: &str, source: &SourceItem, sha256: &str) {
        let sha256 = sha256.to_owned();
        match (self, source) {
            (Self::Files(table), SourceItem::File { stamp, .. })
                if stamp.is_settled(SystemTime::now()) =>
            {
                let stamp = *stamp;
                table.insert(name, FileRecord { stamp, sha256 });
            }
            (Self::Objects(_), SourceItem::Object(object)) => {
                self.store_object(name, object.etag.clone(), sha256);
            }
            _ => {}
        }
    }

    /// Stores the checksum of an object, unless the object has no entity tag.
    pub(crate) fn store_object(&self, name: &str, etag: Option<String>, sha256: String) {
        if let (Self::Objects(table), Some(etag)) = (self, etag) {
            table.insert(name, ObjectRecord { etag, sha256 });
        }
    }

    /// Stores the checksum of a file that was written.
    pub(crate) fn store_file(&self, name: &str, record: FileRecord) {
        if let Self::Files(table) = self {
            table.insert(name, record);
        }
    }

    /// Removes the checksums of names for which `exists` returns `false`.
    pub(crate) fn retain(&self, exists: impl Fn(&str) -> bool) {
        match self {
            Self::Files(table) => table.retain(exists),
            Self::Objects(table) => table.retain(exists),
        }
    }
}

impl Side {
    /// Returns the sizes and the cached checksums by name.
    pub(crate) fn listed(&self) -> BTreeMap<&str, Listed> {
        let items = self.items.iter();
        let listed = items.map(|(name, item)| {
            let listed = Listed { size: item.size(), sha256: self.checksums.find(name, item) };
            (name.as_str(), listed)
        });
        listed.collect()
    }
}

/// Lists the objects below an address by their names relative to it. The write test of another call
/// ([`WRITE_TEST`]) is left out, because that call deletes it.
pub(crate) async fn list_objects(
    bucket: &Bucket,
    address: &ObsPath,
) -> Result<BTreeMap<String, Object>, Error> {
    let mut objects = BTreeMap::new();
    let mut list = std::pin::pin!(bucket.list(address.key()));
    while let Some(info) = list.try_next().await? {
        let name = match address.key() {
            "" => Some(info.key()),
            key => info.key().strip_prefix(key).and_then(|name| name.strip_prefix('/')),
        };
        // An object with contents takes precedence over a directory marker with the same name.
        if let Some(name) = name
            && name.rsplit('/').next() != Some(WRITE_TEST)
            && (info.size() > 0 || !objects.contains_key(name))
        {
            objects.insert(name.to_owned(), object(bucket, &info)?);
        }
    }
    Ok(objects)
}

/// Returns the object at an address; `None` if it does not exist or the address has no key.
pub(crate) async fn find_object(
    bucket: &Bucket,
    address: &ObsPath,
) -> Result<Option<Object>, Error> {
    if address.key().is_empty() {
        return Ok(None);
    }
    match bucket.head(address.key()).await {
        Ok(info) => object(bucket, &info).map(Some),
        Err(error) if is_missing_object(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn object(bucket: &Bucket, info: &ObjectInfo) -> Result<Object, Error> {
    Ok(Object {
        bucket: bucket.clone(),
        path: object_path(info.key())?,
        size: info.size(),
        etag: info.etag().map(str::to_owned),
    })
}
