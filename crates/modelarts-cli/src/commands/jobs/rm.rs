//! Command `modelarts rm`, which deletes jobs.

use std::time::{Duration, SystemTime};

use clap::Args;
use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, LocalBoxStream},
};
use modelarts_ext::{Client, Error, Job, Timestamp, config::Cloud, types::Phase};

use crate::{
    commands::jobs::{
        arguments::time_span,
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

/// Maximum number of jobs that one call deletes on Huawei Cloud.
const BATCH: usize = 100;
/// Number of concurrent calls if each job is deleted by a call of its own.
const CONCURRENT: usize = 4;
/// Result of a deletion that the service has accepted but not yet carried out.
const ACCEPTED: &str = "deleting";

/// Phases of the jobs that are deleted by default.
const ENDED: [Phase; 4] = [Phase::Completed, Phase::Failed, Phase::Abnormal, Phase::Terminated];

const NOTES: &str = "\
Without a terminal, --yes must be given. The result `deleting` means that the service has accepted
the deletion. It deletes the job shortly after the command, and stops it before if it runs; until
then, `modelarts ls` lists the job.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Rm {
    /// Jobs: names, ids, first characters of ids, @last for the last one submitted from this
    /// directory, or - to read ids from stdin.
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Jobs that ended at least this time ago: 72h. A job that has not ended counts from its
    /// creation.
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    older_than: Option<Duration>,
    #[command(flatten)]
    selection: JobConditions,
    /// Deletes without a question.
    #[arg(short, long)]
    yes: bool,
    /// Prints the jobs on stderr, and deletes none.
    #[arg(long)]
    dry_run: bool,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

impl Rm {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let selects = self.older_than.is_some() || !self.selection.is_empty();
        if selects != self.jobs.is_empty() {
            return Err(Failure::usage(
                "rm must have jobs, or conditions that select them such as --older-than 72h \
                 --phase Terminated, but not both",
            ));
        }
        let client = session.client().await?;
        let selection = &self.selection;
        let jobs = match selects {
            true => select(client, selection.clone().or_phases(ENDED), self.older_than).await?,
            false => JobArguments::new(self.jobs).find(client, Prefixes::Ids).await?,
        };
        if jobs.is_empty() {
            // With --older-than, jobs that have not ended are not suggested.
            let others = match selects && self.older_than.is_none() {
                true => select(client, self.selection, None).await?,
                false => Vec::new(),
            };
            match others.is_empty() {
                true => note("no jobs to delete"),
                false => note(
                    "no jobs to delete; these meet the conditions, and have not ended; --phase \
                     selects them:",
                ),
            }
            list_on_stderr(&others);
            return Ok(ExitStatus::Success);
        }
        // Conditions do not name the jobs, so the jobs are always listed.
        if selects || self.dry_run || !self.yes {
            list_on_stderr(&jobs);
        }
        if self.dry_run {
            note("dry run: no job was deleted");
            return Ok(ExitStatus::Success);
        }
        let number = count(jobs.len() as u64, "job");
        let place = match session.has_records() {
            true => "the records of this machine".to_owned(),
            false => Session::place(client),
        };
        let outputs = if session.has_records() { ", and outputs not delivered," } else { "" };
        let what = format!("delete {number} with events and logs{outputs} in {place}");
        confirm(session.terminal, self.yes, what)?;
        #[cfg(unix)]
        if session.has_records() {
            crate::local_jobs::forget(&jobs)?;
        }
        print_results(session, delete(client, &jobs)).await
    }
}

/// Returns the jobs that meet the conditions, oldest first.
async fn select(
    client: &Client,
    selection: JobConditions,
    older_than: Option<Duration>,
) -> Result<Vec<Job>, Failure> {
    let list = selection.list(client).await?;
    let mut rows = list.oldest_first().stream();
    let limit = older_than.map(|age| {
        let limit = SystemTime::now().checked_sub(age);
        limit.map_or(Timestamp::MIN, Timestamp::from)
    });
    let mut jobs = Vec::new();
    while let Some(job) = rows.try_next().await? {
        if let Some(limit) = limit {
            // Jobs that were created after the limit cannot have ended before the limit.
            if job.created_at().is_some_and(|created| created > limit) {
                break;
            }
            if end(&job).is_none_or(|end| end > limit) {
                continue;
            }
        }
        if selection.selects(&job) {
            jobs.push(job);
        }
    }
    Ok(jobs)
}

/// Returns the end time of a job, or its creation time if it never ran or has not ended.
fn end(job: &Job) -> Option<Timestamp> {
    match (job.is_final(), job.started_at(), job.time_run()) {
        (true, Some(started), Some(run)) => Some(started + run),
        _ => job.created_at(),
    }
}

/// Requests the deletion of jobs, and returns the results as they arrive.
fn delete<'a>(
    client: &'a Client,
    jobs: &'a [Job],
) -> impl Stream<Item = Result<Vec<JobResult>, Error>> + 'a {
    let has_batches = client.cloud() == Cloud::Huawei && jobs.len() > 1;
    let size = if has_batches { BATCH } else { CONCURRENT };
    stream::iter(jobs.chunks(size))
        .then(move |jobs| delete_some(client, jobs, has_batches))
        .flatten()
}

async fn delete_some<'a>(
    client: &'a Client,
    jobs: &'a [Job],
    has_batches: bool,
) -> LocalBoxStream<'a, Result<Vec<JobResult>, Error>> {
    if has_batches {
        let results = match client.training_jobs().delete_many(jobs).await {
            Ok(()) => {
                let accepted = jobs.iter().map(|job| JobResult::new(job, Ok(ACCEPTED)));
                Some(accepted.collect())
            }
            Err(error) if error.status().is_none() => Some(Err(error)),
            // One of the jobs may have caused the rejection, so the jobs are deleted one by one.
            Err(_) => None,
        };
        if let Some(results) = results {
            return stream::iter([results]).boxed_local();
        }
    }
    let results = stream::iter(jobs).map(async |job| {
        let result = job.delete().await.map(|()| ACCEPTED);
        JobResult::new(job, result).map(|result| vec![result])
    });
    results.buffered(CONCURRENT).boxed_local()
}
