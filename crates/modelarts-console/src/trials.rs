//! Trials of a hyper-parameter search, ranked by its metric.

use std::cmp::Ordering;

use modelarts_ext::{Error, Job, catalog::Trial, types::RewardAttribute};
use serde_json::Value;

/// Maximum number of rows of trials that are read.
const MAX_ROWS: usize = 10_000;
/// Columns of the service that are neither hyper-parameters nor metrics.
const FACTS: [&str; 6] = ["", "done", "config", "trial_id", "time_total_s", "status"];

/// A trial of a hyper-parameter search.
#[derive(Clone, Debug)]
pub struct RankedTrial {
    /// Id of the trial.
    pub id: String,
    /// Status of the service, such as `RUNNING`; `TERMINATED` also for a trial that succeeded.
    pub status: Option<String>,
    /// Seconds for which the trial has run.
    pub seconds_run: Option<f64>,
    /// Position by the metric of the search, from 1 for the best; `None` without a value.
    pub rank: Option<usize>,
    /// Hyper-parameters and metrics of the trial.
    pub values: Vec<(String, Value)>,
}

impl RankedTrial {
    fn new(trial: &Trial) -> Self {
        let text = |name: &str| Some(trial.get(name)?.as_str()?.to_owned());
        let config = trial.get("config").and_then(Value::as_object);
        // The service repeats each hyper-parameter as `param/NAME`.
        let parameters = config
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != "trial_index" && !name.starts_with("param/"));
        let metrics = trial.columns().iter().filter(|name| !FACTS.contains(&name.as_str()));
        let metrics = metrics.filter_map(|name| Some((name, trial.get(name)?)));
        Self {
            id: text("trial_id").unwrap_or_default(),
            status: text("status"),
            seconds_run: text("time_total_s").and_then(|text| text.parse().ok()),
            rank: None,
            values: parameters
                .chain(metrics)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }

    /// Returns the value of a metric.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let (_, value) = self.values.iter().find(|(known, _)| known == name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// Returns the metric that the search of a job optimizes; `None` if the job is no search.
pub fn reward(job: &Job) -> Option<&RewardAttribute> {
    let policies = job.details().algorithm.as_deref()?.policies.as_ref()?;
    policies.auto_search.as_ref()?.reward_attrs.first()
}

/// Returns the trials of a search, the best first. Those without a value come last.
pub async fn ranked(job: &Job) -> Result<Vec<RankedTrial>, Error> {
    let mut rows: Vec<RankedTrial> = Vec::new();
    // A trial has a row for each of its reports, of which the last one counts.
    for trial in job.trials().collect(MAX_ROWS).await? {
        let row = RankedTrial::new(&trial);
        rows.retain(|known| known.id != row.id);
        rows.push(row);
    }
    if let Some(reward) = reward(job) {
        let name = reward.name.clone().unwrap_or_default();
        let is_max = reward.mode.as_ref().is_some_and(|mode| mode.as_str() == "max");
        rows.sort_by(|one, other| best_first(one.metric(&name), other.metric(&name), is_max));
        for (position, row) in rows.iter_mut().enumerate() {
            row.rank = row.metric(&name).map(|_| position + 1);
        }
    }
    Ok(rows)
}

/// Compares two values of a metric: the better one is less, and a missing one is greater.
pub fn best_first(one: Option<f64>, other: Option<f64>, is_max: bool) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) if is_max => other.total_cmp(&one),
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}
