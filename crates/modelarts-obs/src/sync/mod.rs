//! Synchronization of directories with OBS: uploads, downloads, and copies within OBS.
//!
//! A [`DirectorySync`] transfers the files that are missing at the target or have other contents
//! there. It keeps all other files of the target, unless [`delete`](DirectorySync::delete) is set.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use modelarts_obs::Obs;
//!
//! # let root = tempfile::tempdir()?;
//! # let data = root.path().join("data");
//! # std::fs::create_dir_all(&data)?;
//! # std::fs::write(data.join("rows.csv"), "1,2\n")?;
//! # let obs = Obs::directory(root.path().join("obs")).with_cache_dir(root.path().join("cache"));
//! # obs.bucket("my-bucket")?.create().await?;
//! let summary = obs.sync_up(&data, "obs://my-bucket/data").await?;
//! assert_eq!((summary.transferred.files, summary.transferred.bytes), (1, 4));
//!
//! // The second call finds the same contents, so it transfers nothing.
//! let summary = obs.sync_up(&data, "obs://my-bucket/data").await?;
//! assert_eq!((summary.transferred.files, summary.unchanged.files), (0, 1));
//!
//! let summary = obs.sync_down("obs://my-bucket/data", root.path().join("out")).await?;
//! assert_eq!(summary.transferred.files, 1);
//! assert_eq!(std::fs::read(root.path().join("out/rows.csv"))?, b"1,2\n");
//! # Ok(()) }
//! ```
//!
//! # Names
//!
//! The files of a directory are stored below the address, without the name of the directory:
//! `sync_up("data", "obs://my-bucket/in")` writes `data/a/b.csv` to `obs://my-bucket/in/a/b.csv`. A
//! single file or object keeps its name: `sync_up("train.py", "obs://my-bucket/code")` writes
//! `obs://my-bucket/code/train.py`.
//!
//! # Contents
//!
//! Contents are compared by size and SHA-256. Modification times are not compared, because the time
//! of an object is that of its upload. A synchronization stores the SHA-256 of an object in its
//! metadata `sha256`. An object without this metadata is compared by its entity tag. The entity tag
//! is the MD5 of the contents only if the object was uploaded in one request and OBS does not
//! encrypt it. Any other object without the metadata counts as changed until a synchronization
//! transfers it.
//!
//! The cache stores the checksums of files with their size, modification time and inode, and the
//! checksums of objects with their entity tags. Once they are in the cache, a synchronization
//! without changes reads no file, and sends one request per 1,000 objects.
//!
//! OBS does not store the modes, the owners and the modification times of files. A download creates
//! a new file, which replaces an existing one.
//!
//! A file that cannot be transferred, such as one whose name is that of a directory at the target, does
//! not affect the others: [`SyncEvent::Failed`] names it, and the synchronization ends with an error.
//!
//! # Files that are left out
//!
//! [`sync_up`](crate::Obs::sync_up) does not send the following files and directories.
//! [`SyncEvent::Skipped`] and [`Summary::skipped`] contain their paths, each with the reason.
//!
//! - `.git`, `__pycache__`, `node_modules`, virtual environments of Python
//! - directories with `state.sqlite3` or `data/state.sqlite3`: the data directory of an emulator,
//!   and its parent directory, by default `modelarts-emulator-data`
//! - names of credentials, in upper or lower case: `.env*`, `*.pem`, `*.p12`, `*.pfx`, `*.ppk`,
//!   `id_dsa`, `id_ecdsa`, `id_ecdsa_sk`, `id_ed25519`, `id_ed25519_sk`, `id_rsa`, `clouds.yaml`,
//!   `clouds.yml`, `secure.yaml`, `secure.yml`, `.huaweicloud`, `.aws`, `.ssh`, `.netrc`,
//!   `.obsutilconfig`, `.s3cfg`, `connection.json`, `emulator.env`
//! - files of up to 64 KiB with a private key in PEM format, which begins in the first 4 KiB
//! - the file to which the standard output or error of this program is redirected, unless a line
//!   `!NAME` of a `.modelartsignore` applies
//! - sockets, named pipes, devices, incomplete downloads
//! - in the home directory itself, hidden files and directories, except ignore files
//! - matches of the patterns in `.modelartsignore`, which has the syntax of `.gitignore` and may be
//!   in any directory
//! - matches of the patterns in `.gitignore`, if [`gitignore`](DirectorySync::gitignore) is set and
//!   the synchronized directory contains no `.modelartsignore`
//!
//! Symbolic links within the synchronized directory are followed. A link is left out if it leads to
//! a directory that contains the link, or to a path that is always left out or is below such a
//! path. A broken link is an error, and so is a link out of the synchronized directory.
//!
//! A file that becomes longer while it is sent is sent with the size that it had when it was listed;
//! [`Summary::grown`] contains its path. A file that changes in another way is an error.
//!
//! Files that are left out count as present at the source, so [`delete`](DirectorySync::delete)
//! does not delete them at the target.
//!
//! # Large files
//!
//! A file of 16 MiB or more is sent as a multipart upload in parts of 8 MiB. The parts are larger
//! if the file would otherwise have more than 10,000 of them. All transfers of a synchronization
//! together hold at most 32 MiB of contents in memory, or one part that is larger.
//!
//! The next call continues a synchronization that failed or was killed: it does not transfer
//! complete files again, and resumes the upload or the download of a large file after the complete
//! parts. A download is written to `.NAME.modelarts-part`, verified by the SHA-256 in the metadata
//! of the object, if there is one, and renamed. If two synchronizations download the same file at
//! the same time, the second one fails unless the first one finishes within 3 seconds.

