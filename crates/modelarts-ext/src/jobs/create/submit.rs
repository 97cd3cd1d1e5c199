//! Making a job exactly once, also when the answer is lost.
//!
//! A create is not sent again blindly, because it makes a new job each time. But
//! names of jobs are unique, so a lost one can be settled: look for the job, and
//! only when it is not there send it again. Should both have arrived, the service
//! refuses the second for its name.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::TryStreamExt;
use modelarts_api::types::TrainingJob;
use serde_json::Value;

use crate::{
    client::Client,
    clock::since,
    error::Error,
    jobs::{create::create_call, filter::Filter, job::Job},
    transport::{call::Record, deadline::Deadline},
    validation::{json_path::Located, obs_path::ObsPath},
};

/// A new job may show up in searches a little late.
const LOOKS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// How far the clock of the service may be behind ours; beyond this its gateway
/// refuses signatures.
const SKEW: Duration = Duration::from_secs(60);
/// "There is a job of this name."
const DUPLICATE: &str = "ModelArts.2751";

/// Sends a create until it is known what became of it.
pub(crate) async fn create(
    client: &Client,
    body: &Value,
    deadline: &Deadline,
) -> Result<Job, Error> {
    let clock = &**client.clock();
    let started = clock.now();
    let policy = client.retry_policy();
    let name = text(body, "metadata.name");
    let mut lost: Option<Error> = None;
    for sent in 1.. {
        let record = Arc::default();
        let error = match deadline.run(clock, send(client, body, &record)).await {
            Some(Ok(job)) => return Ok(job),
            Some(Err(error)) => error,
            None => {
                let call = record.take().summary();
                let error = deadline
                    .timeout_error("the job was being sent")
                    .with_call(call);
                return Err(match lost {
                    Some(lost) => unsettled(error.after_uncertain(lost), name),
                    None if error.is_uncertain() => unsettled(error, name),
                    None => error.with_solution(Some("it was not sent".into())),
                });
            }
        };
        let exists = lost.is_some() && error.code() == Some(DUPLICATE);
        let refused = !error.is_uncertain();
        if lost.is_none() && refused {
            return Err(error);
        }
        let refused_at = clock.now();
        let found = find(client, name, body, started, exists);
        match deadline.run(clock, found).await {
            Some(Ok(Found::Ours(job))) => return Ok(job),
            // Of this name, but another job: ours was refused.
            Some(Ok(Found::Another)) if exists => return Err(error),
            // The one before may be listed even later than this.
            Some(Ok(_)) if refused => return Err(unsettled(error, name)),
            Some(Ok(_)) => {}
            Some(Err(search)) if lost.is_none() && is_answered_alike(&error, &search) => {
                return Err(error.with_solution(Some(
                    "the search for the job was answered in the same way, so the create did \
                     probably not reach the service; check the endpoint"
                        .into(),
                )));
            }
            Some(Err(_)) => return Err(unsettled(lost.unwrap_or(error), name)),
            None => {
                let late =
                    deadline.timeout_error("a job was looked for whose create had been lost");
                return Err(unsettled(late.after_uncertain(lost.unwrap_or(error)), name));
            }
        }
        // The searches took a part of what the service asked to wait.
        let asked = error.retry_after().unwrap_or_default();
        let pause = asked.saturating_sub(since(clock, refused_at));
        let again = !error.is_final()
            && sent < policy.max_attempts
            && since(clock, started).saturating_add(pause) < policy.max_elapsed
            && deadline.left(clock).is_none_or(|left| pause < left)
            && client.take_retry();
        if !again {
            let times = match sent {
                1 => "once".to_owned(),
                sent => format!("{sent} times"),
            };
            return Err(error.with_solution(Some(format!(
                "it was sent {times}, and no job named {name:?} was found after it"
            ))));
        }
        tracing::debug!(%error, ?pause, "the job does not exist, so it is sent again");
        if !pause.is_zero() {
            clock.sleep(pause).await;
        }
        lost = Some(error);
    }
    Err(Error::invalid("nothing was sent"))
}

/// A text of the body; empty when it is not there.
fn text<'a>(body: &'a Value, way: &str) -> &'a str {
    Located::root(body).at(way).text().unwrap_or_default()
}

