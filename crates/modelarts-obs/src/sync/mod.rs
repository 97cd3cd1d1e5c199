//! [`DirectorySync`]: directories to OBS, from OBS, and within OBS.
//!
//! A synchronization transfers what is missing at the target or has other contents. What the target
//! has beyond that stays, unless [`delete`](DirectorySync::delete) is set.
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
//! The files of a directory go directly below the address, without the name of the directory:
//! `sync_up("data", "obs://my-bucket/in")` writes `data/a/b.csv` to `obs://my-bucket/in/a/b.csv`. A
//! single file or object keeps its name: `sync_up("train.py", "obs://my-bucket/code")` writes
//! `obs://my-bucket/code/train.py`.
//!
//! # Contents
//!
//! Contents are compared by size and SHA-256. Times are not compared, because those of OBS are the
//! times of uploads. The checksum of an object is in its metadata `sha256`; an object that another
//! tool uploaded in one request is compared by its entity tag, which is its MD5. That of an object
//! that OBS encrypts is not, so it counts as changed until this crate uploads it. The checksums of
//! files are kept in the cache, by size, time of change and inode; those of objects by their entity
//! tags. So a synchronization without changes reads no file, and sends one request per 1,000 objects.
//!
//! OBS does not keep modes, owners and times of files. A file that is received is a new one.
//!
//! # Files that are left out
//!
//! [`SyncEvent::Skipped`] and [`Summary::skipped`] name each of them with its reason.
//!
//! | left out by [`sync_up`](crate::Obs::sync_up) | |
//! |---|---|
//! | always | `.git`, `__pycache__`, `node_modules`, virtual environments of Python |
//! | always, as credentials | `.env*`, `*.pem`, `*.p12`, `*.pfx`, `*.ppk`, `id_rsa` and the like, `clouds.yaml`, `.huaweicloud`, `.aws`, `.ssh`, `.netrc`; files of up to 64 KiB that begin as a private key in PEM |
//! | by patterns of `.modelartsignore` | in every directory, with the syntax of `.gitignore` |
//! | by patterns of `.gitignore` | with [`gitignore`](DirectorySync::gitignore), if the directory has no `.modelartsignore` |
//! | always | sockets, named pipes, devices, unfinished downloads |
//!
//! Links are followed if they lead into the directory; any other link is an error. Files that are
//! left out count as present at the source, so [`delete`](DirectorySync::delete) keeps what the
//! target has of them.
//!
//! # Large files
//!
//! Files from 16 MiB are sent in parts of 8 MiB, or larger ones if there would be more than 10,000.
//! All transfers of a synchronization hold at most 32 MiB of contents. A synchronization that fails
//! or is killed continues with the next call: what was transferred stays, and an upload or a
//! download of a large file goes on after its last complete part. Downloads are written to
//! `.NAME.modelarts-part`, verified by the SHA-256 of their metadata if they have one, and renamed.
//! A file that another synchronization receives at the same time is an error.

mod cache;
pub(crate) mod digest;
mod download;
pub(crate) mod files;
mod journal;
pub(crate) mod limits;
mod plan;
pub(crate) mod progress;
mod run;
pub(crate) mod side;
pub(crate) mod source;
mod target;
mod upload;

pub use progress::{Amount, Progress, SkipReason, Skipped, Summary, SyncEvent};

use std::{
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
    sync::{progress::Reporter, run::Options},
};

/// Number of transfers at once.
const TRANSFERS: usize = 16;

/// Synchronization of a directory. Await it for its [`Summary`], or read its progress as a
/// [`stream`](Self::stream). See the [module](self) for what is transferred.
#[derive(Clone, Debug)]
#[must_use = "a synchronization does nothing unless it is awaited or read as a stream"]
pub struct DirectorySync {
    obs: Obs,
    direction: Direction,
    /// Paths that are not sent.
    excluded: Vec<String>,
    options: Options,
}

#[derive(Clone, Debug)]
enum Direction {
    Up(PathBuf, String),
    Down(String, PathBuf),
    Copy(String, String),
}

impl Obs {
    /// Sends the files of a directory to the objects below an address, such as
    /// `obs://my-bucket/data`, or a single file to its name below the address.
    ///
    /// # Errors
    /// The synchronization fails if the directory does not exist or has no files, a file cannot be
    /// read or changes while it is sent, a link leads out of the directory, a name is not valid in
    /// OBS, or OBS rejects a request. The error names the file.
    pub fn sync_up(&self, path: impl AsRef<Path>, to: impl Into<String>) -> DirectorySync {
        let path = path.as_ref().to_owned();
        DirectorySync::new(self, Direction::Up(path, to.into()))
    }

    /// Receives the objects below an address into a directory, which is created if it does not
    /// exist. A single object keeps its name.
    ///
    /// # Errors
    /// The synchronization fails if there are no objects, an object has the wrong checksum, a name
    /// cannot be a file on this system, a link leads out of the directory, the disk is full, or OBS
    /// rejects a request. The error names the object.
    pub fn sync_down(&self, from: impl Into<String>, directory: impl AsRef<Path>) -> DirectorySync {
        let directory = directory.as_ref().to_owned();
        DirectorySync::new(self, Direction::Down(from.into(), directory))
    }

    /// Copies the objects below an address to another one. Objects of up to 5 GiB are copied within
    /// a bucket by OBS; all others pass through this machine.
    ///
    /// # Errors
    /// The synchronization fails if there are no objects, one address contains the other, or OBS
    /// rejects a request. The error names the object.
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
            options: Options {
                delete: false,
                dry_run: false,
                gitignore: false,
                transfers: TRANSFERS,
            },
        }
    }

    /// Deletes at the target what the source does not have, after all transfers. Default: `false`.
    /// Links and files that are always left out are kept, and nothing is deleted if the source is a
    /// single file.
    pub fn delete(mut self, delete: bool) -> Self {
        self.options.delete = delete;
        self
    }

    /// Applies the patterns of `.gitignore` to the files that are sent, in the directory, below it,
    /// and above it up to the root of its repository. Default: `false`, because data is often
    /// ignored by git. A `.modelartsignore` in the directory replaces them.
    pub fn gitignore(mut self, gitignore: bool) -> Self {
        self.options.gitignore = gitignore;
        self
    }

    /// Leaves out a file, or a directory with all that is in it: a path in the directory that is
    /// sent, with slashes, such as `data/raw`. Only [`Obs::sync_up`] of a directory uses it.
    pub fn exclude(mut self, path: impl Into<String>) -> Self {
        self.excluded.push(path.into());
        self
    }

    /// Reports what would be transferred and deleted, and changes nothing. Default: `false`.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.options.dry_run = dry_run;
        self
    }

    /// Sets the number of requests at once. Default: 16. 0 counts as 1.
    pub fn transfers(mut self, transfers: usize) -> Self {
        self.options.transfers = transfers.clamp(1, 1_000);
        self
    }

    /// Returns the progress as a stream, whose last item is [`SyncEvent::Finished`] or an error.
    /// Dropping the stream ends the synchronization; the next one continues it.
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
    /// # let obs = Obs::directory(root.path().join("obs")).with_cache_dir(root.path().join("cache"));
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
        // The end is an event, too.
        let run = stream::once(run).filter_map(async |_| None);
        // The run is polled first, so that its events are returned by the same poll.
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
                let source = (path, self.excluded);
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
