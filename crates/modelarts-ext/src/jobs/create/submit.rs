//! Submission of a job. A lost response does not result in a second job.
//!
//! A create request is not idempotent, but job names are unique. If the response to a create
//! request is lost, the client searches for the job by its name, and repeats the request only if
//! the search finds no job. If the service receives both requests, it rejects the second, because
//! the name is in use.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use futures::TryStreamExt;
use modelarts_api::{
    ClientInfo, Operation,
    request_path::{
        create_training_job::{algorithm, metadata},
        input, output,
    },
    types::TrainingJob,
};
use reqwest::header::ACCEPT;
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    clock::{GATEWAY_CLOCK_SKEW, MAX_CLOCK_SKEW, since},
    error::{Error, ErrorKind, call_summary::CallSummary, display::clause},
    jobs::{
        create::{
            CreateJob,
            comparison::may_be_made_from,
            look_up::{LOOKING_UP, explain_engine},
        },
        filter::Filter,
        job::Job,
    },
    timestamp::Timestamp,
    transport::deadline::Deadline,
    validation::{json_path::Located, obs_path::ObsPath, report::Report},
};

/// Pause before each search for the job of a create request whose response was lost. The service
/// lists new jobs with a short delay.
const SEARCH_PAUSES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// The workspace of jobs that name none.
const DEFAULT_WORKSPACE: &str = "0";
/// Error code for a boot file that does not exist or is not in the code directory.
const BOOT_FILE_ERROR: &str = "ModelArts.2758";
/// Error code for a code directory that does not exist.
const CODE_DIR_ERROR: &str = "ModelArts.2757";
/// Error code for a code directory or bucket that does not exist.
const CODE_PATH_ERROR: &str = "ModelArts.2802";
/// Error code for an input or output with an unusable path.
const OBS_PATH_ERROR: &str = "ModelArts.2791";
/// Error code for an engine that does not exist.
const ENGINE_ERROR: &str = "ModelArts.2780";
/// Error code for a job name that is in use.
pub(in crate::jobs) const NAME_EXISTS: &str = "ModelArts.2751";

// The operation is resolved at compile time, so the panic cannot occur in a running program.
#[allow(clippy::panic)]
const OPERATION: &Operation = match Operation::find("create_training_job") {
    Some(operation) => operation,
    None => panic!("no operation has this method"),
};

impl CreateJob {
    /// Creates the job exactly once: if the response is lost, the client searches for the job by
    /// its name before it repeats the create request.
    ///
    /// Before that, algorithm and flavor are looked up ([`look_up`](Self::look_up)), unless
    /// disabled by [`without_look_up`](Self::without_look_up), and the job is validated. A failed
    /// look-up is logged as a warning, and the job is created without it. All calls together may
    /// take [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout).
    ///
    /// If the response is lost (a broken connection, a late response, or an error of the server
    /// such as 500 or 503), the job is searched for at once, again after a pause of 1 second, and
    /// again after 3 more seconds, because new jobs are listed with a delay. If it is not found, the
    /// request is sent again, as often as
    /// [`ClientBuilder::retry`](crate::client::ClientBuilder::retry) permits. If a search fails,
    /// the request is not sent again.
    ///
    /// A job of the name counts as the job of this request if it is not more than a minute older
    /// than the request, and none of its details contradicts the request. Jobs from equal requests
    /// cannot be distinguished: if two submits of one name have equal bodies, both may return the
    /// same job.
    ///
    /// # Errors
    /// The violations that [`check`](Self::check) finds, all of them in [`Error::violations`]; no
    /// create request is sent in this case. A rejection by the service; if it rejects the engine,
    /// the list of engines is read, and the solution contains similar names. An error with
    /// [`Error::is_uncertain`] means that the job may exist; its solution describes the result of
    /// the search.
    pub async fn submit(mut self) -> Result<Job, Error> {
        let (client, body) = (self.client.clone(), self.body());
        let deadline = client.deadline();
        let report = self.validate_within(&body, &deadline).await?;
        for warning in report.into_result("the job")? {
            tracing::warn!(%warning, "the job does not follow a recommendation");
        }
        match create_once(&client, &body, &deadline).await {
            Err(error) if error.code() == Some(ENGINE_ERROR) => {
                let explained = explain_engine(error.clone(), &client, &body);
                let explained = deadline.run(&**client.clock(), explained).await;
                Err(explained.unwrap_or(error))
            }
            created => created.map_err(|error| explain_path(error, &body)),
        }
    }