async fn send(client: &Client, body: &Value, record: &Arc<Record>) -> Result<Job, Error> {
    let answer = create_call::send(client, body, record).await?;
    let answer = match text(body, "metadata.name") {
        "" => answer,
        name => answer.require_match(client, "metadata.name", name, |job| {
            job.metadata.as_ref()?.name.as_deref()
        })?,
    };
    let told = answer.call();
    Job::from_details(client.clone(), answer.into_boxed(), told).ok_or_else(Error::missing_id)
}

fn unsettled(error: Error, name: &str) -> Error {
    error.with_uncertainty().with_solution(Some(format!(
        "the job may exist all the same: look for a job named {name:?} before sending it again"
    )))
}

/// Returns whether a create and a search got the same answer, as from something that is not
/// the service: a proxy, or the server of a wrong endpoint.
fn is_answered_alike(create: &Error, search: &Error) -> bool {
    matches!(create.status(), Some(401 | 404)) && create.status() == search.status()
}

/// The result of a search for the job of a lost create.
enum Found {
    Ours(Job),
    /// Only another job of its name.
    Another,
    /// No job of its name, which may only not be listed yet.
    Nothing,
}

/// Looks for the job that a lost create may have made. `exists`: the service says that there
/// is one of its name, so that older jobs are looked through, too.
async fn find(
    client: &Client,
    name: &str,
    body: &Value,
    started: SystemTime,
    exists: bool,
) -> Result<Found, Error> {
    let mut another = false;
    for pause in LOOKS {
        if !pause.is_zero() {
            client.clock().sleep(pause).await;
        }
        let mut list = client
            .training_jobs()
            .list()
            .filter(Filter::name().like(name));
        // A search is in one workspace, and names are unique in one.
        let workspace = text(body, "metadata.workspace_id");
        if !workspace.is_empty() {
            list = list.workspace(workspace);
        }
        let mut jobs = list.stream();
        // By the clock of the service, which may just have been found out.
        let started = client.service_time(started);
        while let Some(job) = jobs.try_next().await? {
            // Where each answer is there at once, nothing else would look at the time.
            tokio::task::yield_now().await;
            let older = |created: SystemTime| created + SKEW < started;
            let older = job.created_at().is_some_and(older);
            // The newest come first.
            if older && (another || !exists) {
                break;
            }
            if job.name() == name {
                if !older && made_of(job.details(), body) {
                    return Ok(Found::Ours(job));
                }
                another = true;
            }
        }
    }
    Ok(match another {
        true => Found::Another,
        false => Found::Nothing,
    })
}

/// Whether a job can have been made of this body. An older job of the same name
/// would have kept ours from being made, and must not be taken for it.
fn made_of(job: &TrainingJob, body: &Value) -> bool {
    let body = Located::root(body);
    let description = job
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.description.as_deref());
    let same_description = description.unwrap_or_default()
        == body.at("metadata.description").text().unwrap_or_default();
    let outputs = job.algorithm.as_ref().map(|algorithm| &algorithm.outputs);
    let has = outputs
        .into_iter()
        .flatten()
        .filter_map(|output| output.remote.as_ref()?.obs.as_ref()?.obs_url.as_deref());
    let wanted = body.at("algorithm.outputs").items();
    let wants = wanted
        .iter()
        .filter_map(|output| output.at("remote.obs.obs_url").text());
    // The service gives `obs://bucket/key/` back as `/bucket/key/`.
    let normal = |text| ObsPath::parse(text).ok_or(text);
    same_description && has.map(normal).eq(wants.map(normal))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_known_by_what_it_was_made_of() {
        let body = json!({
            "kind": "job",
            "metadata": {"name": "n", "description": "d"},
            "algorithm": {"outputs": [
                {"name": "o", "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}
            ]},
        });
        let job = |description: &str, place: &str| -> TrainingJob {
            serde_json::from_value(json!({
                "metadata": {"name": "n", "description": description},
                "algorithm": {"outputs": [{"name": "o", "remote": {"obs": {"obs_url": place}}}]},
            }))
            .unwrap()
        };
        assert!(made_of(&job("d", "/bucket/out/"), &body));
        assert!(made_of(&job("d", "obs://bucket/out"), &body));
        assert!(!made_of(&job("d", "/bucket/other/"), &body));
        assert!(!made_of(&job("", "/bucket/out/"), &body));
    }
}
