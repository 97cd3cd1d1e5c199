//! Uploads of files and copies of objects to a bucket.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use modelarts_ext::{Error, ErrorKind};
use object_store::{
    Attribute, Attributes, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions,
    multipart::{MultipartStore, PartId},
    path::Path,
};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::{
    address::ObsPath,
    bucket::{Bucket, SHA256, object_path},
    error,
    storage::store::Store,
    sync::{
        cache,
        concurrency::Concurrency,
        digest::{Hasher, is_private_key},
        files::WRITE_TEST,
        journal::Journal,
        limits::Limits,
        parts::{MULTIPART_FROM, Origin, UploadHeader, part_size},
        progress::Reporter,
        source::{Object, SourceItem, changed},
    },
};

/// Maximum size of an object that OBS copies in one request, in bytes.
const MAX_COPY: u64 = 5 << 30;
/// Maximum size of the parts of one file that are in memory at the same time, in bytes.
const IN_FLIGHT: u64 = 32 << 20;

/// Uploads to the objects below an address.
pub(crate) struct Uploads {
    pub(crate) bucket: Bucket,
    pub(crate) prefix: ObsPath,
    /// Address of OBS or of a local directory, which distinguishes the journals.
    pub(crate) address: String,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) reporter: Arc<Reporter>,
    /// Set after an object was written. The permission to write then needs no further test.
    pub(crate) writable: OnceCell<()>,
}

pub(crate) enum Sent {
    /// The object was written.
    Object { sha256: Option<String>, etag: Option<String> },
    /// The contents are a private key, so nothing was sent.
    PrivateKey,
}

/// State of a multipart upload.
struct Upload {
    id: String,
    /// Entity tags of the complete parts, by part number from 0.
    done: BTreeMap<usize, String>,
    journal: Journal,
}

impl Uploads {
    pub(super) fn store(&self) -> &Store {
        self.bucket.store()
    }

    pub(super) fn doing(&self, path: &Path) -> String {
        format!("writing obs://{}/{path}", self.bucket.name())
    }

    /// Uploads a file or copies an object to its name below the address. `sha256` is its checksum,
    /// if known.
    pub(crate) async fn send(
        self: &Arc<Self>,
        name: &str,
        source: &SourceItem,
        sha256: Option<String>,
    ) -> Result<Sent, Error> {
        let key = self.prefix.join(name)?;
        let path = object_path(key.key())?;
        let size = source.size();
        if let Some(sent) = self.copy_on_server(source, &path).await? {
            self.reporter.transferred(name, size, 0);
            return Ok(sent);
        }
        if size < MULTIPART_FROM {
            return self.send_whole(name, source, &path).await;
        }
        let sha256 = match sha256 {
            Some(sha256) => Some(sha256),
            None if self.store().has_metadata() => source.sha256(&self.limits).await?,
            None => None,
        };
        let sent = match self.store().parts() {
            Some(parts) => {
                self.check_writable().await?;
                let sent = self.send_in_parts(name, source, &path, sha256.clone(), &*parts).await?;
                // The parts of a file that is written meanwhile may not belong together.
                if source.has_grown()
                    && let SourceItem::File { path, .. } = source
                    && source.sha256(&self.limits).await? != sha256
                {
                    return Err(changed(path));
                }
                sent
            }
            None => self.write_file(name, source, &path, sha256).await?,
        };
        Ok(sent)
    }

    /// Requests that OBS copies an object within its bucket. Returns `None` if the contents must
    /// pass through this machine.
    async fn copy_on_server(
        &self,
        source: &SourceItem,
        path: &Path,
    ) -> Result<Option<Sent>, Error> {
        let SourceItem::Object(object) = source else {
            return Ok(None);
        };
        if !self.copies_on_server(object) || object.size > MAX_COPY {
            return Ok(None);
        }
        let _permit = self.limits.request().await;
        let copy = |objects: Arc<dyn ObjectStore>| {
            let (from, to) = (object.path.clone(), path.clone());
            async move { objects.copy(&from, &to).await }
        };
        let doing = || format!("{} to {path}", object.doing("copying"));
        self.store().call(doing, copy).await?;
        Ok(Some(Sent::Object { sha256: None, etag: None }))
    }

