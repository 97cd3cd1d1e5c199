//! Command `modelarts logs`, which prints the log of a task.
//!
//! With several tasks, each line begins with the name of its task, even if stdout is no terminal.

mod filter;
mod follow;
mod printer;
mod source;

pub(crate) use printer::{LogDocument, LogItemRow};

use clap::Args;
use modelarts_ext::{Job, Timestamp};
use regex::Regex;

use crate::{
    commands::jobs::{
        arguments::{moment, whole_number},
        logs::{filter::LineFilter, follow::follow, printer::LogPrinter, source::print_existing},
    },
    exit_status::{ExitCodeSource, ExitStatus},
    failure::Failure,
    follow::Interrupt,
    job_reference::JobArgument,
    output::{Format, Repetitions},
    session::Session,
    terminal::note,
};

/// Value of `--task` that selects all tasks.
const ALL: &str = "all";

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    job: JobArgument,
    /// Prints new lines until the job ends. The exit code is 0 then, whatever its outcome.
    #[arg(short, long)]
    follow: bool,
    /// Exit code after following: the outcome of the job, or the exit code of its failed task.
    #[arg(long, value_enum, value_name = "SOURCE", requires = "follow")]
    exit_code: Option<ExitCodeSource>,
    /// Only the log of this task, such as worker-0; otherwise those of all tasks, sorted by the
    /// times that the lines begin with.
    #[arg(long, value_name = "TASK", default_value = ALL, hide_default_value = true)]
    task: String,
    /// Only the last lines of each task; with --grep, the last lines that match.
    #[arg(
        short = 'n',
        long,
        value_name = "LINES",
        value_parser = whole_number::<usize>,
        allow_negative_numbers = true
    )]
    tail: Option<usize>,
    /// Only lines since this time: 10m, 2026-01-15T08:30:00Z. A line without a time at its
    /// beginning counts with the line before it, and a time without a zone counts as UTC.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only lines that match this regular expression.
    #[arg(long, value_name = "REGEX")]
    grep: Option<String>,
    /// Prints repeated lines as often as they are in the log. Otherwise, a terminal shows a line
    /// that repeats three times, and then the number of its repetitions.
    #[arg(long)]
    raw: bool,
    /// Leaves out the lines of the platform.
    #[arg(long)]
    no_system: bool,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

impl Logs {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let filter = LineFilter::new(self.since, self.pattern()?, !self.no_system);
        if session.output.format == Format::Id {
            return Err(Failure::usage(
                "--output id: lines have no ids; the format must be another",
            ));
        }
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        let tasks = self.tasks(&job)?;
        // The tasks of a job that has not started are not known.
        let has_prefix = self.task == ALL && (tasks.len() > 1 || nodes(&job) > 1);
        let repetitions = match self.raw || !session.output.is_terminal() {
            true => Repetitions::Raw,
            false if self.follow => Repetitions::Live,
            false => Repetitions::Totals,
        };
        let mut printer = LogPrinter::new(&session.output, has_prefix, repetitions);
        match self.print(&job, &tasks, filter, &mut printer).await {
            Ok(status) => {
                printer.finish()?;
                Ok(status)
            }
            Err(failure) => {
                // An error of printing is a consequence of `failure`, so it is ignored.
                let _ = printer.finish_partly();
                Err(failure)
            }
        }
    }

    pub(crate) fn has_outcome(&self) -> bool {
        self.exit_code.is_some()
    }

    async fn print(
        &self,
        job: &Job,
        tasks: &[String],
        filter: LineFilter,
        printer: &mut LogPrinter<'_>,
    ) -> Result<ExitStatus, Failure> {
        let status = match (self.follow, tasks) {
            (true, tasks) => {
                let mut interrupt = Interrupt::new();
                let followed = follow(job, tasks, self.tail, filter, printer);
                match interrupt.unless(followed).await {
                    Some(followed) => {
                        followed?;
                        self.status(job).await?
                    }
                    None => ExitStatus::Interrupted,
                }
            }
            (false, []) => {
                note(format_args!("{} is {}; it has no log yet", job.name(), job.phase()));
                ExitStatus::Success
            }
            (false, tasks) => {
                print_existing(job, tasks, self.tail, &filter, printer).await?;
                ExitStatus::Success
            }
        };
        Ok(status)
    }

    /// Returns the exit status of the command for a job that has ended.
    async fn status(&self, job: &Job) -> Result<ExitStatus, Failure> {
        let Some(source) = self.exit_code else {
            return Ok(ExitStatus::Success);
        };
        Ok(source.status(job.wait().await?.outcome()))
    }

    fn pattern(&self) -> Result<Option<Regex>, Failure> {
        let Some(pattern) = &self.grep else {
            return Ok(None);
        };
        Regex::new(pattern).map(Some).map_err(|error| {
            let error = error.to_string();
            // The first lines of the error only show the place in the expression.
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            Failure::usage(format_args!(
                "--grep {pattern:?}: {reason}; it must be a regular expression"
            ))
        })
    }

    /// Returns the names of the selected tasks; for `all`, empty if the tasks are not known yet.
    fn tasks(&self, job: &Job) -> Result<Vec<String>, Failure> {
        let known = job.tasks();
        if self.task == ALL {
            return Ok(known.to_vec());
        }
        if known.is_empty() || known.contains(&self.task) {
            return Ok(vec![self.task.clone()]);
        }
        Err(Failure::usage(format_args!(
            "--task {:?}: the job has no such task; it must be one of: {}, {ALL}",
            self.task,
            known.join(", ")
        )))
    }
}

/// Returns the number of nodes of a job.
pub(crate) fn nodes(job: &Job) -> i64 {
    let spec = job.details().spec.as_ref();
    let resource = spec.and_then(|spec| spec.resource.as_ref());
    resource.and_then(|resource| resource.node_count).unwrap_or(1)
}
