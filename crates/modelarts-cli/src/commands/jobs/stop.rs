//! Command `modelarts stop`, which stops jobs.

use clap::Args;
use futures::{StreamExt, stream};
use modelarts_ext::{Error, Job, types::Phase};

use crate::{
    commands::jobs::results::{JobResult, list_on_stderr, print_results},
    confirmation::confirm,
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::{JobArguments, Prefixes},
    progress::count,
    session::Session,
};

const CONCURRENT: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    jobs: JobArguments,
    /// Stops more than one job without a question.
    #[arg(short, long)]
    yes: bool,
}

impl Stop {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let jobs = self.jobs.find(client, Prefixes::Ids).await?;
        if jobs.len() > 1 && !self.yes {
            list_on_stderr(&jobs);
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
async fn stop(job: &Job) -> Result<&'static str, Error> {
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