    /// Returns `true` if OBS can copy an object. A copy in a local directory would be a hard link,
    /// which later changes together with the original.
    fn copies_on_server(&self, object: &Object) -> bool {
        object.bucket.is_same(&self.bucket) && self.store().has_metadata()
    }

    /// Uploads contents in one request, except private keys. Returns the checksum of the bytes.
    async fn send_whole(
        &self,
        name: &str,
        source: &SourceItem,
        path: &Path,
    ) -> Result<Sent, Error> {
        let size = source.size();
        let _contents = self.limits.bytes(size).await;
        let mut hasher = Hasher::new(false);
        let bytes = match source {
            SourceItem::File { .. } => {
                let bytes = source.read(0..size, &self.limits).await?;
                if is_private_key(&bytes, size) {
                    return Ok(Sent::PrivateKey);
                }
                hasher.update(&bytes);
                bytes
            }
            SourceItem::Object(object) => {
                let permit = self.limits.request().await;
                let content = object.read(0..size, &self.limits).await?;
                drop(permit);
                hasher.update(&content.bytes);
                content.bytes
            }
        };
        let sha256 = hasher.finish().sha256;
        let put = |objects: Arc<dyn ObjectStore>| {
            let bytes = bytes.clone();
            let options =
                PutOptions { attributes: self.attributes(Some(&sha256)), ..PutOptions::default() };
            async move { objects.put_opts(path, bytes.into(), options).await }
        };
        let _permit = self.limits.request().await;
        let put = self.store().call(|| self.doing(path), put).await?;
        let _ = self.writable.set(());
        self.reporter.transferred(name, size, 0);
        Ok(Sent::Object { sha256: Some(sha256), etag: put.e_tag })
    }

    /// Returns the metadata of an object with this checksum.
    fn attributes(&self, sha256: Option<&str>) -> Attributes {
        let sha256 = sha256.filter(|_| self.store().has_metadata());
        let mut attributes = Attributes::new();
        if let Some(sha256) = sha256 {
            let name = Attribute::Metadata(SHA256.into());
            attributes.insert(name, sha256.to_owned().into());
        }
        attributes
    }

    /// Tests the permission to write: writes an empty object and deletes it, unless an object was
    /// written before. A HEAD request for the bucket is no substitute, because it can succeed
    /// without this permission.
    async fn check_writable(&self) -> Result<(), Error> {
        let test = async || {
            // The test is omitted if its key would be too long.
            let Ok(key) = self.prefix.join(WRITE_TEST) else {
                return Ok(());
            };
            let _permit = self.limits.request().await;
            self.bucket.put(key.key(), Bytes::new()).await?;
            if let Err(error) = self.bucket.delete(key.key()).await {
                tracing::warn!(%key, %error, "the write test was not deleted");
            }
            Ok(())
        };
        self.writable.get_or_try_init(test).await.map(|_| ())
    }

