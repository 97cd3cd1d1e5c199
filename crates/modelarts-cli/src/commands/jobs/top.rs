//! Command `modelarts top`, which shows the usage of the active jobs.

use std::{collections::HashMap, time::SystemTime};

use clap::Args;
use futures::{StreamExt, stream};
use modelarts_ext::{Job, types::Phase};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    commands::jobs::{ls, ls::JobRow, selection::JobConditions, stop::ACTIVE},
    exit_status::ExitStatus,
    failure::Failure,
    live::{Screen, pause, table},
    output::{self, Column, Row, or_dash},
    session::Session,
};

/// Maximum number of jobs, and of the tasks of a job whose usage is read.
const MAX_JOBS: usize = 20;
const MAX_TASKS: usize = 4;
/// Maximum number of jobs whose usage is read concurrently.
const MAX_IN_FLIGHT: usize = 4;
/// Number of pauses after which the usage of a job is read again. The service has a value for each
/// minute.
const USAGE_PAUSES: u32 = 6;

#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    selection: JobConditions,
}

/// An active job with its usage in percent, which is null before the first values, and for devices
/// that the machines lack.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TopRow {
    #[serde(flatten)]
    job: JobRow,
    /// Usage of the CPU cores.
    cpu_percent: Option<f64>,
    /// Usage of the memory.
    memory_percent: Option<f64>,
    /// Usage of the GPUs or NPUs.
    accelerator_percent: Option<f64>,
}

impl Row for TopRow {
    const LIST: &'static str = "active_jobs";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("NAME", |row| row.job.name.clone()),
        Column::new("PHASE", |row| output::phase(&row.job.typed_phase)),
        Column::new("CPU", |row| percent(row.cpu_percent)),
        Column::new("MEM", |row| percent(row.memory_percent)),
        Column::new("RAN", |row| row.job.time_run()),
        Column::new("NODES", |row| or_dash(row.job.nodes)),
        Column::new("FLAVOR", |row| or_dash(row.job.flavor.clone())),
        // A narrow terminal leaves out the columns before the last one first.
        Column::new("GPU/NPU", |row| percent(row.accelerator_percent)),
    ];

    fn id(&self) -> Option<&str> {
        self.job.id()
    }
}

fn percent(value: Option<f64>) -> String {
    or_dash(value.map(|value| format!("{value:.0}%")))
}

impl Top {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let (selection, pause) = (self.selection.or_phases(ACTIVE), pause(client));
        let list = selection.list(client).await?;
        let mut known: HashMap<_, (Instant, Usage)> = HashMap::new();
        let rows = async move |jobs: Vec<Job>| {
            let reads = stream::iter(&jobs).map(async |job| match known.get(job.id()) {
                Some((time, usage)) if time.elapsed() < pause * USAGE_PAUSES => (*time, *usage),
                earlier => {
                    let read = usage(job).await;
                    let earlier = earlier.map_or([None; 3], |(_, usage)| *usage);
                    let has_values = read.iter().any(Option::is_some);
                    // A job that has just started has its first values soon.
                    let pauses = if has_values { 0 } else { USAGE_PAUSES - 1 };
                    let time = Instant::now().checked_sub(pause * pauses);
                    let usage = if has_values { read } else { earlier };
                    (time.unwrap_or_else(Instant::now), usage)
                }
            });
            let reads: Vec<_> = reads.buffered(MAX_IN_FLIGHT).collect().await;
            let rows = jobs.iter().zip(&reads).map(|(job, (_, usage))| {
                let [cpu_percent, memory_percent, accelerator_percent] = *usage;
                let job = JobRow::new(job, SystemTime::now());
                TopRow { job, cpu_percent, memory_percent, accelerator_percent }
            });
            let rows = rows.collect();
            known.clear();
            known.extend(jobs.into_iter().map(|job| job.id().to_owned()).zip(reads));
            rows
        };
        let snapshots = ls::snapshots(list, selection, MAX_JOBS, pause, rows);
        if let Some(screen) = Screen::open(session) {
            return table(screen, &session.output, snapshots).await;
        }
        session.output.list_or_note(snapshots.take(1), "no active jobs").await?;
        Ok(ExitStatus::Success)
    }
}

/// CPU, memory and accelerator usage in percent.
type Usage = [Option<f64>; 3];

/// Reads the usage of a job. Values that cannot be read are left out.
async fn usage(job: &Job) -> Usage {
    let tasks = job.tasks().iter().filter(|_| job.phase() == Phase::Running).take(MAX_TASKS);
    let reads = stream::iter(tasks).then(|task| job.metrics(task));
    let series: Vec<_> = reads.filter_map(async |read| read.ok()).concat().await;
    [&["cpuUsage"][..], &["memUsage"], &["gpuUtil", "npuUtil"]].map(|metrics| {
        let series = series.iter().filter(|series| metrics.contains(&series.metric()));
        let values: Vec<f64> = series.filter_map(|series| Some(series.last()?.1)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    })
}
