//! Hyper-parameter search, without the jobs that run it.
//!
//! [`settings`] reads a search from a job's request (`algorithm.policies.auto_search`) and
//! [`space`] its parameters; each [`trial`] stores its reports, and [`importance`] compares the
//! parameters.
//!
//! Every algorithm draws its points at random, from the seed in its settings. The points that the
//! service would try are not documented, so that no client can depend on them.
//!
//! Sources describe the three algorithms with their settings (SOURCES X), the form of the tables
//! (D-10), and the regular expression that finds the reward in the log (SOURCES G). No source
//! describes the following rules, which the emulator defines:
//!
//! - Without `algo_configs`, the algorithm is `bayes_opt_search`.
//! - The number of concurrent trials is `max_concurrent` of the settings, or four, as in the
//!   template of the example.
//! - The first of `reward_attrs` is the leading reward.
//! - A regular expression is applied to each line. The value is its first group, or the whole match
//!   if it has no group.
//! - A job is Completed if at least one of its trials exited with code 0.

pub(crate) mod importance;
pub(crate) mod settings;
mod space;
pub(crate) mod trial;
