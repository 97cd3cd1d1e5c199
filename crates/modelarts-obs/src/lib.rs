//! Code and data of ModelArts training jobs in OBS, the object storage of Huawei Cloud and Open
//! Telekom Cloud.
//!
//! A training job reads its code and its data from OBS, and writes its results to OBS. This crate
//! brings local directories there and results back. It uses the credentials, the region and the
//! retry policy of a [`Client`](modelarts_ext::Client) of modelarts-ext.
//!
//! | type | for |
//! |---|---|
//! | [`Obs`] | the connection to OBS, or to a local directory in its place |
//! | [`Bucket`] | single objects: put, get, head, list, delete |
//! | [`DirectorySync`] | whole directories: [`Obs::sync_up`], [`Obs::sync_down`], [`Obs::copy`] |
//!
//! Requests have AWS signatures of version 4, which OBS accepts beside its own. The crate
//! `object_store` sends them.

pub mod address;
pub mod bucket;
mod error;
pub mod obs;
pub mod staging;
pub mod sync;

pub use address::ObsPath;
pub use bucket::{Bucket, ObjectInfo};
pub use obs::Obs;
pub use staging::{CreateJobExt, JobExt, Staging};
pub use sync::{DirectorySync, Progress, Summary, SyncEvent};
