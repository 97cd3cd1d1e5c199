//! Buckets, and operations on their objects.

use std::{sync::Arc, time::SystemTime};

use bytes::Bytes;
use futures::{
    Stream, StreamExt, TryStreamExt,
    future::ready,
    stream::{self, BoxStream},
};
use modelarts_ext::Error;
use object_store::{
    Attribute, Attributes, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutOptions,
    path::Path,
};

use crate::{
    address::{self, ObsPath},
    error,
    storage::store::Store,
};

/// Bucket of OBS, or a local subdirectory that is used as a bucket. Clones share connections.
///
/// ```
/// # use std::error::Error;
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn Error>> {
/// use futures::TryStreamExt;
/// use modelarts_obs::Obs;
///
/// # let root = tempfile::tempdir()?;
/// let bucket = Obs::directory(root.path()).bucket("my-bucket")?;
/// bucket.create().await?;
/// bucket.put("data/rows.csv", "1,2\n").await?;
/// assert_eq!(bucket.get("data/rows.csv").await?, "1,2\n");
/// let objects: Vec<_> = bucket.list("data").try_collect().await?;
/// assert_eq!((objects[0].key(), objects[0].size()), ("data/rows.csv", 4));
/// bucket.delete("data/rows.csv").await?;
/// assert!(!bucket.exists("data/rows.csv").await?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Bucket {
    name: String,
    store: Store,
}

/// Key and properties of an object, without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    key: String,
    size: u64,
    modified: SystemTime,
    etag: Option<String>,
    sha256: Option<String>,
}

/// Name of the object metadata in which a synchronization stores the SHA-256 of the contents.
pub(crate) const SHA256: &str = "sha256";

impl ObjectInfo {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the time of the last modification, which in OBS is the time of the upload.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Returns the entity tag, which changes with the contents, or `None` if the server sent none.
    #[must_use]
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// Returns the SHA-256 of the contents in hexadecimal digits, from the metadata of the object
    /// (see [`sync`](crate::sync)). Returns `None` for objects without it, such as those of
    /// [`Bucket::put`] or of a local directory, and for items of a list, which contain no metadata.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    fn new(meta: ObjectMeta, attributes: &Attributes) -> Self {
        let sha256 = attributes.get(&Attribute::Metadata(SHA256.into()));
        Self {
            key: meta.location.into(),
            size: meta.size,
            modified: meta.last_modified.into(),
            etag: meta.e_tag,
            sha256: sha256.map(|value| value.as_ref().to_owned()),
        }
    }
}

