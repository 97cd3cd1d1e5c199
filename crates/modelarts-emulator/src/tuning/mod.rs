//! Hyper-parameter search. For every algorithm, the values of the trials are selected at random
//! with the seed of the settings, because the selection by the service is not documented.
//!
//! Sources describe the three algorithms with their settings (SOURCES X), the form of the tables
//! (D-10), and the regular expression that finds the reward (SOURCES G). Other rules are the
//! emulator's own:
//!
//! - Without `algo_configs`, the algorithm is `bayes_opt_search`.
//! - The number of concurrent trials is the setting `max_concurrent`. The default is four, as in
//!   the template of the example.
//! - The first of `reward_attrs` is the leading reward.
//! - The regular expression is applied to each line. The reward is its first group, or the whole
//!   match if the expression has no group.
//! - A job is Completed if at least one of its trials exited with code 0 or was stopped on request.

pub(crate) mod importance;
pub(crate) mod settings;
mod space;
pub(crate) mod trial;
