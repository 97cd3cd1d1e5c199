//! Local directory that is used as a bucket.

use std::{
    fmt, fs, io,
    path::{Path as FilePath, PathBuf},
};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, future::ready, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    local::LocalFileSystem, path::Path,
};

/// Object store whose objects are the files of a directory. The crate `object_store` also follows
/// links that lead out of the directory. This type rejects operations on objects behind such links,
/// and omits these objects from lists.
#[derive(Debug)]
pub(super) struct Directory {
    files: LocalFileSystem,
    /// Canonical path of the directory.
    root: PathBuf,
}

impl Directory {
    /// Opens a directory, which must exist.
    pub(super) fn open(path: &FilePath) -> Result<Self> {
        let root = fs::canonicalize(path).map_err(|failure| failed(path, failure))?;
        Ok(Self { files: LocalFileSystem::new_with_prefix(&root)?, root })
    }

    /// Checks that the file of an object is in the directory. If the file does not exist, its
    /// nearest existing ancestor must be in the directory.
    fn check(&self, location: &Path) -> Result<()> {
        let path = self.files.path_to_filesystem(location)?;
        let existing = path.ancestors().find_map(|path| fs::canonicalize(path).ok());
        match existing.filter(|real| !real.starts_with(&self.root)) {
            None => Ok(()),
            Some(real) => {
                let message = format!(
                    "a link leads to {}, which must be inside of {}",
                    real.display(),
                    self.root.display()
                );
                Err(failed(&path, io::Error::other(message)))
            }
        }
    }

    /// Returns a filter that keeps the listed objects whose files are in the directory.
    fn filter(&self) -> impl FnMut(&ObjectMeta) -> bool + use<> {
        let (files, root) = (self.files.clone(), self.root.clone());
        // The result for the last parent is kept, because the files of a directory are listed one
        // after the other.
        let mut last = None;
        move |object| {
            let Ok(path) = files.path_to_filesystem(&object.location) else {
                return false;
            };
            let is_inside =
                |path: &FilePath| fs::canonicalize(path).is_ok_and(|real| real.starts_with(&root));
            let Some(parent) = path.parent() else {
                return false;
            };
            let parent_is_inside = match &last {
                Some((known, is_inside)) if known == parent => *is_inside,
                _ => {
                    let is_inside = is_inside(parent);
                    last = Some((parent.to_owned(), is_inside));
                    is_inside
                }
            };
            let is_link = || path.is_symlink();
            let is_kept = parent_is_inside && (!is_link() || is_inside(&path));
            if !is_kept {
                tracing::debug!(path = %path.display(), "left out, because a link leads out");
            }
            is_kept
        }
    }
}

fn failed(path: &FilePath, failure: io::Error) -> Error {
    Error::PermissionDenied { path: path.display().to_string(), source: Box::new(failure) }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Directory {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.check(location)?;
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check(location)?;
        self.files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.check(location)?;
        self.files.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let checks = Self { files: self.files.clone(), root: self.root.clone() };
        let locations = locations.and_then(move |location| {
            let checked = checks.check(&location);
            ready(checked.map(|()| location))
        });
        self.files.delete_stream(locations.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let mut is_inside = self.filter();
        let all = self.files.list(prefix);
        all.try_filter(move |object| ready(is_inside(object))).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut list = self.files.list_with_delimiter(prefix).await?;
        list.objects.retain(self.filter());
        list.common_prefixes.retain(|path| self.check(path).is_ok());
        Ok(list)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.check(from)?;
        self.check(to)?;
        self.files.copy_opts(from, to, options).await
    }
}
