//! Hyper-parameter search: settings, parameters, trials and their analysis. The module `execution`
//! runs the trials.
//!
//! [`settings`] reads a search from a job's request (`algorithm.policies.auto_search`) and
//! [`space`] reads its parameters. Each [`trial`] stores its reports, and [`importance`] estimates
//! the influence of each parameter on the reward.
//!
//! With every algorithm, the emulator selects the parameter values of the trials at random, from
//! the seed in the settings. The values that the service selects are not documented, so that
//! clients cannot depend on them.
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
