//! Results of a sweep: rows and charts.

use std::{fs, path::Path, time::Duration};

use clap::ValueEnum;
use modelarts_console::trials::best_first;
use modelarts_ext::{Error, api::codes, jobs::wait::Waited};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    chart::{Chart, Marks, svg},
    commands::create::{draft::Draft, sweep::space::Trial},
    exit_status::ExitStatus,
    failure::Failure,
    follow::outcome_name,
    output::{self, Column, Row, or_dash},
    terminal::{Emphasis, Terminal},
};

/// The best value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Best {
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
}

/// Values of a metric in a log.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Metric {
    min: Option<f64>,
    max: Option<f64>,
    last: Option<f64>,
}

impl Metric {
    pub(super) fn new(values: &[f64]) -> Self {
        let finite = values.iter().copied().filter(|value| value.is_finite());
        Self {
            min: finite.clone().min_by(f64::total_cmp),
            max: finite.max_by(f64::total_cmp),
            last: values.last().copied().filter(|value| value.is_finite()),
        }
    }
}

/// A trial of a sweep.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrialRow {
    /// Name of the job.
    name: String,
    /// Id of the job; null if it is not known.
    id: Option<String>,
    /// `completed`, `failed`, `terminated`, `abnormal` or `vanished`; `refused` if the job was not
    /// submitted; `unknown` if it may exist, and its end was not seen.
    outcome: String,
    /// The outcome as a clause, or the error.
    summary: String,
    /// Seconds for which the job ran; null if it never ran.
    seconds_run: Option<u64>,
    /// Position by the metric, from 1 for the best; null without a value, or if the job failed.
    rank: Option<usize>,
    /// Best value of the metric in the log; null without a value.
    best: Option<f64>,
    /// Last value of the metric in the log; null without a value.
    last: Option<f64>,
    /// Hyper-parameters of the trial.
    #[serde(serialize_with = "output::as_object")]
    #[schemars(with = "Map<String, Value>")]
    values: Vec<(String, Value)>,
    #[serde(skip)]
    pub(super) status: ExitStatus,
}

