//! Staging of local code and data in OBS for training jobs.
//!
//! A training job reads its code and its data from OBS. [`Staging`] chooses addresses for local
//! directories, and uploads the files that OBS does not have. [`CreateJobExt::stage`] stages the
//! directories of a job, and [`JobExt::download_outputs`] downloads its outputs.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use modelarts_emulator::{Emulator, Timing};
//! use modelarts_ext::ClientBuilder;
//! use modelarts_obs::{CreateJobExt, JobExt, Staging};
//!
//! # let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//! # let root = tempfile::tempdir()?;
//! # let (src, data, out) = (root.path().join("src"), root.path().join("data"),
//! # root.path().join("out"));
//! # std::fs::create_dir_all(&src)?;
//! # std::fs::create_dir_all(&data)?;
//! # std::fs::write(data.join("rows.csv"), "1\n2\n")?;
//! # std::fs::write(src.join("train.py"), "import sys, pathlib
//! # given = dict(a.lstrip('-').split('=', 1) for a in sys.argv[1:] if '=' in a)
//! # rows = pathlib.Path(given['data_url'], 'rows.csv').read_text().split()
//! # pathlib.Path(given['train_url'], 'model.txt').write_text(str(len(rows)))
//! # ")?;
//! let client = ClientBuilder::from_vars(emulator.vars()).build()?;
//! let staging = Staging::new(&client).bucket("my-bucket");
//! # let obs = modelarts_obs::Obs::directory(emulator.obs_root());
//! # let obs = obs.with_cache_dir(root.path().join("cache"));
//! # let staging = staging.obs(obs.clone());
//! # staging.connect()?.bucket("my-bucket")?.create().await?;
//! let job = client
//!     .training_jobs()
//!     .create("leaves")
//!     .preset_image("PyTorch", "pytorch_1.8.0")
//!     .flavor("modelarts.vm.cpu.2u")
//!     .stage(&staging)
//!     .code(&src, "train.py")
//!     .data("data_url", &data)
//!     .output("train_url")
//!     .submit()
//!     .await?;
//! job.wait().await?.success()?;
//! job.download_outputs(&out)
//! #   .obs(obs)
//!     .await?;
//! assert_eq!(std::fs::read_to_string(out.join("train_url/model.txt"))?, "2");
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # Addresses
//!
//! - code: `obs://BUCKET/PREFIX/code/<hash>/<name>/`; `<hash>` is the first 16 digits of a SHA-256
//!   over paths, executable bits and contents
//! - manifest: `obs://BUCKET/PREFIX/code/<hash>/manifest.json`
//! - data: `obs://BUCKET/PREFIX/data/<user>/<hash>/<version>/<name>/`; `<hash>` is the first 16 digits
//!   of a SHA-256 over the project, the machine id, the host name and the path of the directory, and
//!   `<version>` is `v-` with 16 random digits, in a local directory those of a SHA-256 over paths
//!   and contents
//! - manifest: `obs://BUCKET/PREFIX/data/<user>/<hash>/<version>.json`
//! - data that is not versioned: `obs://BUCKET/PREFIX/data/<user>/<hash>/<name>/`
//! - output: `obs://BUCKET/PREFIX/out/<job>-<random>/<name>/`
//!
//! For code and data, `<name>` is the name of the local directory, which the service keeps: code
//! from `./src` is in `${MA_JOB_DIR}/src`. For an output, `<name>` is the name of the output.
//!
//! Equal code directories have the same address. Several jobs can share it, and a job never runs
//! code that changed after its submission. The manifest is uploaded last, so its existence means
//! that the code is complete; then the only request is a HEAD request for the manifest. The
//! manifest is a JSON object with the fields `version` (1), `created` (RFC 3339), `tool`, `host`,
//! `name`, `files` (each with `path`, `size`, `sha256`, `executable`), and `git` with `commit` and
//! `dirty`, if the directory is in a repository with a commit and git is installed. `dirty` is
//! `true` if a file differs from the commit or is not in it, or if a file of the commit is missing.
//!
//! Data of up to 5,000 files and 2 GB has a version for each of its contents. The objects of a version
//! do not change, so that a job never reads data that changed after its submission. The manifest is
//! uploaded last and deleted first. It is a JSON object with the fields `version` (1), `created`,
//! `tool`, `user`, `host`, `directory`, `name`, `workspaces` (those of the jobs for which the version
//! was staged, except the default one), and `files` (each with `path`, `size`, `sha256`). A version
//! that is used again more than 12 hours later gets its manifest anew. [`Staging::data`] removes
//! versions of the same directory that no job names and that were not used for 24 hours, and
//! [`Staging::remove_data`] removes versions on request.
//!
//! Larger data is not versioned, unless [`DataVersioning::New`] is set. It is mirrored: the objects of
//! deleted files are deleted. If a job that has not ended reads changed data, [`Staging::data`] returns
//! an error and uploads nothing.
//!
//! Staging deletes no code and no outputs of jobs. Lifecycle rules of the bucket can delete old
//! objects below `PREFIX/out`. They must not delete objects below `PREFIX/code`: the manifest is
//! newer than the files and would expire later, and a job that is submitted in between would start
//! without code. A version of data that lacks objects is not used again.

