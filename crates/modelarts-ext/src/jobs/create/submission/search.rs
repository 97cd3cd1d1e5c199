//! Search for the job of a create request whose response was lost.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use modelarts_api::request_path::create_training_job::metadata;
use serde_json::Value;

use crate::{
    client::Client,
    clock::{GATEWAY_CLOCK_SKEW, MAX_CLOCK_SKEW},
    error::Error,
    jobs::{
        create::{
            json_edit::text_at,
            submission::{comparison::may_be_made_from, policy::Found},
        },
        filter::Filter,
        job::Job,
    },
};

/// Pause before each search. The service lists new jobs with a short delay.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3)];

/// Searches for the job of a request that was sent at `started` or later. If `name_is_taken`, the
/// service reported that the name is in use, so the search includes older jobs.
pub(super) async fn find(
    client: &Client,
    body: &Value,
    started: SystemTime,
    name_is_taken: bool,
) -> Result<Found<Job>, Error> {
    let name = text_at(body, metadata::NAME);
    let (mut other_exists, mut is_unclear) = (false, false);
    for pause in PAUSES {
        if !pause.is_zero() {
            client.clock().sleep(pause).await;
        }
        let jobs = client.training_jobs();
        let mut list = jobs.list().filter(Filter::name().like(name));
        // A search covers a single workspace; names are unique within a workspace.
        let workspace = text_at(body, metadata::WORKSPACE_ID);
        if !workspace.is_empty() {
            list = list.workspace(workspace);
        }
        let mut jobs = list.stream();
        while let Some(job) = jobs.try_next().await? {
            // The start is converted to the clock of the service, whose skew may become known only
            // with the response.
            let started = client.transport().service_time(started);
            // Yields, so that the deadline is checked even if every response is available
            // immediately.
            tokio::task::yield_now().await;
            let is_older = |skew: Duration| {
                let created = job.created_at();
                created.is_some_and(|created| created + skew < started)
            };
            // The list is sorted from newest to oldest, so all further jobs are older as well.
            if is_older(GATEWAY_CLOCK_SKEW) && (other_exists || is_unclear || !name_is_taken) {
                break;
            }
            if job.name() == name {
                match may_be_made_from(job.details(), body) && !is_older(GATEWAY_CLOCK_SKEW) {
                    true if !is_older(MAX_CLOCK_SKEW) => return Ok(Found::Created(job)),
                    true => is_unclear = true,
                    false => other_exists = true,
                }
            }
        }
    }
    Ok(match (is_unclear, other_exists) {
        (true, _) => Found::Unclear,
        (false, true) => Found::OtherJob,
        (false, false) => Found::Absent,
    })
}
