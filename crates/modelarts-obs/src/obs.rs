//! Connection to OBS.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
};

use modelarts_ext::{Client, Error, ErrorKind};

use crate::{
    address::ObsPath,
    bucket::Bucket,
    storage::{
        location::Location,
        store::{Connection, Store},
    },
};

/// Connection to OBS, or to a local directory instead. Clones share connections.
///
/// ```no_run
/// # fn main() -> Result<(), modelarts_ext::Error> {
/// use modelarts_ext::Client;
/// use modelarts_obs::Obs;
///
/// let obs = Obs::new(&Client::from_env()?)?;
/// let bucket = obs.bucket("my-bucket")?;
/// # Ok(()) }
/// ```
///
/// [`Client::obs_endpoint`] returns the address: the environment variable `MODELARTS_OBS_ENDPOINT`,
/// otherwise the endpoint of OBS in the region of the client.
///
/// | address | objects |
/// |---|---|
/// | `https://obs.eu-de.otc.t-systems.com` | OBS, virtual-hosted style: bucket in the host name |
/// | `http://127.0.0.1:9000` | a server on this machine, path style: bucket in the path |
/// | `file:///data/obs` | a local directory, with a subdirectory for each bucket |
///
/// The cache contains checksums of files and objects, and the state of incomplete transfers. Its
/// directory is `MODELARTS_CACHE_DIR`, otherwise a directory in the cache directory of the user
/// (`~/.cache/modelarts` on Linux). The cache can be deleted at any time.
#[derive(Clone)]
pub struct Obs {
    inner: Arc<Inner>,
    /// Directory of the cache, or `None` if the user has no cache directory.
    cache: Option<Arc<Path>>,
}

/// Environment variable with the directory of the cache.
const CACHE_VARIABLE: &str = "MODELARTS_CACHE_DIR";

struct Inner {
    place: Location,
    /// Connection settings; `None` for a local directory.
    connection: Option<Connection>,
}

impl fmt::Debug for Obs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Obs").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl Obs {
    /// Creates a connection with the settings of a client: address, region, credentials, retry
    /// policy and certificates. No request is sent.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_obs::Obs;
    ///
    /// let bucket = Obs::new(&client)?.bucket("my-bucket")?;
    /// bucket.put("configs/bert.yaml", "epochs: 3\n").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the address of OBS is unknown or invalid, if the regions file is
    /// invalid, or if TLS cannot be set up.
    pub fn new(client: &Client) -> Result<Self, Error> {
        let address = client.obs_endpoint()?.ok_or_else(|| {
            Error::new(
                ErrorKind::Config,
                "no address of OBS; set MODELARTS_OBS_ENDPOINT, or MODELARTS_REGION to the region \
                 of the bucket",
            )
        })?;
        Self::with_address(client, &address)
    }

    /// Creates a connection like [`new`](Self::new), with this address of OBS.
    ///
    /// # Errors
    /// Returns an error if `address` or the regions file is invalid, or if TLS cannot be set up. An
    /// address is a host, optionally with a scheme and a port, or a `file://` URL with an absolute
    /// path. The scheme `http` is allowed only for loopback addresses.
    pub fn with_address(client: &Client, address: &str) -> Result<Self, Error> {
        let place = Location::parse(address)?;
        let connection = match &place {
            Location::Service { endpoint, .. } => Some(Connection::new(client, endpoint)?),
            Location::Directory(_) => None,
        };
        let variable = client.environment().variable(CACHE_VARIABLE);
        let cache = variable.map(PathBuf::from).or_else(user_cache);
        Ok(Self { inner: Arc::new(Inner { place, connection }), cache: cache.map(Arc::from) })
    }

    /// Creates a connection to a local directory instead of OBS, such as the OBS root of the
    /// emulator. Each bucket is a subdirectory. Symbolic links that lead out of it are not
    /// followed.
    #[must_use]
    pub fn directory(root: impl Into<PathBuf>) -> Self {
        Self {
            inner: Arc::new(Inner { place: Location::Directory(root.into()), connection: None }),
            cache: user_cache().map(Arc::from),
        }
    }

    /// Sets the directory of the cache, which is created when the cache is first written.
    #[must_use]
    pub fn with_cache_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.cache = Some(Arc::from(directory.as_ref()));
        self
    }

    /// Returns the directory of the cache, or `None` if the user has no cache directory.
    pub(crate) fn cache_dir(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Returns the address of OBS or of the local directory, for messages.
    #[must_use]
    pub fn address(&self) -> String {
        self.inner.place.to_string()
    }

    /// Returns a bucket. No request is sent, so the bucket need not exist.
    ///
    /// # Errors
    /// Returns an error if `name` is invalid (see [`ObsPath::new`]), or if it has dots and becomes
    /// part of the host name of an https URL, which the certificate of OBS does not cover.
    pub fn bucket(&self, name: &str) -> Result<Bucket, Error> {
        let address = ObsPath::new(name, "")?;
        let store = match (&self.inner.place, &self.inner.connection) {
            (Location::Directory(root), _) => Store::Directory(root.join(name)),
            (place, Some(connection)) => Store::service(connection, place, name)?,
            (Location::Service { .. }, None) => {
                return Err(Error::new(
                    ErrorKind::Config,
                    "a server needs the settings of a client",
                ));
            }
        };
        Ok(Bucket::new(address.bucket(), store))
    }

    /// Returns the number of requests that the service throttled, which increases.
    pub(crate) fn throttled(&self) -> Arc<AtomicU64> {
        self.inner.connection.as_ref().map(Connection::throttled).unwrap_or_default()
    }
}

/// Returns `MODELARTS_CACHE_DIR`, or `modelarts` in the cache directory of the user if it is unset.
/// Returns `None` if that directory is unknown.
fn user_cache() -> Option<PathBuf> {
    if let Some(path) = env::var_os(CACHE_VARIABLE).filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let variable = |name: &str| {
        let path = env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let base = variable("XDG_CACHE_HOME").or_else(|| match env::consts::OS {
        "windows" => variable("LOCALAPPDATA"),
        "macos" => Some(env::home_dir()?.join("Library/Caches")),
        _ => Some(env::home_dir()?.join(".cache")),
    });
    Some(base.filter(|path| path.is_absolute())?.join("modelarts"))
}