mod code;
mod data;
mod data_address;
mod git;
mod job;
mod local_places;
mod manifest;
mod outputs;
mod readers;
mod versions;

pub use code::{StageCode, left_out};
pub use data::{DataVersioning, StageData};
pub use data_address::DataAddress;
pub use job::{CreateJobExt, StageJob, StagedJob, StagedPart};
pub use local_places::{LocalInput, LocalPlaces};
pub use outputs::{DownloadOutputs, DownloadedOutput, JobExt};
pub use versions::{DataRemoval, DataVersion};

use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use modelarts_ext::{Client, Error, ErrorKind};

use crate::{
    address::{ObsPath, invalid},
    error,
    obs::Obs,
    sync::{
        DirectorySync,
        limits::blocking,
        progress::{Progress, Summary, SyncEvent},
    },
};

/// Environment variable with the name of the bucket.
const BUCKET: &str = "MODELARTS_OBS_BUCKET";
/// Environment variable with the prefix of the keys.
const PREFIX: &str = "MODELARTS_OBS_PREFIX";
const DEFAULT_PREFIX: &str = "modelarts";
/// Number of hexadecimal digits of the checksum in an address.
const HASH_DIGITS: usize = 16;

/// Bucket and prefix for the code, the data and the outputs of jobs. Clones are cheap.
///
/// ```
/// # fn main() -> Result<(), modelarts_ext::Error> {
/// use modelarts_ext::{Client, Credentials};
/// use modelarts_obs::Staging;
///
/// let client = Client::builder()
///     .region("eu-de")
///     .project_id("0123456789abcdef0123456789abcdef")
///     .credentials(Credentials::keys("access-key", "secret-key"))
///     .build()?;
/// let staging = Staging::new(&client).bucket("my-bucket").prefix("teams/vision");
/// assert_eq!(staging.root()?.to_string(), "obs://my-bucket/teams/vision");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before code, data or stage"]
pub struct Staging {
    client: Client,
    obs: Option<Obs>,
    bucket: Option<String>,
    prefix: Option<String>,
}

impl Staging {
    /// Creates a staging with the bucket of the environment variable `MODELARTS_OBS_BUCKET` and the
    /// prefix of `MODELARTS_OBS_PREFIX`, by default `modelarts`. No request is sent.
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), obs: None, bucket: None, prefix: None }
    }

    /// Sets the bucket, which must exist in the region of the jobs.
    pub fn bucket(mut self, name: impl Into<String>) -> Self {
        self.bucket = Some(name.into());
        self
    }

    /// Sets the prefix of all keys, such as `teams/vision`. An empty prefix denotes the bucket
    /// itself.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets the connection to OBS. Default: [`Obs::new`] with the client.
    pub fn obs(mut self, obs: Obs) -> Self {
        self.obs = Some(obs);
        self
    }

    /// Returns the connection to OBS.
    ///
    /// # Errors
    /// Returns the errors of [`Obs::new`], unless [`obs`](Self::obs) sets the connection.
    pub fn connect(&self) -> Result<Obs, Error> {
        self.obs.clone().map_or_else(|| Obs::new(&self.client), Ok)
    }

    /// Returns the address of the prefix in the bucket, below which all directories are staged.
    ///
    /// # Errors
    /// Returns an error if no bucket is set, and if the bucket or the prefix is invalid.
    pub fn root(&self) -> Result<ObsPath, Error> {
        let environment = self.client.environment();
        let bucket = self.bucket.clone().or_else(|| environment.variable(BUCKET));
        let bucket = bucket.ok_or_else(|| {
            let message = "no bucket for code, data and outputs";
            Error::new(ErrorKind::Config, message)
                .with_advice(Some(format!("set the variable {BUCKET}, or call Staging::bucket")))
        })?;
        let prefix = self.prefix.clone().or_else(|| environment.variable(PREFIX));
        ObsPath::new(&bucket, prefix.as_deref().unwrap_or(DEFAULT_PREFIX))
    }

    /// Returns a new address for an output, with the current date and a random number. The outputs
    /// of a job that is staged by [`CreateJobExt::stage`] have the name of the job in place of the
    /// date.
    ///
    /// # Errors
    /// Returns the errors of [`root`](Self::root), and an error if `name` is not valid in a key.
    pub fn output(&self, name: &str) -> Result<ObsPath, Error> {
        let now = self.client.provider_context().clock.now();
        let date = jiff::Timestamp::try_from(now).map(|now| now.strftime("%Y-%m-%d").to_string());
        self.run_root(&date.unwrap_or_default())?.join(name)
    }

    /// Returns a new address for outputs, with `name` and a random number.
    fn run_root(&self, name: &str) -> Result<ObsPath, Error> {
        let random = fastrand::u32(..);
        self.root()?.join(&format!("out/{}-{random:08x}", key_step(name)))
    }
}