    async fn send_in_parts(
        self: &Arc<Self>,
        name: &str,
        source: &SourceItem,
        path: &Path,
        sha256: Option<String>,
        parts: &dyn MultipartStore,
    ) -> Result<Sent, Error> {
        let size = source.size();
        let header = UploadHeader {
            target: format!("{} {}/{path}", self.address, self.bucket.name()),
            source: match source {
                SourceItem::File { path, stamp } => Origin::File(path.clone(), *stamp),
                SourceItem::Object(object) => {
                    Origin::Object(object.doing("copying"), object.etag.clone())
                }
            },
            size,
            part_size: part_size(size),
            sha256,
        };
        let sent = |etag| Sent::Object { sha256: header.sha256.clone(), etag };
        let mut may_restart = true;
        loop {
            let upload = self.begin(&header, path, parts).await?;
            let resumed: u64 = upload.done.keys().map(|part| header.length(*part)).sum();
            if resumed > 0 {
                self.reporter.advanced(name, resumed);
            }
            let advanced = Arc::new(Mutex::new(resumed));
            let upload = Arc::new(Mutex::new(upload));
            let result = self.send_missing(name, source, path, &header, &upload, &advanced).await;
            let mut is_rejected = false;
            let result = match result {
                Ok(()) => {
                    let completed = self.complete(path, &header, &upload, parts).await;
                    is_rejected = completed.as_ref().is_err_and(is_rejection);
                    completed
                }
                Err(error) => Err(error),
            };
            let advanced = *advanced.lock();
            let (id, journal) = {
                let mut upload = upload.lock();
                let journal = std::mem::replace(&mut upload.journal, Journal::resume(None));
                (upload.id.clone(), journal)
            };
            let error = match result {
                Ok(etag) => {
                    journal.remove();
                    self.reporter.transferred(name, size, advanced);
                    return Ok(sent(etag));
                }
                Err(error) => error,
            };
            if error.code() == Some("NoSuchUpload") {
                journal.remove();
                // An earlier attempt may have completed the upload, and its response may have been
                // lost.
                if let Some(etag) = self.find_complete(path, &header).await {
                    self.reporter.transferred(name, size, advanced);
                    return Ok(sent(Some(etag)));
                }
                if may_restart {
                    may_restart = false;
                    self.reporter.restarted(advanced);
                    continue;
                }
            } else if is_rejected {
                journal.remove();
                let _ = parts.abort_multipart(path, &id).await;
                // The parts of an earlier call may be wrong. The parts of this call alone would be
                // the same again.
                if resumed > 0 && may_restart {
                    may_restart = false;
                    self.reporter.restarted(advanced);
                    continue;
                }
            } else if error.kind() == ErrorKind::Invalid || !journal.is_kept() {
                // The parts cannot be used again if the contents changed or cannot be read, or if
                // the next call finds no journal.
                journal.remove();
                let _ = parts.abort_multipart(path, &id).await;
            }
            return Err(error);
        }
    }

    /// Continues the upload in the journal if its header is the same, otherwise aborts it and
    /// begins a new upload.
    async fn begin(
        &self,
        header: &UploadHeader,
        path: &Path,
        parts: &dyn MultipartStore,
    ) -> Result<Upload, Error> {
        let file = self.cache.as_ref();
        let file = file.map(|cache| cache::file(cache, "uploads", &header.target));
        if let Some(((old, id), done)) = Journal::read::<(UploadHeader, String)>(file.as_deref()) {
            if old == *header {
                let journal = Journal::resume(file);
                return Ok(Upload { id, done, journal });
            }
            if old.target == header.target {
                let _ = parts.abort_multipart(path, &id).await;
            }
        }
        let create = || {
            let options = PutMultipartOptions {
                attributes: self.attributes(header.sha256.as_deref()),
                ..PutMultipartOptions::default()
            };
            parts.create_multipart_opts(path, options)
        };
        let permit = self.limits.request().await;
        let created = self.store().with_renewal(create).await;
        drop(permit);
        let id = created.map_err(|error| error::convert(&error, &self.doing(path)))?;
        Ok(Upload { journal: Journal::begin(file, &(header, &id)), id, done: BTreeMap::new() })
    }