    /// Returns the violations that `submit` would return without a call.
    pub(in crate::jobs) fn require_valid(&self) -> Result<(), Error> {
        match self.unchecked {
            true => Ok(()),
            false => self.check().into_result("the job").map(|_| ()),
        }
    }

    /// Returns the workspace and the name, which no other job can have.
    pub(in crate::jobs) fn workspace_and_name(&self) -> (String, String) {
        let workspace = match text(&self.body, metadata::WORKSPACE_ID) {
            "" => DEFAULT_WORKSPACE,
            id => id,
        };
        let name = text(&self.body, metadata::NAME);
        (workspace.to_owned(), name.to_owned())
    }

    /// Validates the job as [`submit`](Self::submit) does, without creating it: looks up algorithm
    /// and flavor, and checks the job. Use it before work that a rejected job would waste, such as
    /// an upload. For that reason it also looks up the engine, which `submit` leaves to the service.
    /// The returned builder has the specs, so that `submit` does not look them up again. The report
    /// is empty if the job is [`unchecked`](Self::unchecked).
    ///
    /// # Errors
    /// Rejected credentials, or a look-up that exceeds
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). Violations
    /// are not errors of this method; see [`Report::into_result`].
    pub async fn validate(mut self) -> Result<(Self, Report), Error> {
        let (deadline, body) = (self.client.deadline(), self.body());
        if self.looks_up && !self.unchecked {
            let client = self.client.clone();
            let work = self.look_up_engines_if_possible(&body);
            let found = deadline.limit(&**client.clock(), LOOKING_UP, work).await;
            found.map_err(nothing_sent)?;
        }
        let report = self.validate_within(&body, &deadline).await?;
        Ok((self, report))
    }

    async fn validate_within(
        &mut self,
        body: &Value,
        deadline: &Deadline,
    ) -> Result<Report, Error> {
        if self.unchecked {
            return Ok(Report::default());
        }
        if self.looks_up {
            let client = self.client.clone();
            let work = self.look_up_if_possible(body);
            let found = deadline.limit(&**client.clock(), LOOKING_UP, work).await;
            found.map_err(nothing_sent)?;
        }
        Ok(self.check_body(body))
    }
}

fn nothing_sent(error: Error) -> Error {
    error.with_solution(Some("nothing was sent".into()))
}

/// Adds the path that the service rejects, which its message does not have.
fn explain_path(error: Error, body: &Value) -> Error {
    let code_dir = text(body, algorithm::CODE_DIR);
    let hint = match error.code() {
        Some(BOOT_FILE_ERROR) => format!(
            "check that the object {:?} exists in the code directory {code_dir:?}; names of \
             objects are case-sensitive",
            text(body, algorithm::BOOT_FILE)
        ),
        Some(CODE_DIR_ERROR) => format!(
            "check that objects exist below {code_dir:?}; names of objects are case-sensitive"
        ),
        Some(CODE_PATH_ERROR) => {
            format!("check that the bucket and the directory {code_dir:?} exist")
        }
        Some(OBS_PATH_ERROR) => match explain_obs_path(&error, body) {
            Some(hint) => hint,
            None => return error,
        },
        _ => return error,
    };
    error.with_hint(&hint)
}

/// Returns the advice of the table, which says more than that of the service, and the name of the
/// channel whose path the message has.
fn explain_obs_path(error: &Error, body: &Value) -> Option<String> {
    let message = error.message()?;
    let rejected = message
        .split_once("path:")
        .map_or(message, |(_, path)| path);
    let rejected = rejected.split(", reason").next()?.trim();
    let rejected = ObsPath::parse(rejected)?;
    let body = Located::root(body);
    let channels = |kind: &'static str, list, name, path| {
        let channels = body.at(list).items();
        let named = channels.iter().map(move |channel| {
            let url = channel.at(path).text().unwrap_or_default();
            (kind, channel.at(name).text().unwrap_or_default(), url)
        });
        named.collect::<Vec<_>>()
    };
    let mut channels = [
        channels(
            "input",
            algorithm::INPUTS,
            input::NAME,
            input::remote::obs::OBS_URL,
        ),
        channels(
            "output",
            algorithm::OUTPUTS,
            output::NAME,
            output::remote::obs::OBS_URL,
        ),
    ]
    .into_iter()
    .flatten();
    let (kind, name, url) =
        channels.find(|(.., url)| ObsPath::parse(url) == Some(rejected.clone()))?;
    let own = error.solution().and(error.known_code());
    let own = own.map_or(String::new(), |row| format!("{}; ", clause(row.advice)));
    Some(format!("{own}{url:?} is the path of the {kind} {name:?}"))
}

