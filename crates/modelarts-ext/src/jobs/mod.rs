//! Training jobs.
//!
//! `Job` and `TrainingJobs` are plain handles. Each feature adds its methods to them in its own
//! module: `details`, `metrics`, `update`, `list`, `events`, `logs`, `wait`, `follow`, `create`. What
//! repeats requests shares `polling`.

pub(crate) mod create;
mod details;
pub(crate) mod events;
pub(crate) mod filter;
pub(crate) mod follow;
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod polling;
pub(crate) mod training_jobs;
mod update;
pub(crate) mod wait;