/// Local directory that is staged in OBS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StagedDir {
    /// Address in OBS, whose last segment is the name of the local directory.
    pub path: ObsPath,
    /// Files that were uploaded, files that OBS already had, and files that were left out. Files
    /// that OBS has copied from an earlier version of data count as files that it already had.
    pub summary: Summary,
    /// Id of the version of data; `None` for code, and for data that is not versioned.
    pub version: Option<String>,
    /// `true` if this call made the version, or would make it in a dry run.
    pub is_new_version: bool,
}

impl StagedDir {
    fn new(path: ObsPath, summary: Summary) -> Self {
        Self { path, summary, version: None, is_new_version: false }
    }

    /// Returns the address as a job requires it, with a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        url(&self.path)
    }
}

/// Returns an address with a slash at the end, which denotes a directory.
fn url(path: &ObsPath) -> String {
    format!("{path}/")
}

/// Converts a text to one segment of a key: `-` replaces characters other than letters, digits,
/// `-`, `_` and `.`, and dots at both ends are removed. An empty result becomes `unnamed`.
fn key_step(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let step: String = text.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    match step.trim_matches('.') {
        "" => "unnamed".to_owned(),
        step => step.to_owned(),
    }
}

/// Local directory, with its name in OBS.
#[derive(Clone, Debug)]
struct LocalDir {
    /// Canonical path of the directory.
    path: PathBuf,
    name: String,
}

impl LocalDir {
    /// Finds a directory. `kind` is `code` or `data`, for error messages.
    async fn find(path: &Path, kind: &'static str) -> Result<Self, Error> {
        let path = path.to_owned();
        blocking(move || {
            let wrong = |rule: &str, advice: &str| {
                let path = path.display();
                invalid(format!("the {kind} directory {path} {rule}"))
                    .with_advice(Some(advice.to_owned()))
            };
            let real = std::fs::canonicalize(&path).map_err(|failure| {
                error::local(&format!("reading the {kind} directory"), &path, &failure)
                    .with_advice(Some("check the path".to_owned()))
            })?;
            if !real.is_dir() {
                let rule = "must be a directory, and is a file";
                return Err(wrong(rule, "give the directory that has the file"));
            }
            let name = real.file_name().and_then(|name| name.to_str());
            let Some(name) = name.map(str::to_owned) else {
                let rule = "must have a name in UTF-8, which becomes a part of keys in OBS";
                return Err(wrong(rule, "give another directory, or rename it"));
            };
            Ok(Self { path: real, name })
        })
        .await
    }
}

/// Reports the end of a synchronization that had nothing to transfer.
fn report_unchanged(summary: &Summary, on_progress: OnProgress<'_>) {
    let event = SyncEvent::Finished(summary.clone());
    on_progress(&Progress { event, done: summary.unchanged, total: summary.unchanged });
}

/// Function that receives the progress of the files of a directory.
type OnProgress<'a> = &'a (dyn Fn(&Progress) + Send + Sync);

/// Runs a synchronization, and reports its progress.
async fn run(sync: DirectorySync, on_progress: OnProgress<'_>) -> Result<Summary, Error> {
    let mut events = sync.stream();
    let mut end = Summary::default();
    while let Some(progress) = events.try_next().await? {
        on_progress(&progress);
        if let SyncEvent::Finished(summary) = progress.event {
            end = summary;
        }
    }
    Ok(end)
}
