//! Command `modelarts stop`, which stops jobs.

use clap::Args;
use futures::{StreamExt, stream};
use modelarts_ext::{Error, Job, types::Phase};

use crate::{
    commands::jobs::{
        results::{JobResult, list_on_stderr, print_results},
        selection::JobConditions,
    },
    confirmation::confirm,
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::{JobArguments, Prefixes},
    progress::count,
    session::Session,
    terminal::note,
};

const CONCURRENT: usize = 4;

/// Phases of the jobs that conditions select by default.
pub(super) const ACTIVE: [Phase; 3] = [Phase::Creating, Phase::Pending, Phase::Running];

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Jobs: names, ids, first characters of ids, @last for the last one submitted from this
    /// directory, or - to read ids from stdin.
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    #[command(flatten)]
    selection: JobConditions,
    /// Stops more than one job without a question.
    #[arg(short, long)]
    yes: bool,
    /// Prints the jobs on stderr, and stops none.
    #[arg(long)]
    dry_run: bool,
}

impl Stop {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let selects = !self.selection.is_empty();
        if selects != self.jobs.is_empty() {
            return Err(Failure::usage(
                "stop must have jobs, or conditions that select them such as --phase Running, but \
                 not both",
            ));
        }
        let client = session.client().await?;
        let jobs = match selects {
            true => self.selection.or_phases(ACTIVE).jobs(client).await?,
            false => JobArguments::new(self.jobs).find(client, Prefixes::Ids).await?,
        };
        if jobs.is_empty() {
            note("no jobs to stop");
            return Ok(ExitStatus::Success);
        }
        // Conditions do not name the jobs, so the jobs are always listed.
        if selects || self.dry_run || (jobs.len() > 1 && !self.yes) {
            list_on_stderr(&jobs);
        }
        if self.dry_run {
            note("dry run: no job was stopped");
            return Ok(ExitStatus::Success);
        }
        if (selects || jobs.len() > 1) && !self.yes {
            confirm(
                session.terminal,
                false,
                format_args!(
                    "stop {} in {}",
                    count(jobs.len() as u64, "job"),
                    Session::place(client)
                ),
            )?;
        }
        let results = stream::iter(&jobs).map(async |job| {
            let result = stop(job).await;
            JobResult::new(job, result).map(|result| vec![result])
        });
        print_results(session, results.buffered(CONCURRENT)).await
    }
}

/// Stops a job. A job that has ended, even in the meantime, or is being stopped is not an error.
pub(crate) async fn stop(job: &Job) -> Result<&'static str, Error> {
    if job.is_final() {
        return Ok("ended");
    }
    if job.phase() == Phase::Terminating {
        return Ok("stopping");
    }
    match job.terminate().await {
        Ok(_) => Ok("stopping"),
        Err(error) if error.is_conflict() => match job.get().await {
            Ok(job) if job.is_final() => Ok("ended"),
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}
