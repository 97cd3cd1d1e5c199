//! Command `modelarts wait`, which waits for jobs.

use std::{collections::HashMap, time::Duration};

use clap::Args;
use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{
    Client, Job, Outcome, jobs::wait::Waited, pagination::PageStream, types::Phase,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::jobs::arguments::{phase, time_span},
    exit_status::{ExitCodeSource, ExitStatus},
    failure::Failure,
    follow::{Interrupt, JobEnd},
    job_reference::{JobArguments, Prefixes},
    output::{self, Column, Row},
    session::Session,
    terminal::{Emphasis, Terminal, note},
};

/// Minimum and maximum pause between polls of a server on this machine.
const LOCAL_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// Minimum and maximum pause between polls for a phase that may last only some seconds.
const PHASE_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

#[derive(Debug, Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    jobs: JobArguments,
    /// Returns when the first of the jobs ends.
    #[arg(long)]
    any: bool,
    /// Time limit: 2h, 30m. The exit code is 124 if it passes, and the jobs continue.
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    timeout: Option<Duration>,
    /// Waits until the jobs reach this phase, or end.
    #[arg(
        long = "for",
        value_name = "PHASE",
        ignore_case = true,
        value_parser = phase()
    )]
    reached: Option<Phase>,
    /// Source of the exit code: the outcome of the job, or the exit code of its failed task.
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "outcome")]
    exit_code: ExitCodeSource,
}

/// End of a job, or of the wait for it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitRow {
    /// `end`, the kind of the item.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Id of the job.
    id: String,
    /// Name of the job.
    name: String,
    /// Phase, such as `Completed`.
    phase: String,
    /// `completed`, `failed`, `terminated`, `abnormal`, `vanished`; `reached` or `timed_out` if the
    /// job continues.
    outcome: String,
    /// The outcome as a clause.
    summary: String,
    /// Exit code of the task that failed; 0 for a completed job.
    exit_code: Option<i64>,
    /// Task that failed.
    task: Option<String>,
    /// Seconds for which the job ran; null if it never ran.
    seconds_run: Option<u64>,
    #[serde(skip)]
    emphasis: Emphasis,
    /// Width of the longest name, so that rows that arrive later have the same columns.
    #[serde(skip)]
    name_width: usize,
}

/// Width of the durations of most jobs.
const DURATION: usize = 8;

impl WaitRow {
    fn new(waited: &Waited, name_width: usize) -> Self {
        let (job, outcome) = (waited.job(), waited.outcome());
        let end = JobEnd::new(job).outcome(outcome);
        Self {
            kind: "end",
            name_width,
            id: end.job.id,
            name: end.job.name,
            phase: job.phase().to_string(),
            outcome: end.outcome.unwrap_or_default(),
            summary: match outcome {
                Outcome::Reached => format!("reached {}", job.phase()),
                outcome => outcome.to_string(),
            },
            exit_code: end.exit_code,
            task: end.task,
            seconds_run: job.time_run().map(|time| time.as_secs()),
            emphasis: match outcome {
                Outcome::Completed | Outcome::Reached => Emphasis::Good,
                Outcome::Terminated { .. } => Emphasis::Dim,
                Outcome::TimedOut => Emphasis::Waiting,
                _ => Emphasis::Bad,
            },
        }
    }
}

