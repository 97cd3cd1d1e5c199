//! Code and data of ModelArts training jobs in OBS, the object storage of Huawei Cloud and Open
//! Telekom Cloud.
//!
//! A training job reads its code and its data from OBS, and writes its results to OBS. This crate
//! uploads local code and data for a job, and downloads the results. It uses the credentials, the
//! region and the retry policy of a [`Client`](modelarts_ext::Client) of modelarts-ext.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use modelarts_emulator::{Emulator, Timing};
//! use modelarts_ext::Client;
//! use modelarts_obs::{CreateJobExt, JobExt, Staging};
//!
//! # let root = tempfile::tempdir()?;
//! # std::env::set_current_dir(&root)?;
//! # std::fs::create_dir_all("src")?;
//! # std::fs::create_dir_all("data")?;
//! # std::fs::write("data/rows.csv", "1\n2\n")?;
//! # std::fs::write("src/train.py", "import sys, pathlib
//! # given = dict(a.lstrip('-').split('=', 1) for a in sys.argv[1:] if '=' in a)
//! # rows = pathlib.Path(given['data_url'], 'rows.csv').read_text().split()
//! # pathlib.Path(given['train_url'], 'model.txt').write_text(str(len(rows)))
//! # ")?;
//! # let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//! # let (vars, cache) = (emulator.vars(), root.path().join("cache").display().to_string());
//! # let vars = move |name: &str| match name {
//! #     "MODELARTS_CACHE_DIR" => Some(cache.clone()),
//! #     _ => vars(name),
//! # };
//! # let connect = || -> Result<Client, modelarts_ext::Error> {
//! let client = Client::from_env()?;
//! # Ok(client) };
//! # let client = modelarts_ext::ClientBuilder::from_vars(vars).build()?;
//! # modelarts_obs::Obs::new(&client)?.bucket("my-bucket")?.create().await?;
//! let staging = Staging::new(&client).bucket("my-bucket");
//! let job = client
//!     .training_jobs()
//!     .create("leaves")
//!     .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
//!     .flavor("modelarts.vm.cpu.8u")
//!     .stage(&staging)
//!     .code("./src", "train.py")
//!     .data("data_url", "./data")
//!     .output("train_url")
//!     .submit()
//!     .await?;
//! job.wait().await?.success()?;
//! job.download_outputs("./out").await?;
//! # assert_eq!(std::fs::read_to_string("out/train_url/model.txt")?, "2");
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! - [`Staging`]: the bucket and the prefix for code, data and outputs of jobs
//! - [`Obs`]: the connection to OBS, or to a local directory instead
//! - [`Bucket`]: creation of a bucket, and operations on its objects: put, get, head, list, delete
//! - [`DirectorySync`]: transfer by [`Obs::sync_up`], [`Obs::sync_down`] or [`Obs::copy`]
//!
//! Environment variables:
//!
//! - `MODELARTS_OBS_BUCKET`: bucket of [`Staging`], unless [`Staging::bucket`] sets it
//! - `MODELARTS_OBS_PREFIX`: prefix of the keys of [`Staging`], unless [`Staging::prefix`] sets it;
//!   default: `modelarts`
//! - `MODELARTS_OBS_ENDPOINT`: endpoint of OBS, or URL of a local directory, such as
//!   `file:///data/obs`; default: the endpoint of OBS in the region
//! - `MODELARTS_CACHE_DIR`: directory of the cache of checksums and incomplete transfers; default:
//!   `modelarts` in the cache directory of the user, such as `~/.cache/modelarts`
//!
//! Region and credentials are those of the client; see
//! [`ClientBuilder::from_env`](modelarts_ext::ClientBuilder::from_env).
//!
//! The crate `object_store` signs requests with AWS Signature Version 4, which OBS accepts.

pub mod address;
pub mod bucket;
mod diagnosis;
mod error;
pub mod obs;
pub mod staging;
mod storage;
pub mod sync;

pub use address::ObsPath;
pub use bucket::{Bucket, ObjectInfo};
pub use obs::Obs;
pub use staging::{CreateJobExt, JobExt, Staging};
pub use sync::{DirectorySync, Progress, Summary, SyncEvent};

/// Compiles the Rust examples in the README of the repository.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Repository;

/// Runs the Rust examples in the README of the package.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Runs the Rust examples in the page on directories and objects.
#[cfg(doctest)]
#[doc = include_str!("../TRANSFERS.md")]
struct Transfers;

/// Compiles the Rust examples in the page on creating jobs.
#[cfg(doctest)]
#[doc = include_str!("../../modelarts-ext/CREATING.md")]
struct Creating;
