//! Command `modelarts metrics`, which draws the usage of a job and the values that it prints.

use std::{fs, path::PathBuf};

use clap::Args;
use futures::stream;
use modelarts_ext::{Job, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    chart::{Chart, Curve, Marks, svg},
    commands::jobs::{results::local_time, values::columns::number_after},
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::{Column, Row, Stdout, or_dash},
    session::Session,
    state::record_written,
    terminal::note,
};

/// Size of a chart on a terminal, in rows, and in columns without a terminal.
const ROWS: usize = 20;
const COLUMNS: u16 = 80;

#[derive(Debug, Args)]
pub(crate) struct Metrics {
    #[command(flatten)]
    job: JobArgument,
    /// Task whose usage and log are read.
    #[arg(long, value_name = "TASK", default_value = "worker-0")]
    task: String,
    /// Number that the script prints after this word, such as loss; may be repeated.
    #[arg(long, value_name = "WORD")]
    log: Vec<String>,
    /// Writes the charts to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

/// A value of a series.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PointRow {
    /// Name of the series, such as `cpuUsage`, or the word in the log.
    series: String,
    /// Time, RFC 3339; null for a value of the log without a time.
    time: Option<String>,
    /// Number of the value in the log, from 1; null for the usage.
    step: Option<u64>,
    /// Value; null for a gap, and for a number that is not finite.
    value: Option<f64>,
    #[serde(skip)]
    at: Option<Timestamp>,
}

impl Row for PointRow {
    const LIST: &'static str = "points";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("SERIES", |row| row.series.clone()),
        Column::new("TIME", |row| or_dash(row.time.clone())),
        Column::new("STEP", |row| or_dash(row.step)),
        Column::new("VALUE", |row| or_dash(row.value)),
    ];
}

impl Metrics {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        record_written(self.svg.clone());
        let job = self.job.find(session.client().await?).await?;
        let usage = self.usage(&job).await?;
        let printed = self.printed(&job).await?;
        let charts: Vec<Chart> =
            [usage_chart(&usage), printed_chart(&printed)].into_iter().flatten().collect();
        if charts.is_empty() {
            let ran = job.time_run().map(crate::output::duration);
            let ran = ran.map_or("it never ran".to_owned(), |ran| format!("it ran {ran}"));
            note(format_args!("no values of {} in {}; {ran}", self.task, job.name()));
        }
        if let (Some(path), false) = (&self.svg, charts.is_empty()) {
            fs::write(path, svg(&charts)).map_err(|error| {
                Failure::local(format_args!("cannot write {}: {error}", path.display()))
            })?;
        }
        if !session.output.is_text() || !session.output.columns().is_empty() {
            let rows = usage.into_iter().chain(printed).collect();
            session.output.list::<PointRow>(stream::iter([Ok(rows)])).await?;
            return Ok(ExitStatus::Success);
        }
        let width = usize::from(session.terminal.width().unwrap_or(COLUMNS));
        let mut stdout = Stdout::lock();
        for chart in &charts {
            stdout.line(chart.text(width, ROWS).trim_end())?;
        }
        stdout.flush()?;
        Ok(ExitStatus::Success)
    }

    async fn usage(&self, job: &Job) -> Result<Vec<PointRow>, Failure> {
        let mut rows = Vec::new();
        let usage = match job.metrics(&self.task).await {
            // The service has no values of a job that never ran.
            Err(error) if error.is_not_ready() => Vec::new(),
            usage => usage?,
        };
        for series in usage {
            if !series.is_blank() {
                rows.extend(series.points().map(|(time, value)| PointRow {
                    series: series.metric().to_owned(),
                    time: Some(time.to_string()),
                    step: None,
                    value,
                    at: Some(time),
                }));
            }
        }
        Ok(rows)
    }

    /// Returns the values of the log. A log that cannot be read, such as one that the service has
    /// deleted, is only reported.
    async fn printed(&self, job: &Job) -> Result<Vec<PointRow>, Failure> {
        let mut rows = Vec::new();
        for word in &self.log {
            let values = job.logs(&self.task).values(&number_after(word))?.collect().await;
            let values = values.unwrap_or_else(|error| {
                note(format_args!("the log of {} has no values: {error}", self.task));
                Vec::new()
            });
            rows.extend((1..).zip(values).map(|(step, value)| PointRow {
                series: word.clone(),
                time: value.time.map(|time| time.to_string()),
                step: Some(step),
                value: value.value.is_finite().then_some(value.value),
                at: value.time,
            }));
        }
        Ok(rows)
    }
}

/// Returns the chart of the usage over the minutes since its first value.
fn usage_chart(rows: &[PointRow]) -> Option<Chart> {
    let start = rows.iter().filter_map(|row| row.at).min()?;
    let minutes = |row: &PointRow| Some(row.at?.duration_since(start).as_secs_f64() / 60.0);
    let x = format!("minutes since {}", local_time(start));
    Some(Chart { x, y: "percent".to_owned(), marks: Marks::Curves(curves(rows, minutes)) })
}

/// Returns the chart of the values of a log over their numbers.
#[allow(clippy::cast_precision_loss)]
fn printed_chart(rows: &[PointRow]) -> Option<Chart> {
    let curves = curves(rows, |row| row.step.map(|step| step as f64));
    let marks = (!curves.is_empty()).then_some(Marks::Curves(curves))?;
    Some(Chart { x: "value".to_owned(), y: String::new(), marks })
}

/// Returns the curves of the series. A value that is missing divides its curve.
fn curves(rows: &[PointRow], x: impl Fn(&PointRow) -> Option<f64>) -> Vec<Curve> {
    let mut curves = Vec::new();
    for series in rows.chunk_by(|one, other| one.series == other.series) {
        let parts = series.split(|row| row.value.is_none());
        let points = |part: &[PointRow]| {
            part.iter().filter_map(|row| Some((x(row)?, row.value?))).collect::<Vec<_>>()
        };
        let parts: Vec<_> = parts.map(points).filter(|part| !part.is_empty()).collect();
        if let (Some(first), false) = (series.first(), parts.is_empty()) {
            curves.push(Curve { name: first.series.clone(), parts });
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_divides_a_curve() {
        let row = |series: &str, step, value| PointRow {
            series: series.to_owned(),
            time: None,
            step: Some(step),
            value,
            at: None,
        };
        let rows = [
            row("loss", 1, Some(0.5)),
            row("loss", 2, None),
            row("loss", 3, Some(0.25)),
            row("acc", 1, None),
        ];
        let found = curves(&rows, |row| row.step.map(|step| f64::from(step as u32)));
        let parts = vec![vec![(1.0, 0.5)], vec![(3.0, 0.25)]];
        assert_eq!(found, [Curve { name: "loss".to_owned(), parts }]);
    }
}
