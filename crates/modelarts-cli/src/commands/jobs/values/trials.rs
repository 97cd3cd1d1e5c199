//! Command `modelarts trials`, which lists the trials of a hyper-parameter search of the service.

use clap::Args;
use futures::stream;
pub(crate) use modelarts_console::trials::reward;
use modelarts_console::trials::{self, RankedTrial};
use modelarts_ext::{Error, Job};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::{self, Column, Row, or_dash},
    session::Session,
    terminal::{Emphasis, Terminal},
};

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

impl From<RankedTrial> for SearchTrialRow {
    fn from(RankedTrial { id, status, seconds_run, rank, values }: RankedTrial) -> Self {
        Self { id, status, seconds_run, rank, values }
    }
}

/// Returns the trials of a search, the best first. Those without a value come last.
pub(crate) async fn ranked(job: &Job) -> Result<Vec<SearchTrialRow>, Error> {
    Ok(trials::ranked(job).await?.into_iter().map(SearchTrialRow::from).collect())
}
