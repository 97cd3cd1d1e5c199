//! Training jobs.

pub(crate) mod create;
mod details;
pub(crate) mod events;
pub(crate) mod filter;
mod filter_matches;
pub(crate) mod follow;
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod polling;
mod update;
pub(crate) mod wait;