impl Bucket {
    pub(crate) fn new(name: &str, store: Store) -> Self {
        Self { name: name.to_owned(), store }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of a key.
    ///
    /// # Errors
    /// Returns an error for an invalid key; see [`ObsPath::new`].
    pub fn path(&self, key: &str) -> Result<ObsPath, Error> {
        ObsPath::new(&self.name, key)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns `true` if both values are the same bucket of the same connection, or the same local
    /// directory.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.store.is_same_service(&other.store)
    }

    /// Describes an operation on a key, for an error message.
    fn doing(&self, verb: &str, key: &str) -> String {
        format!("{verb} obs://{}/{key}", self.name)
    }

    /// Writes an object, and replaces an existing one. The contents are sent in one request, so
    /// they should be small; [`sync_up`](crate::Obs::sync_up) uploads files of any size.
    ///
    /// ```no_run
    /// # async fn example(bucket: modelarts_obs::Bucket) -> Result<(), modelarts_ext::Error> {
    /// bucket.put("configs/bert.yaml", "epochs: 3\n").await?;
    /// println!("written to {}", bucket.path("configs/bert.yaml")?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for an invalid key, and if the request fails.
    pub async fn put(&self, key: &str, contents: impl Into<Bytes>) -> Result<(), Error> {
        let path = object_path(key)?;
        let contents = contents.into();
        let put = |objects: Arc<dyn ObjectStore>| {
            let (path, contents) = (path.clone(), contents.clone());
            async move { objects.put_opts(&path, contents.into(), PutOptions::default()).await }
        };
        self.store.call(|| self.doing("writing", key), put).await?;
        Ok(())
    }

    /// Reads the contents of an object into memory.
    ///
    /// ```no_run
    /// # async fn example(bucket: modelarts_obs::Bucket) -> Result<(), modelarts_ext::Error> {
    /// match bucket.get("models/bert-base-1/metrics.json").await {
    ///     Ok(contents) => println!("{}", String::from_utf8_lossy(&contents)),
    ///     Err(error) if error.is_not_found() => println!("the job has not written it yet"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for an invalid key, and if the request fails. If the object or the bucket
    /// does not exist, [`Error::is_not_found`] is `true`.
    pub async fn get(&self, key: &str) -> Result<Bytes, Error> {
        let path = object_path(key)?;
        let get = |objects: Arc<dyn ObjectStore>| {
            let path = path.clone();
            async move { objects.get(&path).await?.bytes().await }
        };
        self.store.call(|| self.doing("reading", key), get).await
    }

    /// Reads an object in parts as they arrive, so that objects of any size can be passed on.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use futures::TryStreamExt;
    /// # use modelarts_obs::Obs;
    /// # let root = tempfile::tempdir()?;
    /// # let bucket = Obs::directory(root.path()).bucket("my-bucket")?;
    /// # bucket.create().await?;
    /// # bucket.put("model.bin", "0123").await?;
    /// let (object, mut parts) = bucket.get_stream("model.bin").await?;
    /// let mut read = 0;
    /// while let Some(part) = parts.try_next().await? {
    ///     read += part.len() as u64;
    /// }
    /// assert_eq!(read, object.size());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`get`](Self::get). The stream returns an error if the connection ends
    /// early.
    pub async fn get_stream(
        &self,
        key: &str,
    ) -> Result<(ObjectInfo, BoxStream<'static, Result<Bytes, Error>>), Error> {
        let path = object_path(key)?;
        let doing = self.doing("reading", key);
        let get = |objects: Arc<dyn ObjectStore>| {
            let path = path.clone();
            async move { objects.get(&path).await }
        };
        let found = self.store.call(|| doing.clone(), get).await?;
        let info = ObjectInfo::new(found.meta.clone(), &found.attributes);
        let parts = found.into_stream();
        Ok((info, parts.map_err(move |error| error::convert(&error, &doing)).boxed()))
    }

    /// Returns the keys of the directories in a directory, each with a slash at its end, and the
    /// objects in it; `""` denotes the bucket.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use modelarts_obs::Obs;
    /// # let root = tempfile::tempdir()?;
    /// # let bucket = Obs::directory(root.path()).bucket("my-bucket")?;
    /// # bucket.create().await?;
    /// bucket.put("out/metrics.json", "{}").await?;
    /// bucket.put("out/model/weights.bin", "0123").await?;
    /// let (directories, objects) = bucket.list_directory("out").await?;
    /// assert_eq!(directories, ["out/model/"]);
    /// assert_eq!(objects[0].key(), "out/metrics.json");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for an invalid key, and if a request fails.
    pub async fn list_directory(
        &self,
        directory: &str,
    ) -> Result<(Vec<String>, Vec<ObjectInfo>), Error> {
        let directory = directory.trim_matches('/');
        let prefix = match directory {
            "" => None,
            directory => Some(object_path(directory)?),
        };
        let list = |objects: Arc<dyn ObjectStore>| {
            let prefix = prefix.clone();
            async move { objects.list_with_delimiter(prefix.as_ref()).await }
        };
        let found = self.store.call(|| self.doing("listing", directory), list).await?;
        let objects = found.objects.into_iter();
        let objects = objects.map(|meta| ObjectInfo::new(meta, &Attributes::default()));
        let directories = found.common_prefixes.into_iter().map(|path| format!("{path}/"));
        Ok((directories.collect(), objects.filter(|object| object.key != directory).collect()))
    }

    /// Returns the properties of an object.
    ///
    /// # Errors
    /// Returns an error for an invalid key, and if the request fails. If the object or the bucket
    /// does not exist, [`Error::is_not_found`] is `true`.
    pub async fn head(&self, key: &str) -> Result<ObjectInfo, Error> {
        let path = object_path(key)?;
        let head = |objects: Arc<dyn ObjectStore>| {
            let path = path.clone();
            let options = GetOptions { head: true, ..GetOptions::default() };
            async move { objects.get_opts(&path, options).await }
        };
        let found = self.store.call(|| self.doing("reading", key), head).await?;
        Ok(ObjectInfo::new(found.meta, &found.attributes))
    }

    /// Returns `true` if an object with this key exists. For a bucket that does not exist, some
    /// servers return the same response as for a missing object, because a response to HEAD has no
    /// body; the result is then `false`.
    ///
    /// # Errors
    /// Returns an error for an invalid key, if the request fails, and if the server reports that
    /// the bucket does not exist.
    pub async fn exists(&self, key: &str) -> Result<bool, Error> {
        match self.head(key).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing_object(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects below a directory; `""` denotes the whole bucket. OBS returns them in the
    /// order of their keys, up to 1,000 in a response. The objects of a local directory are in no
    /// particular order.
    pub fn list(&self, directory: &str) -> impl Stream<Item = Result<ObjectInfo, Error>> + use<> {
        let list = self.clone().read_list(directory.trim_matches('/').to_owned());
        stream::once(list).try_flatten()
    }

    async fn read_list(
        self,
        directory: String,
    ) -> Result<impl Stream<Item = Result<ObjectInfo, Error>>, Error> {
        let prefix = match directory.as_str() {
            "" => None,
            directory => Some(object_path(directory)?),
        };
        let doing = self.doing("listing", &directory);
        // The first page is requested within `call`, which repeats the request if the access keys
        // have expired.
        let start = |objects: Arc<dyn ObjectStore>| {
            // The stream is fused, because the end of an empty list is polled twice.
            let mut pages = objects.list(prefix.as_ref()).fuse();
            async move { Ok((pages.try_next().await?, pages)) }
        };
        let (first, rest) = self.store.call(|| doing.clone(), start).await?;
        let rest = rest.map_err(move |error| error::convert(&error, &doing));
        let all = stream::iter(first.map(Ok))
            .chain(rest)
            .map_ok(|meta| ObjectInfo::new(meta, &Attributes::default()));
        // An object that stands for the directory itself is left out. The crate object_store
        // removes the slash at the end of its key.
        let is_object = move |object: &ObjectInfo| object.key != directory;
        Ok(all.try_filter(move |object| ready(is_object(object))))
    }

    /// Deletes an object. Returns `Ok` if the object does not exist.
    ///
    /// # Errors
    /// Returns an error for an invalid key, and if the request fails.
    pub async fn delete(&self, key: &str) -> Result<(), Error> {
        let path = object_path(key)?;
        let delete = |objects: Arc<dyn ObjectStore>| {
            let path = path.clone();
            async move { objects.delete(&path).await }
        };
        let deleted = self.store.call(|| self.doing("deleting", key), delete);
        match deleted.await {
            Err(error) if is_missing_object(&error) => Ok(()),
            result => result,
        }
    }

    /// Creates the bucket in the region of the connection.
    ///
    /// # Errors
    /// Returns an error if the request fails. OBS rejects the name of an existing bucket, of this
    /// account (code `BucketAlreadyOwnedByYou`; the bucket may be in another region) or of another
    /// one, because bucket names are unique in the cloud: [`Error::is_conflict`] is then `true`.
    pub async fn create(&self) -> Result<(), Error> {
        self.store.create_bucket(&self.name).await
    }
}

/// Returns `true` if the error reports a missing object. Returns `false` if its code is
/// `NoSuchBucket`.
pub(crate) fn is_missing_object(error: &Error) -> bool {
    error.is_not_found() && error.code() != Some("NoSuchBucket")
}

/// Checks a key, and converts it to a path of the crate `object_store`.
pub(crate) fn object_path(key: &str) -> Result<Path, Error> {
    address::check_key(key)?;
    Path::parse(key).map_err(|error| address::invalid(format!("the key {key:?}: {error}")))
}
