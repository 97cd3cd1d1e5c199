//! Command `modelarts trials`, which lists the trials of a hyper-parameter search of the service.

use clap::Args;
use futures::stream;
use modelarts_ext::{Error, Job, catalog::Trial, types::RewardAttribute};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    commands::jobs::values::columns::best_first,
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::{self, Column, Row, or_dash},
    session::Session,
    terminal::{Emphasis, Terminal},
};

/// Maximum number of rows of trials that are read.
const MAX_ROWS: usize = 10_000;
/// Columns of the service that are neither hyper-parameters nor metrics.
const FACTS: [&str; 6] = ["", "done", "config", "trial_id", "time_total_s", "status"];

#[derive(Debug, Args)]
pub(crate) struct Trials {
    #[command(flatten)]
    job: JobArgument,
}

/// A trial of a hyper-parameter search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchTrialRow {
    /// Id of the trial.
    pub(crate) id: String,
    /// Status of the service, such as `RUNNING`; `TERMINATED` also for a trial that succeeded.
    status: Option<String>,
    /// Seconds for which the trial has run.
    seconds_run: Option<f64>,
    /// Position by the metric of the search, from 1 for the best; null without a value.
    pub(crate) rank: Option<usize>,
    /// Hyper-parameters and metrics of the trial.
    #[serde(serialize_with = "output::as_object")]
    #[schemars(with = "Map<String, Value>")]
    pub(crate) values: Vec<(String, Value)>,
}

impl Row for SearchTrialRow {
    const LIST: &'static str = "search_trials";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("ID", |row| match row.rank {
            Some(1) => Terminal::styled(&row.id, Emphasis::Good),
            _ => row.id.clone(),
        }),
        Column::new("RANK", |row| or_dash(row.rank)),
        Column::new("SECONDS", |row| or_dash(row.seconds_run)),
        Column::new("STATUS", |row| or_dash(row.status.clone())),
    ];

    fn may_have_value(_name: &str) -> bool {
        true
    }

    fn values(&self) -> &[(String, Value)] {
        &self.values
    }

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl Trials {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let job = self.job.find(session.client().await?).await?;
        let rows = stream::iter([Ok(ranked(&job).await?)]);
        session.output.list_or_note(rows, "no trials; the job is no search, or none began").await?;
        Ok(ExitStatus::Success)
    }
}

impl SearchTrialRow {
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
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let (_, value) = self.values.iter().find(|(known, _)| known == name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// Returns the metric that the search of a job optimizes; `None` if the job is no search.
pub(crate) fn reward(job: &Job) -> Option<&RewardAttribute> {
    let policies = job.details().algorithm.as_deref()?.policies.as_ref()?;
    policies.auto_search.as_ref()?.reward_attrs.first()
}

/// Returns the trials of a search, the best first. Those without a value come last.
pub(crate) async fn ranked(job: &Job) -> Result<Vec<SearchTrialRow>, Error> {
    let mut rows: Vec<SearchTrialRow> = Vec::new();
    // A trial has a row for each of its reports, of which the last one counts.
    for trial in job.trials().collect(MAX_ROWS).await? {
        let row = SearchTrialRow::new(&trial);
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
