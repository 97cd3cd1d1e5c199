//! Reading and comparison of local files and objects.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use bytes::Bytes;
use futures::TryStreamExt;
use modelarts_ext::{Error, ErrorKind};
use object_store::{Attribute, GetOptions, GetRange, ObjectStore, path::Path};

use crate::{
    bucket::{Bucket, SHA256},
    error,
    sync::{
        digest::{Hasher, Stamp, hash_file, md5_of_etag},
        limits::{Limits, blocking},
    },
};

/// Size of the ranges in which an object is read, in bytes.
pub(crate) const RANGE: u64 = 8 << 20;

/// File or object that is compared or transferred.
#[derive(Clone)]
pub(crate) enum SourceItem {
    File { path: PathBuf, stamp: Stamp },
    Object(Object),
}

/// Object with the properties that it had when it was listed.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) bucket: Bucket,
    pub(crate) path: Path,
    pub(crate) size: u64,
    pub(crate) etag: Option<String>,
}

/// Contents of an object, or of a part of it.
pub(crate) struct Content {
    pub(crate) bytes: Bytes,
    /// SHA-256 of the whole object from its metadata, if it has this metadata.
    pub(crate) sha256: Option<String>,
}

impl SourceItem {
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File { stamp, .. } => stamp.size,
            Self::Object(object) => object.size,
        }
    }

    /// Reads a range, which must be within the size. Returns an error if the file or the object
    /// changed since it was listed. A file may have become longer.
    pub(crate) async fn read(&self, range: Range<u64>, limits: &Limits) -> Result<Bytes, Error> {
        let (path, stamp) = match self {
            Self::Object(object) => {
                let _permit = limits.request().await;
                return Ok(object.read(range, limits).await?.bytes);
            }
            Self::File { path, stamp } => (path.clone(), *stamp),
        };
        let buffers = Arc::clone(limits.buffers());
        blocking(move || {
            let read = || {
                let mut file = File::open(&path)?;
                let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
                let mut buffer = buffers.take(length);
                buffer.bytes().resize(length, 0);
                file.seek(SeekFrom::Start(range.start))?;
                file.read_exact(buffer.bytes())?;
                let now = Stamp::new(&file.metadata()?);
                let is_usable = now == stamp || now.has_grown(&stamp);
                Ok::<_, io::Error>(is_usable.then(|| buffer.freeze()))
            };
            match read() {
                Ok(Some(bytes)) => Ok(bytes),
                Ok(None) => Err(changed(&path)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(changed(&path)),
                Err(error) => Err(error::local("reading", &path, &error)),
            }
        })
        .await
    }

    /// Returns the SHA-256 of the contents. For an object of a server, it is read from the
    /// metadata; `None` if it is missing there or the object changed.
    pub(crate) async fn sha256(&self, limits: &Limits) -> Result<Option<String>, Error> {
        let (path, stamp) = match self {
            Self::Object(object) => return object.sha256(limits).await,
            Self::File { path, stamp } => (path.clone(), *stamp),
        };
        let checksums = blocking(move || {
            let hash = || Ok((hash_file(&path, stamp.size, false)?, Stamp::read(&path)?));
            match hash() {
                Ok((checksums, now)) if now == stamp || now.has_grown(&stamp) => Ok(checksums),
                Ok(_) => Err(changed(&path)),
                Err(error) => Err(error::local("reading", &path, &error)),
            }
        });
        Ok(Some(checksums.await?.sha256))
    }

    /// Returns `true` if `etag` is the MD5 of these contents. If the contents are those of an
    /// object, the entity tag of the object is compared with `etag`.
    pub(crate) async fn matches_etag(&self, etag: Option<&str>) -> Result<bool, Error> {
        let Some(md5) = etag.and_then(md5_of_etag) else {
            return Ok(false);
        };
        match self {
            Self::Object(object) => Ok(object.etag.as_deref().and_then(md5_of_etag) == Some(md5)),
            Self::File { path, stamp } => {
                let (path, size) = (path.clone(), stamp.size);
                let checksums = blocking(move || {
                    hash_file(&path, size, true)
                        .map_err(|error| error::local("reading", &path, &error))
                });
                Ok(checksums.await?.md5.as_deref() == Some(md5))
            }
        }
    }
}

