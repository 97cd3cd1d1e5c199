//! Hyper-parameter search, without the jobs that run it.
//!
//! [`settings`] reads a search from a job's request (`algorithm.policies.auto_search`) and
//! [`space`] its parameters; each [`trial`] keeps its reports, and [`importance`] compares the
//! parameters.
//!
//! Every algorithm draws its points at random, from the seed of its settings. The points that the
//! service would try are not documented, so no client can depend on them.
//!
//! Sources describe the three algorithms with their settings (SOURCES X), the form of the tables
//! (D-10), and the regular expression that finds the reward in the log (SOURCES G). No source
//! describes the following rules, which the emulator defines: without `algo_configs`, the algorithm
//! is `bayes_opt_search`; four trials run at a time, as in the template of the example, or
//! `max_concurrent` of the settings; the first of `reward_attrs` is the leading reward; a regular
//! expression is applied to each line, and the value is its first group, or else the whole match; a
//! job is Completed if one of its trials ended with 0.

pub(crate) mod importance;
pub(crate) mod settings;
mod space;
pub(crate) mod trial;
