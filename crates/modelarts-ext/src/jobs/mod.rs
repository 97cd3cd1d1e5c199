//! Training jobs: handles, details, search and metrics.
//!
//! [`TrainingJobs`], from [`Client::training_jobs`](crate::Client::training_jobs), creates and
//! finds jobs. A [`Job`] has accessors for common values of the response from which it was read,
//! and [`Job::details`] returns all values. A [refresh](Job::refresh) reads the values again, and a
//! [wait](JobHandle::wait) returns the job as it ended.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # hello(&emulator, &client, "bert-first")?.submit().await?.wait().await?.success()?;
//! use futures::TryStreamExt;
//! use modelarts_ext::{Filter, types::Phase};
//!
//! // Conditions are typed and checked before anything is sent. All of them must hold.
//! let ended = Filter::phase().is_in([Phase::Completed, Phase::Failed]);
//! let bert = Filter::name().like("bert");
//! let mut jobs = client.training_jobs().list().filter(ended).filter(bert.clone()).stream();
//! while let Some(job) = jobs.try_next().await? {
//!     println!("{} {} after {:?}", job.name(), job.phase(), job.time_run());
//!     // A condition can also be evaluated for a job that was read.
//!     assert_eq!(bert.matches(&job), Some(true));
//!     job.delete().await?;
//! }
//! # Ok(()) }) }
//! ```
//!
//! | for | see |
//! |---|---|
//! | creating a job, from code, YAML or another job | [`create`] |
//! | one job by its id or its name | [`TrainingJobs::get`], [`TrainingJobs::get_by_name`] |
//! | a search | [`TrainingJobs::list`] with a [`Filter`] |
//! | state of a job | the methods of [`Job`], such as [`Job::phase`] and [`Job::exit_codes`] |
//! | phases of a job with their times | [`Job::phases`] |
//! | end of a job | [`wait`] |
//! | cause of a failure, a stop or a wait | [`JobHandle::explain`], [`Job::status_reason`] |
//! | changes of all jobs, across restarts of a program | [`TrainingJobs::watch`] |
//! | ends of many jobs | [`TrainingJobs::wait_all`] |
//! | many jobs, of which a few run at a time | [`TrainingJobs::submit_all`] |
//! | phases, events and log lines of a job | [`follow`], [`events`], [`logs`] |
//! | usage of a task's machine, as [time series](MetricSeries) | [`JobHandle::metrics`] |
//! | stages, trials, artifacts | [`catalog`](crate::catalog) |
//! | changes | [`JobHandle::set_description`], [`JobHandle::set_priority`] |
//!
//! [`JobHandle::terminate`] requests that a job stops. A [`wait`](JobHandle::wait) returns when the
//! job has stopped. [`JobHandle::delete`] deletes a job with its events and logs.
//! [`TrainingJobs::delete_many`] deletes up to 100 jobs per request, or one on Open Telekom Cloud.

// `Job` and `TrainingJobs` are plain handles, to which each module adds the methods of a feature.
// Modules that repeat requests use `polling`.

pub mod create;
mod details;
pub mod diagnosis;
pub mod events;
mod exit_code;
mod filter;
pub mod follow;
pub(crate) mod job;
mod list;
pub mod logs;
mod metrics;
mod phases;
mod polling;
mod submission_token;
mod submit_all;
mod training_jobs;
pub mod wait;

pub use diagnosis::{Cause, Diagnosis};
pub use filter::{Filter, SetKey, TextKey, TimeKey};
pub use job::{Job, JobHandle};
pub use list::{JobQuery, ListJobs};
pub use metrics::MetricSeries;
pub use phases::JobPhase;
pub use submit_all::SubmitAll;
pub use training_jobs::JobRef;
pub use training_jobs::TrainingJobs;
pub use wait::{JobChange, JobWatch, WatchPosition};
