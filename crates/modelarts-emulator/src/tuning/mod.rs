//! Hyper-parameter search: settings, parameters, trials and their analysis. The module
//! `execution::trials` runs the trials.
//!
//! [`settings`] reads the settings of a search from the job's request
//! (`algorithm.policies.auto_search`), and [`space`] reads its parameters. A [`trial`] stores its
//! reports, and [`importance`] estimates the influence of each parameter on the reward.
//!
//! For every algorithm, the emulator selects the parameter values of the trials at random, with the
//! seed of the settings. The selection by the service is not documented, so clients cannot depend
//! on it.
//!
//! Sources describe the three algorithms with their settings (SOURCES X), the form of the tables
//! (D-10), and the regular expression that finds the reward in the log (SOURCES G). The following
//! rules have no source, and are defined by the emulator:
//!
//! - Without `algo_configs`, the algorithm is `bayes_opt_search`.
//! - The number of concurrent trials is the setting `max_concurrent`. The default is four, as in
//!   the template of the example.
//! - The first of `reward_attrs` is the leading reward.
//! - The regular expression is applied to each line. The reward is its first group, or the whole
//!   match if the expression has no group.
//! - A job is Completed if at least one of its trials exited with code 0.

pub(crate) mod importance;
pub(crate) mod settings;
mod space;
pub(crate) mod trial;