/// Sends the create request. After a lost response, repeats the request only if a search finds no
/// job.
async fn create_once(client: &Client, body: &Value, deadline: &Deadline) -> Result<Job, Error> {
    let clock = &**client.clock();
    let started = clock.now();
    let policy = &client.transport().retry;
    let name = text(body, metadata::NAME);
    let mut lost_error: Option<Error> = None;
    for attempt in 1.. {
        let progress = Arc::<Mutex<CallSummary>>::default();
        let sent = send(client, body, &progress);
        let error = match deadline.run(clock, sent).await {
            Some(Ok(job)) => return Ok(job),
            Some(Err(error)) => error,
            None => {
                let call = progress.lock().unwrap_or_else(PoisonError::into_inner);
                let error = deadline
                    .timeout_error("the job was being sent")
                    .with_call(call.clone());
                return Err(match lost_error {
                    Some(lost) => uncertain_error(error.after_uncertain(lost), name),
                    None if error.is_uncertain() => uncertain_error(error, name),
                    None => error.with_solution(Some("it was not sent".into())),
                });
            }
        };
        let exists = lost_error.is_some() && error.code() == Some(NAME_EXISTS);
        let is_refused = !error.is_uncertain();
        if lost_error.is_none() && is_refused {
            return Err(error);
        }
        let refused_at = clock.now();
        let found = find_lost_job(client, name, body, started, exists);
        let found = deadline.run(clock, found).await;
        let is_unclear = matches!(found, Some(Ok(Lookup::Unclear)));
        let end = match &found {
            Some(Ok(Lookup::OtherJob)) => format!("the job named {name:?} is another one"),
            _ => format!("no job named {name:?} was found after it"),
        };
        match found {
            Some(Ok(Lookup::Created(job))) => return Ok(job),
            // The name belongs to another job, so the create request was rejected.
            Some(Ok(Lookup::OtherJob)) if exists => return Err(error),
            // An earlier create request may have created a job that is not listed yet, so the
            // search may have missed it.
            Some(Ok(_)) if is_refused => return Err(uncertain_error(error, name)),
            Some(Ok(_)) => {}
            Some(Err(search)) if lost_error.is_none() && have_same_rejection(&error, &search) => {
                return Err(error.with_solution(Some(
                    "the search for the job was answered in the same way, so the create did \
                     probably not reach the service; check the endpoint"
                        .into(),
                )));
            }
            Some(Err(search)) => {
                return Err(search_failed(lost_error.unwrap_or(error), &search, name));
            }
            None => {
                let late =
                    deadline.timeout_error("the job of a lost create was being searched for");
                return Err(uncertain_error(
                    late.after_uncertain(lost_error.unwrap_or(error)),
                    name,
                ));
            }
        }
        // The time of the searches counts toward the delay that the service requested.
        let retry_after = error.retry_after().unwrap_or_default();
        let pause = retry_after.saturating_sub(since(clock, refused_at));
        let send_again = !error.is_final()
            && attempt < policy.max_attempts
            && since(clock, started).saturating_add(pause) < policy.max_elapsed
            && deadline.left(clock).is_none_or(|left| pause < left)
            && client.transport().take_retry();
        if !send_again && is_unclear {
            return Err(uncertain_error(error, name));
        }
        if !send_again {
            let times = match attempt {
                1 => "once".to_owned(),
                attempts => format!("{attempts} times"),
            };
            return Err(error.with_solution(Some(format!("it was sent {times}, and {end}"))));
        }
        tracing::debug!(%error, ?pause, "the job does not exist, so the create is repeated");
        if !pause.is_zero() {
            clock.sleep(pause).await;
        }
        lost_error = Some(error);
    }
    Err(Error::invalid("nothing was sent"))
}

/// Returns the string at a path of the body; empty if the string is missing.
fn text<'a>(body: &'a Value, path: &str) -> &'a str {
    Located::root(body).at(path).text().unwrap_or_default()
}

