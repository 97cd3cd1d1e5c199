//! Hyper-parameter search, without the jobs that run it.
//!
//! [`settings`] reads a search from a job's request (`algorithm.policies.auto_search`) and
//! [`space`] its parameters; each [`trial`] keeps its reports, and [`importance`] compares the
//! parameters.
//!
//! Every algorithm draws its points at random, from the seed of its settings: the points that the
//! service would try are not documented, so that no client can depend on them.
//!
//! Sources have the three algorithms with their settings (SOURCES X), the form of the tables
//! (D-10), and that the reward is found in the log by a regular expression (SOURCES G). Decided
//! here, because no source says it: without `algo_configs` it is a `bayes_opt_search`; four trials
//! run at a time, as in the template of the example, or `max_concurrent` of the settings; the first
//! of `reward_attrs` leads; a regular expression is tried on each line, and its first group, or
//! else all it matches, is the value; a job is Completed if one of its trials ended with 0.

pub(crate) mod importance;
pub(crate) mod settings;
mod space;
pub(crate) mod trial;
