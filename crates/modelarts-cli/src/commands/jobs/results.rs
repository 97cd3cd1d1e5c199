//! Results of commands that change jobs, and texts that these commands share.

use futures::{Stream, TryStreamExt};
use modelarts_ext::{Error, Job, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    output::{self, Column, Format, Row, until_error},
    session::Session,
    terminal::{Emphasis, Terminal, note},
};

/// Maximum number of jobs that are listed before a question.
const MAX_LISTED: usize = 20;

/// Returns a time in the time zone of the user, such as `2026-01-15 08:30:07`.
pub(super) fn local_time(time: Timestamp) -> String {
    output::local_time(time, "%Y-%m-%d %H:%M:%S")
}

/// Lists jobs on stderr, before a question about them.
pub(super) fn list_on_stderr(jobs: &[Job]) {
    for job in jobs.iter().take(MAX_LISTED) {
        note(format_args!("  {job}"));
    }
    let more = jobs.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        note(format_args!("  and {more} more"));
    }
}

/// Result of a command for one job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobResult {
    /// Id of the job.
    id: String,
    /// Name of the job.
    name: String,
    /// `stopping`, `ended` for a job that had ended before, `deleting` for an accepted deletion,
    /// `updated`, `gone` for a job that no longer exists, or `failed`.
    result: &'static str,
    /// The reason of the failure.
    error: Option<String>,
}

impl JobResult {
    /// Creates the result of a call for a job. A job that no longer exists is not a failure. An
    /// error without a response, such as a failed connection, is returned: it affects all jobs.
    pub(super) fn new(job: &Job, result: Result<&'static str, Error>) -> Result<Self, Error> {
        let (result, error) = match result {
            Ok(result) => (result, None),
            Err(error) if error.is_not_found() => ("gone", None),
            Err(error) if error.status().is_none() => return Err(error),
            Err(error) => ("failed", Some(error.to_string())),
        };
        Ok(Self { id: job.id().to_owned(), name: job.name().to_owned(), result, error })
    }
}

impl Row for JobResult {
    const LIST: &'static str = "results";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("NAME", |row| row.name.clone()),
        Column::new("ID", |row| row.id.chars().take(8).collect()),
        Column::new("RESULT", |row| match row.error {
            None => row.result.to_owned(),
            Some(_) => Terminal::styled(row.result, Emphasis::Bad),
        }),
        Column::wide("FULL-ID", |row| row.id.clone()),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// Prints results as they arrive, and their errors on stderr. If the stream fails, the results
/// before the error are printed in every format, because they cannot be undone.
pub(super) async fn print_results(
    session: &Session,
    results: impl Stream<Item = Result<Vec<JobResult>, Error>>,
) -> Result<ExitStatus, Failure> {
    let only_ids = session.output.format == Format::Id;
    let (mut failed, mut last) = (0, None);
    let results = until_error(results, &mut last).map_ok(|mut results| {
        for result in &results {
            if let Some(error) = &result.error {
                failed += 1;
                note(format_args!("error: {} ({}): {error}", result.name, result.id));
            }
        }
        if only_ids {
            results.retain(|result| result.error.is_none());
        }
        results
    });
    session.output.list(results).await?;
    if let Some(error) = last {
        return Err(error.into());
    }
    Ok(match failed {
        0 => ExitStatus::Success,
        _ => ExitStatus::Refused,
    })
}