    /// Uploads the parts that are not in `upload.done`, and records them.
    async fn send_missing(
        self: &Arc<Self>,
        name: &str,
        source: &SourceItem,
        path: &Path,
        header: &UploadHeader,
        upload: &Arc<Mutex<Upload>>,
        advanced: &Arc<Mutex<u64>>,
    ) -> Result<(), Error> {
        let (id, missing) = {
            let upload = upload.lock();
            let is_missing = |part: &usize| !upload.done.contains_key(part);
            let missing: Vec<_> = (0..header.parts()).filter(is_missing).collect();
            (upload.id.clone(), missing)
        };
        let send = |part: usize| {
            let (uploads, upload) = (Arc::clone(self), Arc::clone(upload));
            let (source, path, id) = (source.clone(), path.clone(), id.clone());
            let (name, advanced) = (name.to_owned(), Arc::clone(advanced));
            let start = part as u64 * header.part_size;
            let range = start..start + header.length(part);
            async move {
                let length = range.end - range.start;
                let tag = match &source {
                    SourceItem::Object(object) if uploads.copies_on_server(object) => {
                        let _permit = uploads.limits.request().await;
                        let target = (&path, id.as_str(), part);
                        let store = uploads.store();
                        let copy = || store.copy_part(&object.path, range.clone(), target);
                        let copied = store.with_renewal(copy).await;
                        copied.map_err(|error| error::convert(&error, &uploads.doing(&path)))?
                    }
                    _ => {
                        let _contents = uploads.limits.bytes(length).await;
                        let bytes = source.read(range, &uploads.limits).await?;
                        let _permit = uploads.limits.request().await;
                        uploads.put_part(&path, &id, part, bytes).await?
                    }
                };
                let mut upload = upload.lock();
                upload.journal.record(part, &tag);
                upload.done.insert(part, tag);
                *advanced.lock() += length;
                uploads.reporter.advanced(&name, length);
                Ok(())
            }
        };
        let at_once = usize::try_from(IN_FLIGHT / header.part_size).unwrap_or(1);
        let concurrency = Concurrency::Fixed(at_once.max(1));
        self.limits.run_all(concurrency, missing.into_iter().map(send)).await
    }

    async fn put_part(
        &self,
        path: &Path,
        id: &String,
        part: usize,
        bytes: Bytes,
    ) -> Result<String, Error> {
        let put = || async {
            let parts = self
                .store()
                .parts()
                .ok_or(object_store::Error::NotSupported { source: "uploads in parts".into() })?;
            parts.put_part(path, id, part, bytes.clone().into()).await
        };
        let put = self.store().with_renewal(put).await;
        let put = put.map_err(|error| error::convert(&error, &self.doing(path)))?;
        Ok(put.content_id)
    }

    async fn complete(
        &self,
        path: &Path,
        header: &UploadHeader,
        upload: &Mutex<Upload>,
        parts: &dyn MultipartStore,
    ) -> Result<Option<String>, Error> {
        let (id, done) = {
            let upload = upload.lock();
            (upload.id.clone(), upload.done.clone())
        };
        let tags = (0..header.parts()).filter_map(|part| done.get(&part).cloned());
        let tags: Vec<_> = tags.map(|content_id| PartId { content_id }).collect();
        let complete = || parts.complete_multipart(path, &id, tags.clone());
        let _permit = self.limits.request().await;
        let completed = self.store().with_renewal(complete).await;
        let completed = completed.map_err(|error| error::convert(&error, &self.doing(path)))?;
        Ok(completed.e_tag)
    }

    /// Returns the entity tag of the object if its size and its SHA-256 are those of the upload.
    async fn find_complete(&self, path: &Path, header: &UploadHeader) -> Option<String> {
        let info = self.bucket.head(path.as_ref()).await.ok()?;
        let expected = header.sha256.as_deref()?;
        let is_same = info.sha256() == Some(expected) && info.size() == header.size;
        info.etag().filter(|_| is_same).map(str::to_owned)
    }
}

/// Returns `true` if OBS would reject the same request again.
fn is_rejection(error: &Error) -> bool {
    let status = error.status().unwrap_or_default();
    (400..500).contains(&status) && !matches!(status, 403 | 408 | 429)
}