impl Row for TrialRow {
    const LIST: &'static str = "trials";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("NAME", |row| match row.rank {
            Some(1) => Terminal::styled(&row.name, Emphasis::Good),
            _ => row.name.clone(),
        }),
        Column::wide("ID", |row| or_dash(row.id.clone())),
        Column::new("RAN", |row| {
            or_dash(row.seconds_run.map(|seconds| output::duration(Duration::from_secs(seconds))))
        }),
        Column::new("BEST", |row| or_dash(row.best)),
        Column::new("LAST", |row| or_dash(row.last)),
        Column::new("OUTCOME", |row| row.summary.clone()),
    ];

    fn may_have_value(_name: &str) -> bool {
        true
    }

    fn values(&self) -> &[(String, Value)] {
        &self.values
    }

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl TrialRow {
    fn of_trial(trial: &Trial, outcome: &str, summary: String, status: ExitStatus) -> Self {
        let values = trial.parameters.iter();
        Self {
            name: trial.name.clone(),
            id: None,
            outcome: outcome.to_owned(),
            summary,
            seconds_run: None,
            rank: None,
            best: None,
            last: None,
            values: values.map(|(name, value)| (name.clone(), value.clone().into())).collect(),
            status,
        }
    }

    /// Creates the row of a job that was not submitted, or whose end was not seen.
    pub(super) fn without_end(
        trial: &Trial,
        draft: &Draft,
        error: Error,
        id: Option<String>,
    ) -> Self {
        let outcome = if id.is_some() || error.is_uncertain() { "unknown" } else { "refused" };
        let is_taken = error.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME);
        let difference = error.solution().and_then(|text| text.rsplit("; ").next());
        let summary = match difference.filter(|_| is_taken) {
            Some(difference) => {
                let is_of_code = ["boot_file", "code_dir"].iter().any(|it| difference.contains(it));
                let code = if is_of_code { ": the code has changed" } else { "" };
                format!(
                    "{difference}{code}; --name selects other names, and `modelarts rm` deletes jobs"
                )
            }
            None => draft.refusal(error).to_string(),
        };
        Self { id, ..Self::of_trial(trial, outcome, summary, ExitStatus::Refused) }
    }

    /// Creates the row of a job that has ended. A problem, such as a log that cannot be read, makes
    /// the trial one that did not succeed.
    pub(super) fn new(
        trial: &Trial,
        waited: &Waited,
        metric: Metric,
        best: Option<Best>,
        problem: Option<String>,
    ) -> Self {
        let (job, outcome) = (waited.job(), waited.outcome());
        let status = match (ExitStatus::from(outcome), &problem) {
            (ExitStatus::Success, Some(_)) => ExitStatus::Refused,
            (status, _) => status,
        };
        let problem = problem.map(|problem| format!("; {problem}"));
        let summary = format!("{outcome}{}", problem.unwrap_or_default());
        let word = outcome_name(outcome).unwrap_or_default();
        Self {
            id: Some(job.id().to_owned()),
            seconds_run: job.time_run().map(|time| time.as_secs()),
            best: if best == Some(Best::Max) { metric.max } else { metric.min },
            last: metric.last,
            ..Self::of_trial(trial, &word, summary, status)
        }
    }

    /// Returns the value by which the row is ranked; `None` for a failed trial.
    fn ranking(&self) -> Option<f64> {
        self.best.filter(|_| matches!(self.status, ExitStatus::Success | ExitStatus::Terminated))
    }

    /// Returns the row as a line about the end of the trial.
    pub(super) fn line(&self) -> String {
        let (sign, emphasis) = match self.status {
            ExitStatus::Success => ("✓", Emphasis::Good),
            ExitStatus::Terminated => ("■", Emphasis::Dim),
            _ => ("✗", Emphasis::Bad),
        };
        let best = self.best.map_or_else(String::new, |best| format!("  {best}"));
        format!("{} {} {}{best}", Terminal::styled(sign, emphasis), self.name, self.summary)
    }
}

/// Returns the rows by their metric, the best first. Failed trials and those without a value come
/// last, in their order.
pub(super) fn ranked(mut rows: Vec<TrialRow>, best: Option<Best>) -> Vec<TrialRow> {
    let Some(best) = best else {
        return rows;
    };
    let is_max = best == Best::Max;
    rows.sort_by(|one, other| best_first(one.ranking(), other.ranking(), is_max));
    for (position, row) in rows.iter_mut().enumerate() {
        row.rank = row.ranking().map(|_| position + 1);
    }
    rows
}

/// Writes a chart of the metric over each hyper-parameter with numbers as values.
pub(super) fn write_svg(rows: &[TrialRow], metric: &str, path: &Path) -> Result<(), Failure> {
    let words = metric.split('(').next().unwrap_or_default();
    let label = words.trim_matches(|letter: char| !letter.is_alphanumeric());
    let number = |value: &Value| value.as_str()?.parse().ok().filter(|it: &f64| it.is_finite());
    let names = rows.first().map(|row| row.values.as_slice()).unwrap_or_default();
    let charts = names.iter().enumerate().filter_map(|(at, (name, _))| {
        let point = |row: &TrialRow| Some((number(&row.values.get(at)?.1)?, row.ranking()?));
        let all: Vec<(f64, f64)> = rows.iter().filter_map(point).collect();
        let best = rows.iter().find(|row| row.rank == Some(1)).and_then(point);
        let marks = Marks::Points { all, best };
        best.map(|_| Chart { x: name.clone(), y: label.to_owned(), marks })
    });
    let charts: Vec<Chart> = charts.collect();
    if charts.is_empty() {
        note!("{} was not written: no trial has a number and a metric", path.display());
        return Ok(());
    }
    fs::write(path, svg(&charts))
        .map_err(|error| Failure::local(format_args!("cannot write {}: {error}", path.display())))
}