async fn send(
    client: &Client,
    body: &Value,
    progress: &Arc<Mutex<CallSummary>>,
) -> Result<Job, Error> {
    let answer = post(&client.with_progress(Arc::clone(progress)), body).await?;
    let answer = match text(body, metadata::NAME) {
        "" => answer,
        name => answer.require_match(client, metadata::NAME, name, |job| {
            job.metadata.as_ref()?.name.as_deref()
        })?,
    };
    let (details, call) = answer.into_parts();
    Job::from_details(client.clone(), details, call).ok_or_else(|| {
        let message = "the service made a job and did not say its id";
        Error::new(ErrorKind::Decode, message)
    })
}

/// Sends the request body unchanged.
///
/// The generated request type contains only the documented fields. A job may contain others, such
/// as a job copied from a newer service, and [`CreateJob::body`] must equal the request. The
/// request is signed, retried and decoded by the same code as that of the generated operation.
async fn post(client: &Client, body: &Value) -> Result<Response<TrainingJob>, Error> {
    let path = OPERATION.path.replace("{project_id}", client.project_id());
    let call = async |api: &modelarts_api::Client| {
        let request = api
            .client()
            .post(format!("{}{path}", api.baseurl()))
            .header(ACCEPT, "application/json")
            .json(body)
            .build()?;
        let response = modelarts_api::send(api, request, OPERATION).await?;
        modelarts_api::decode_response(api, response)
    };
    client.call(call).await
}

fn uncertain_error(error: Error, name: &str) -> Error {
    error.with_uncertainty().with_solution(Some(format!(
        "the job may exist all the same: look for a job named {name:?} before sending it again"
    )))
}

/// Returns the error of a creation whose job could not be searched for.
fn search_failed(error: Error, search: &Error, name: &str) -> Error {
    let status = search.status().map(|status| format!(" (HTTP {status})"));
    error.with_uncertainty().with_solution(Some(format!(
        "the search for the job failed, too{}; the job may exist all the same: look for a job \
         named {name:?} before sending it again",
        status.unwrap_or_default()
    )))
}

/// Returns `true` if a create request and a search failed with the same status, 401 or 404. This
/// suggests that the server is not the service, because of a proxy or a wrong endpoint.
fn have_same_rejection(create: &Error, search: &Error) -> bool {
    matches!(create.status(), Some(401 | 404)) && create.status() == search.status()
}

/// Result of the search for a job after a lost response.
enum Lookup {
    /// The create request created this job.
    Created(Job),
    /// Only another job of the same name exists.
    OtherJob,
    /// A job of this name may be that of the create request, but seems to be older. Clocks that
    /// differ may be the reason.
    Unclear,
    /// No job has this name. The new job may not be listed yet.
    Absent,
}

/// Searches for the job after the response to its create request was lost. If `exists` is `true`,
/// the service reported that the name is in use, so the search includes older jobs.
async fn find_lost_job(
    client: &Client,
    name: &str,
    body: &Value,
    started: SystemTime,
    exists: bool,
) -> Result<Lookup, Error> {
    let (mut other_exists, mut is_unclear) = (false, false);
    for pause in SEARCH_PAUSES {
        if !pause.is_zero() {
            client.clock().sleep(pause).await;
        }
        let mut list = client
            .training_jobs()
            .list()
            .filter(Filter::name().like(name));
        // A search covers a single workspace; names are unique within a workspace.
        let workspace = text(body, metadata::WORKSPACE_ID);
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
                created.is_some_and(|created: Timestamp| created + skew < started)
            };
            // The list is sorted from newest to oldest, so all further jobs are older as well.
            if is_older(GATEWAY_CLOCK_SKEW) && (other_exists || is_unclear || !exists) {
                break;
            }
            if job.name() == name {
                match may_be_made_from(job.details(), body) && !is_older(GATEWAY_CLOCK_SKEW) {
                    true if !is_older(MAX_CLOCK_SKEW) => return Ok(Lookup::Created(job)),
                    true => is_unclear = true,
                    false => other_exists = true,
                }
            }
        }
    }
    Ok(match (is_unclear, other_exists) {
        (true, _) => Lookup::Unclear,
        (false, true) => Lookup::OtherJob,
        (false, false) => Lookup::Absent,
    })
}