mod cache;
pub(crate) mod concurrency;
pub(crate) mod digest;
mod download;
pub(crate) mod files;
mod journal;
pub(crate) mod limits;
mod listing;
mod parts;
mod plan;
pub(crate) mod progress;
mod run;
pub(crate) mod side;
pub(crate) mod source;
mod synchronization;
mod target;
mod upload;
mod write_file;

pub use progress::{Amount, Progress, SkipReason, Skipped, Summary, SyncEvent};

use std::{
    collections::BTreeMap,
    future::IntoFuture,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream, PollNext},
};
use modelarts_ext::Error;

use crate::{
    address::ObsPath,
    obs::Obs,
    sync::{
        concurrency::Concurrency, limits::MAX_TRANSFERS, progress::Reporter,
        synchronization::Options,
    },
};

/// Synchronization of a directory or of a single file. Awaiting it returns its [`Summary`];
/// [`stream`](Self::stream) returns its progress. The [module](self) describes which files are
/// transferred.
#[derive(Clone, Debug)]
#[must_use = "a synchronization does nothing unless it is awaited or read as a stream"]
pub struct DirectorySync {
    obs: Obs,
    direction: Direction,
    /// Paths that are not sent.
    excluded: Vec<String>,
    /// Files of an upload, if they were listed before.
    listing: Option<Arc<files::Listing>>,
    /// Addresses of objects with the contents of files, which are copied instead of sent.
    copies: BTreeMap<String, ObsPath>,
    options: Options,
}

#[derive(Clone, Debug)]
enum Direction {
    Up(PathBuf, String),
    Down(String, PathBuf),
    Copy(String, String),
}

impl Obs {
    /// Uploads the files of a directory to an address, such as `obs://my-bucket/data`. A single
    /// file is uploaded to its name below the address.
    ///
    /// ```no_run
    /// # async fn example(obs: modelarts_obs::Obs) -> Result<(), modelarts_ext::Error> {
    /// let summary = obs.sync_up("./images", "obs://my-bucket/images").await?;
    /// println!("{} files sent, {} unchanged", summary.transferred.files, summary.unchanged.files);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The synchronization fails if the directory does not exist or has no files, a file cannot be
    /// read or changes during its upload, a link is broken or leads out of the directory, a
    /// `.modelartsignore` is invalid, `to` or a name is not valid in OBS, or a request fails.
    pub fn sync_up(&self, path: impl AsRef<Path>, to: impl Into<String>) -> DirectorySync {
        let path = path.as_ref().to_owned();
        DirectorySync::new(self, Direction::Up(path, to.into()))
    }

    /// Downloads the objects below an address to a directory, which is created if it does not
    /// exist. A single object keeps its name.
    ///
    /// ```no_run
    /// # async fn example(obs: modelarts_obs::Obs) -> Result<(), modelarts_ext::Error> {
    /// let summary = obs.sync_down("obs://my-bucket/models/bert-base-1", "./model").await?;
    /// println!("{} files received", summary.transferred.files);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The synchronization fails if `from` is invalid or no objects exist, an object has the wrong
    /// checksum or changes during its download, a name cannot be a file on this system, a link
    /// leads out of the directory, a file cannot be written, or a request fails.
    pub fn sync_down(&self, from: impl Into<String>, directory: impl AsRef<Path>) -> DirectorySync {
        let directory = directory.as_ref().to_owned();
        DirectorySync::new(self, Direction::Down(from.into(), directory))
    }

    /// Copies the objects below an address to another address. OBS copies objects within one bucket,
    /// those above 5 GiB in parts. The contents of all others pass through this machine, and their copies
    /// have no metadata except the SHA-256.
    ///
    /// # Errors
    /// The synchronization fails if an address is invalid, no objects exist, one address contains
    /// the other, or a request fails. The error names the object or the addresses.
    pub fn copy(&self, from: impl Into<String>, to: impl Into<String>) -> DirectorySync {
        DirectorySync::new(self, Direction::Copy(from.into(), to.into()))
    }
}

