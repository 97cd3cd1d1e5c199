//! Training jobs.
//!
//! `Job` and `TrainingJobs` are plain handles. Each feature adds its methods to them in its own
//! module: `details`, `metrics`, `update`, `list`, `events`, `logs`, `wait`, `follow`, `create`. What
//! repeats requests shares `polling`.

pub mod create;
mod details;
pub mod events;
pub(crate) mod filter;
pub mod follow;
pub(crate) mod job;
pub(crate) mod list;
pub mod logs;
pub(crate) mod metrics;
pub(crate) mod polling;
pub(crate) mod training_jobs;
mod update;
pub mod wait;

pub use filter::{Filter, SetKey, TextKey, TimeKey};
pub use job::Job;
pub use list::ListJobs;
pub use metrics::MetricSeries;
pub use training_jobs::TrainingJobs;
