//! Search for the job of a request whose response was lost.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_api::request_path::create_training_job::metadata;
use serde_json::Value;

use crate::{
    client::Client,
    clock,
    error::Error,
    jobs::{
        create::{json_edit::text_at, submission::policy::Found},
        filter::Filter,
        job::Job,
    },
};

/// Pause before each search. The service lists new jobs with a short delay.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3)];

/// Searches for the job with the name of a request, and returns the result of `judge` on its
/// details. A row of the list lacks fields of the request.
pub(super) async fn find(
    client: &Client,
    body: &Value,
    judge: impl Fn(Job) -> Found<Job>,
) -> Result<Found<Job>, Error> {
    let name = text_at(body, metadata::NAME);
    for pause in PAUSES {
        if !pause.is_zero() {
            clock::pause(&**client.clock(), pause).await;
        }
        let mut list = client.training_jobs().list().filter(Filter::name().like(name));
        // A search covers a single workspace; names are unique within a workspace.
        let workspace = text_at(body, metadata::WORKSPACE_ID);
        if !workspace.is_empty() {
            list = list.workspace(workspace);
        }
        let mut jobs = list.stream();
        while let Some(job) = jobs.try_next().await? {
            // Yields, so that the deadline is checked even if all responses are available at once.
            tokio::task::yield_now().await;
            if job.name() != name {
                continue;
            }
            match client.training_jobs().get(job.id()).await {
                Ok(job) => return Ok(judge(job)),
                // The list may show a job that was deleted.
                Err(error) if error.is_job_gone() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Found::Absent)
}