impl Row for WaitRow {
    const LIST: &'static str = "ends";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("NAME", |row| format!("{:1$}", row.name, row.name_width)),
        Column::new("ID", |row| row.id.chars().take(8).collect()),
        Column::new("RAN", |row| {
            let seconds = row.seconds_run.map(Duration::from_secs);
            format!("{:DURATION$}", seconds.map_or_else(|| "-".to_owned(), output::duration))
        }),
        Column::wide("FULL-ID", |row| row.id.clone()),
        Column::new("OUTCOME", |row| Terminal::styled(&row.summary, row.emphasis)),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl Wait {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let jobs = self.jobs.find(client, Prefixes::Any).await?;
        if jobs.is_empty() {
            return Err(Failure::usage(
                "stdin has no id; it must have those of the jobs to wait for, one on each line",
            ));
        }
        let mut interrupt = Interrupt::new();
        let mut statuses: HashMap<String, ExitStatus> = HashMap::new();
        let mut first = None;
        let limit = if self.any { 1 } else { jobs.len() };
        let name_width = jobs.iter().map(|job| job.name().len()).max().unwrap_or_default();
        let ends = self.ends(client, &jobs).take(limit);
        let rows = ends.map_ok(|waited| {
            let status = self.status(&waited);
            first.get_or_insert(status);
            statuses.insert(waited.job().id().to_owned(), status);
            vec![WaitRow::new(&waited, name_width)]
        });
        // A document contains the jobs that ended before Ctrl-C.
        let rows = rows.take_until(interrupt.received());
        session.output.list(rows).await?;
        if interrupt.is_received() {
            let left = match jobs.len() - statuses.len() {
                1 => "1 job continues".to_owned(),
                jobs => format!("{jobs} jobs continue"),
            };
            note(format_args!("interrupted; {left}"));
            return Ok(ExitStatus::Interrupted);
        }
        if self.any {
            return Ok(first.unwrap_or(ExitStatus::Success));
        }
        // The first failure in the order of the arguments determines the exit code.
        let in_order = jobs.iter().filter_map(|job| statuses.get(job.id()).copied());
        let mut failed = in_order.filter(|status| *status != ExitStatus::Success);
        Ok(failed.next().unwrap_or(ExitStatus::Success))
    }

    /// Returns the jobs in the order in which they end or reach the phase of `--for`. All polls
    /// share one rate limit.
    fn ends(&self, client: &Client, jobs: &[Job]) -> PageStream<Waited> {
        let mut wait = client.training_jobs().wait_all(jobs);
        if let Some(target) = self.reached.clone() {
            wait = wait
                .until(move |job| has_reached(&job.phase(), &target))
                .interval(PHASE_PAUSES.0, PHASE_PAUSES.1);
        }
        if let Some(timeout) = self.timeout {
            wait = wait.timeout(timeout);
        }
        if Session::is_local(client) {
            wait = wait.interval(LOCAL_PAUSES.0, LOCAL_PAUSES.1).rate_limit(f64::INFINITY);
        }
        wait.stream()
    }

    /// Returns the exit status for an end. A completed job has reached every earlier phase, but a
    /// job that ended in another way than the phase of `--for` has not reached that phase.
    fn status(&self, waited: &Waited) -> ExitStatus {
        match (self.exit_code.status(waited.outcome()), &self.reached) {
            (ExitStatus::Success, Some(target))
                if *waited.outcome() != Outcome::Reached && is_end(target) =>
            {
                ExitStatus::Refused
            }
            (status, _) => status,
        }
    }
}

/// Returns `true` if the phase of a job is the target, or a later phase before the end.
fn has_reached(phase: &Phase, target: &Phase) -> bool {
    let order = |phase: &Phase| {
        let phases = [Phase::Creating, Phase::Pending, Phase::Running];
        phases.iter().position(|known| known == phase)
    };
    phase == target
        || matches!((order(phase), order(target)), (Some(phase), Some(target)) if phase >= target)
}

/// Returns `true` if a job in the phase has ended or is ending.
fn is_end(phase: &Phase) -> bool {
    !matches!(phase, Phase::Creating | Phase::Pending | Phase::Running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_reached_by_later_ones_before_the_end() {
        use Phase::{Completed, Creating, Failed, Pending, Running, Terminating};
        for (phase, target, reached) in [
            (Creating, Pending, false),
            (Pending, Pending, true),
            (Running, Pending, true),
            (Running, Running, true),
            (Terminating, Running, false),
            (Failed, Running, false),
            (Completed, Completed, true),
            (Failed, Completed, false),
        ] {
            assert_eq!(has_reached(&phase, &target), reached, "{phase} {target}");
        }
    }
}