impl DirectorySync {
    fn new(obs: &Obs, direction: Direction) -> Self {
        Self {
            obs: obs.clone(),
            direction,
            excluded: Vec::new(),
            listing: None,
            copies: BTreeMap::new(),
            options: Options {
                delete: false,
                dry_run: false,
                gitignore: false,
                transfers: Concurrency::default(),
            },
        }
    }

    /// Deletes the files of the target that the source does not have, after all transfers. Default:
    /// `false`. An upload and a download keep files that are left out, and a download keeps links.
    /// Nothing is deleted if the source is a single file or object.
    pub fn delete(mut self, delete: bool) -> Self {
        self.options.delete = delete;
        self
    }

    /// Applies the patterns of `.gitignore` to an upload: those in the directory, below it, and
    /// above it up to the root of its repository. Default: `false`, because data is often ignored
    /// by git. A `.modelartsignore` in the directory replaces these patterns.
    pub fn gitignore(mut self, gitignore: bool) -> Self {
        self.options.gitignore = gitignore;
        self
    }

    /// Leaves out a file or a directory, by its path relative to the synchronized directory, with
    /// slashes, such as `data/raw`. Only [`Obs::sync_up`] of a directory uses this setting.
    pub fn exclude(mut self, path: impl Into<String>) -> Self {
        self.excluded.push(path.into());
        self
    }

    /// Uploads files that were listed before, with the contents that they had then.
    pub(crate) fn listing(mut self, listing: Arc<files::Listing>) -> Self {
        self.listing = Some(listing);
        self
    }

    /// Copies objects in place of files with the same contents, by the paths of the files.
    pub(crate) fn copies(mut self, copies: BTreeMap<String, ObsPath>) -> Self {
        self.copies = copies;
        self
    }

    /// Reports the files that would be transferred and deleted, and changes neither files nor
    /// objects. Default: `false`.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.options.dry_run = dry_run;
        self
    }

    /// Sets the maximum number of concurrent requests, limited to the range from 1 to 1,000. By
    /// default, 16 files are transferred at once, and more, up to 256, while this makes the
    /// transfers faster; half as many after the service throttled a request.
    pub fn transfers(mut self, transfers: usize) -> Self {
        self.options.transfers = Concurrency::Fixed(transfers.clamp(1, MAX_TRANSFERS));
        self
    }

    /// Returns the progress as a stream, whose last item is [`SyncEvent::Finished`] or an error.
    /// Dropping the stream stops the synchronization; the next call continues it.
    ///
    /// ```
    /// # use std::error::Error;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn Error>> {
    /// use futures::TryStreamExt;
    /// use modelarts_obs::{Obs, SyncEvent};
    ///
    /// # let root = tempfile::tempdir()?;
    /// # let data = root.path().join("data");
    /// # std::fs::create_dir_all(&data)?;
    /// # std::fs::write(data.join("rows.csv"), "1,2\n")?;
    /// # let obs =
    /// # Obs::directory(root.path().join("obs")).with_cache_dir(root.path().join("cache"));
    /// # obs.bucket("my-bucket")?.create().await?;
    /// let mut progress = obs.sync_up(&data, "obs://my-bucket/data").stream();
    /// while let Some(progress) = progress.try_next().await? {
    ///     match progress.event {
    ///         SyncEvent::Skipped(skipped) => println!("{}: {}", skipped.path, skipped.reason),
    ///         SyncEvent::Finished(summary) => println!("{} sent", summary.transferred.files),
    ///         _ => println!("{} of {} bytes", progress.done.bytes, progress.total.bytes),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn stream(self) -> BoxStream<'static, Result<Progress, Error>> {
        let (reporter, events) = Reporter::with_events();
        let run = self.run(reporter);
        // The run yields no items, because its result is sent as an event.
        let run = stream::once(run).filter_map(async |_| None);
        // The run is polled first, so that the same poll returns its events.
        stream::select_with_strategy(run, events, |(): &mut ()| PollNext::Left).boxed()
    }

    async fn run(self, reporter: Reporter) -> Result<Summary, Error> {
        let reporter = Arc::new(reporter);
        let result = self.transfer(&reporter).await;
        reporter.finish(result)
    }

    async fn transfer(self, reporter: &Arc<Reporter>) -> Result<(), Error> {
        let (obs, options) = (&self.obs, self.options);
        match self.direction {
            Direction::Up(path, to) => {
                let source = (path, self.excluded, self.listing, self.copies);
                run::up(obs, source, to.parse()?, options, reporter).await
            }
            Direction::Down(from, directory) => {
                let from: ObsPath = from.parse()?;
                run::down(obs, from, directory, options, reporter).await
            }
            Direction::Copy(from, to) => {
                run::copy(obs, from.parse()?, to.parse()?, options, reporter).await
            }
        }
    }
}

impl IntoFuture for DirectorySync {
    type Output = Result<Summary, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run(Reporter::silent()))
    }
}
