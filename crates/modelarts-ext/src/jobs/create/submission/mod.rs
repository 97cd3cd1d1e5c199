//! Submission of a job. A lost response does not result in a second job.
//!
//! A create request is not idempotent, but job names are unique: if the service receives a repeated
//! request, it rejects it, because the name is in use.

// `look_up` reads the specs of a job that is then checked and sent. If the response is lost,
// `comparison` searches for the job. `policy` decides what follows each answer.

mod comparison;
mod look_up;
mod policy;

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};

use modelarts_api::{
    ClientInfo, Operation, codes, request_path::create_training_job::metadata, types::TrainingJob,
};
use reqwest::header::ACCEPT;
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    clock::since,
    error::{Error, ErrorKind, call_summary::CallSummary},
    jobs::{
        create::{
            CreateJob,
            json_edit::text_at as text,
            submission::{
                look_up::explain_engine,
                policy::{Failure, Sent, explain_path, nothing_sent},
            },
        },
        job::Job,
    },
    transport::deadline::Deadline,
};

const DEFAULT_WORKSPACE: &str = "0";

// The operation is resolved at compile time, so the panic cannot occur in a running program.
#[allow(clippy::panic)]
const OPERATION: &Operation = match Operation::find("create_training_job") {
    Some(operation) => operation,
    None => panic!("no operation has this method"),
};

impl CreateJob {
    /// Reads the algorithm, the flavor and the preset engine of the job, so that
    /// [`check`](Self::check) can validate the job against them. Use it before work that a rejected
    /// job would waste, such as an upload.
    ///
    /// Makes at most three read calls, none for known specs or [without
    /// look-up](Self::without_look_up). Subscribed algorithms and flavors of dedicated pools cannot
    /// be looked up. [`unread`](Self::unread) has the errors of failed calls.
    ///
    /// Clones of the returned job have the specs, so [`submit`](Self::submit) does not look them up
    /// again. A clone with another algorithm or [`flavor`](Self::flavor) needs a new look-up, which
    /// `submit` does and [`check`](Self::check) does not.
    ///
    /// # Errors
    /// Rejected credentials, or calls that exceed
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). Missing
    /// specs are violations of [`check`](Self::check).
    pub async fn look_up(mut self) -> Result<Self, Error> {
        let deadline = self.client.deadline();
        self.read_specs(true, &deadline).await?;
        Ok(self)
    }

    /// Creates the job exactly once: if the response is lost, the client searches for the job by
    /// its name before it repeats the create request.
    ///
    /// Algorithm and flavor are [looked up](Self::look_up), and the job is [checked](Self::check)
    /// before. A failed look-up is only logged.
    ///
    /// If the response is lost, such as with a 503, the job is searched for at once, after 1 second
    /// and after 3 more, because new jobs are listed with a delay. Only if it is not found, the
    /// request is sent again, as often as
    /// [`ClientBuilder::retry`](crate::client::ClientBuilder::retry) permits.
    ///
    /// A found job counts if it is not more than a minute older than the request, and contradicts
    /// none of its fields. Submits of equal requests with one name may return the same job.
    ///
    /// # Errors
    /// All violations of [`check`](Self::check), in [`Error::violations`]; nothing is created then.
    /// A rejection by the service, with similar names for an unknown engine.
    /// [`Error::is_uncertain`] if the job may exist; the solution has the result of the search.
    pub async fn submit(mut self) -> Result<Job, Error> {
        let deadline = self.client.deadline();
        self.read_specs(false, &deadline).await.map_err(nothing_sent)?;
        for warning in self.check().into_result("the job")? {
            tracing::warn!(%warning, "the job does not follow a recommendation");
        }
        Checked { body: self.body(), client: self.client }.create(&deadline).await
    }

    pub(in crate::jobs) fn workspace_and_name(&self) -> (String, String) {
        let workspace = match text(&self.body, metadata::WORKSPACE_ID) {
            "" => DEFAULT_WORKSPACE,
            id => id,
        };
        let name = text(&self.body, metadata::NAME);
        (workspace.to_owned(), name.to_owned())
    }
}

/// A job that can be sent: it breaks no rule, or is not checked.
struct Checked {
    client: Client,
    body: Value,
}

impl Checked {
    async fn create(self, deadline: &Deadline) -> Result<Job, Error> {
        match self.create_once(deadline).await {
            Err(error) if error.code() == Some(codes::ENGINE_NOT_FOUND) => {
                let explained = explain_engine(error.clone(), &self.client, &self.body);
                let explained = deadline.run(&**self.client.clock(), explained).await;
                Err(explained.unwrap_or(error))
            }
            created => created.map_err(|error| explain_path(error, &self.body)),
        }
    }

    /// Repeats the request after a lost response only if a search finds no job.
    async fn create_once(&self, deadline: &Deadline) -> Result<Job, Error> {
        let client = &self.client;
        let (clock, transport) = (&**client.clock(), client.transport());
        let started = clock.now();
        let name = text(&self.body, metadata::NAME);
        let mut sent = Sent::Nothing;
        loop {
            let unsettled = match sent.answered(name, self.send(deadline).await) {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(unsettled) => unsettled,
            };
            let answered_at = clock.now();
            let search = comparison::find(client, &self.body, started, unsettled.name_is_taken());
            let doing = "the job of a lost create was being searched for";
            let found = self.run(search, doing, deadline).await;
            // The time of the searches counts toward the delay that the service requested.
            let pause = unsettled.retry_after();
            let pause = pause.saturating_sub(since(clock, answered_at));
            let may_repeat = |times| {
                times < transport.retry.max_attempts
                    && since(clock, started).saturating_add(pause) < transport.retry.max_elapsed
                    && deadline.left(clock).is_none_or(|left| pause < left)
                    && transport.take_retry()
            };
            sent = match unsettled.searched(name, found, may_repeat) {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(sent) => sent,
            };
            tracing::debug!(?pause, "the job does not exist, so the create is repeated");
            if !pause.is_zero() {
                clock.sleep(pause).await;
            }
        }
    }

    async fn send(&self, deadline: &Deadline) -> Result<Job, Failure> {
        let progress = Arc::<Mutex<CallSummary>>::default();
        let client = self.client.with_progress(Arc::clone(&progress));
        let work = async {
            let answer = post(&client, &self.body).await?;
            let answer = match text(&self.body, metadata::NAME) {
                "" => answer,
                name => answer.require_match(&self.client, metadata::NAME, name, |job| {
                    job.metadata.as_ref()?.name.as_deref()
                })?,
            };
            let (details, call) = answer.into_parts();
            Job::from_details(self.client.clone(), details, call).ok_or_else(|| {
                let message = "the service made a job and did not say its id";
                Error::new(ErrorKind::Decode, message)
            })
        };
        let sent = self.run(work, "the job was being sent", deadline).await;
        sent.map_err(|failure| match failure {
            Failure::Late(late) => {
                let call = progress.lock().unwrap_or_else(PoisonError::into_inner);
                Failure::Late(late.with_call(call.clone()))
            }
            answer => answer,
        })
    }

    async fn run<T>(
        &self,
        step: impl Future<Output = Result<T, Error>>,
        doing: &str,
        deadline: &Deadline,
    ) -> Result<T, Failure> {
        match deadline.run(&**self.client.clock(), step).await {
            Some(answer) => answer.map_err(Failure::Answer),
            None => Err(Failure::Late(deadline.timeout_error(doing))),
        }
    }
}

/// Sends the body unchanged: it may have fields that the generated type lacks, such as those of a
/// job that was copied from a newer service.
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