impl SourceItem {
    /// Returns `true` if the file has become longer since it was listed. Blocks.
    pub(crate) fn has_grown(&self) -> bool {
        match self {
            Self::File { path, stamp } => Stamp::read(path).is_ok_and(|now| now.has_grown(stamp)),
            Self::Object(_) => false,
        }
    }
}

impl Object {
    /// Describes an operation on the object, for an error message.
    pub(crate) fn doing(&self, verb: &str) -> String {
        format!("{verb} obs://{}/{}", self.bucket.name(), self.path)
    }

    /// Reads a range. Returns an error if the object changed since it was listed.
    pub(crate) async fn read(&self, range: Range<u64>, limits: &Limits) -> Result<Content, Error> {
        let whole = range == (0..self.size);
        let length = range.end - range.start;
        let capacity = usize::try_from(length).unwrap_or_default();
        let options = GetOptions {
            // An empty object has no ranges, so a whole object is requested without a range.
            range: (!whole).then_some(GetRange::Bounded(range)),
            if_match: self.etag.clone(),
            ..GetOptions::default()
        };
        let get = |objects: Arc<dyn ObjectStore>| {
            let options = options.clone();
            async move {
                let found = objects.get_opts(&self.path, options).await?;
                let sha256 = found.attributes.get(&Attribute::Metadata(SHA256.into()));
                let sha256 = sha256.map(|value| value.as_ref().to_owned());
                let mut buffer = limits.buffers().take(capacity);
                buffer.bytes().clear();
                let mut chunks = found.into_stream();
                while let Some(chunk) = chunks.try_next().await? {
                    buffer.bytes().extend_from_slice(&chunk);
                }
                let bytes = buffer.freeze();
                Ok(Content { bytes, sha256 })
            }
        };
        let content = self.bucket.store().call(|| self.doing("reading"), get).await;
        let content = content.map_err(|error| match error.status() {
            Some(412) => self.changed(),
            _ => error,
        })?;
        match content.bytes.len() as u64 == length {
            true => Ok(content),
            false => Err(self.changed()),
        }
    }

    /// Returns the SHA-256 in the metadata, or computes it in a local directory, which has no
    /// metadata. Returns `None` if the metadata has none or the object changed since the list.
    pub(crate) async fn sha256(&self, limits: &Limits) -> Result<Option<String>, Error> {
        if self.bucket.store().has_metadata() {
            let _permit = limits.request().await;
            let info = self.bucket.head(self.path.as_ref()).await?;
            let same = self.etag.is_none() || info.etag() == self.etag.as_deref();
            return Ok(info.sha256().filter(|_| same).map(str::to_owned));
        }
        let mut hasher = Hasher::new(false);
        let mut start = 0;
        while start < self.size {
            let end = (start + RANGE).min(self.size);
            let _permit = limits.bytes(end - start).await;
            hasher.update(&self.read(start..end, limits).await?.bytes);
            start = end;
        }
        Ok(Some(hasher.finish().sha256))
    }

    /// Returns an error if the object has a SHA-256 in its metadata that differs from that of its
    /// contents. The entity tag is not compared, because the entity tag of an encrypted object is
    /// not the MD5 of its contents (`obs_04_0105`).
    pub(crate) fn verify(&self, expected: Option<&str>, found: &str) -> Result<(), Error> {
        let Some(expected) = expected.filter(|expected| !expected.eq_ignore_ascii_case(found))
        else {
            return Ok(());
        };
        let message = format!(
            "{}: the SHA-256 of the contents must be {expected} and is {found}",
            self.doing("reading")
        );
        Err(Error::new(ErrorKind::Unexpected, message).with_advice(Some(
            "call again; if the error stays, the object is damaged, and must be uploaded again"
                .to_owned(),
        )))
    }

    fn changed(&self) -> Error {
        let message = format!("{}: the object changed meanwhile", self.doing("reading"));
        Error::new(ErrorKind::Invalid, message)
            .with_advice(Some("call again when nothing writes the object any more".to_owned()))
    }
}

/// Creates the error for a file that changed during its upload.
pub(crate) fn changed(path: &std::path::Path) -> Error {
    let message = format!("the file {} must not change while it is sent, and did", path.display());
    Error::new(ErrorKind::Invalid, message)
        .with_advice(Some("call again when nothing writes the file any more".to_owned()))
}
