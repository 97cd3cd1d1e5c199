//! Submission of a job. A lost response does not result in a second job.
//!
//! A create request is not idempotent, but job names are unique: the service rejects a repeated
//! request, because the name is in use. The token in the environment variables of the job shows
//! whether the job with the name is that of the request.

// `policy` decides the step that follows each response. If the response is lost, `search` searches
// for the job, and `comparison` compares its details with the request.

mod comparison;
mod policy;
mod search;

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};

use modelarts_api::{
    ClientInfo, Operation, request_path::create_training_job::metadata, types::TrainingJob,
};
use reqwest::header::ACCEPT;
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    clock::{self, since},
    error::{CallSummary, Error, ErrorKind},
    jobs::{
        create::{
            CreateJob,
            json_edit::text_at as text,
            rejection::explain,
            submission::policy::{Failure, Request, Sent, Step},
            token::{self, Token},
        },
        job::Job,
    },
    transport::deadline::Deadline,
};

// The operation is resolved at compile time, so the panic cannot occur in a running program.
#[allow(clippy::panic)]
const OPERATION: &Operation = match Operation::find("create_training_job") {
    Some(operation) => operation,
    None => panic!("no operation has this method"),
};

impl CreateJob {
    /// Creates the job. If the response is lost, the client searches for the job by its name before
    /// it repeats the create request, so that no second job is created.
    ///
    /// The job is [looked up](Self::look_up) and [checked](Self::check) before the request.
    ///
    /// After a lost response, or an uncertain one such as HTTP 503, the job is searched for at
    /// once, after 1 second and after 3 more seconds, because new jobs are listed with a delay. The
    /// request is repeated only if the job is not found, as often as
    /// [`ClientBuilder::retry`](crate::client::ClientBuilder::retry) permits.
    ///
    /// A found job is returned if its details have the [token](Self::token) of this submission. A
    /// job with another token, or with other settings, is that of another request. An equal job
    /// without a token, as where a job cannot carry one, leaves open whose it is: the error is
    /// uncertain, and has the id of the job. If the service rejects the variable of a random token,
    /// the job is sent once more without it.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
    /// match job.submit().await {
    ///     Ok(job) => println!("{job}"),
    ///     Err(error) if error.is_uncertain() => println!("look for the job: {error}"),
    ///     // All violations, or the rejection by the service.
    ///     Err(error) => println!("no job was created: {error}"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns all violations of [`check`](Self::check) in [`Error::violations`], or a rejection by
    /// the service, with similar names for an unknown engine. If the job may exist,
    /// [`Error::is_uncertain`] is `true`, and [`Error::solution`] has the result of the search.
    pub async fn submit(self) -> Result<Job, Error> {
        self.create(false).await
    }

    /// Creates the job as [`submit`](Self::submit) does, or returns the existing job with its name
    /// and contents, of any age and in any phase. A program that was interrupted can therefore run
    /// again with the same jobs.
    ///
    /// The contents are equal if the details of the existing job contradict no field of the
    /// request, and have its algorithm, environment variables, maximum duration, volumes, log
    /// directory and pool. Files in the code directory and [tokens](Self::token) are not compared.
    /// The outputs of a job that modelarts-obs stages have new addresses each time, so that it
    /// differs. An existing job costs a rejected creation and the requests that find and read the
    /// job.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "nightly")?;
    /// // `job` is a prepared `CreateJob`.
    /// let first = job.clone().submit_or_adopt().await?;
    /// let second = job.clone().submit_or_adopt().await?;
    /// assert_eq!(first.id(), second.id());
    ///
    /// let error = job.description("another job").submit_or_adopt().await.unwrap_err();
    /// assert!(error.to_string().contains("differs in metadata.description"));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`submit`](Self::submit). If a job with other contents has the name,
    /// [`Error::solution`] states its id and the fields that differ.
    pub async fn submit_or_adopt(self) -> Result<Job, Error> {
        self.create(true).await
    }

    pub(in crate::jobs) async fn create(mut self, adopts: bool) -> Result<Job, Error> {
        let deadline = self.client.deadline();
        let read = self.read_specs(false, &deadline).await;
        read.map_err(|error| error.with_solution(Some("nothing was sent".into())))?;
        for warning in self.check().into_result("the job")? {
            tracing::warn!(%warning, "the job does not follow a recommendation");
        }
        let body = self.body();
        let token = self.token.new_token(&body, self.cloud)?;
        let is_own_token = matches!(self.token, Token::Given(_));
        let checked = Checked { body, token, is_own_token, adopts, client: self.client };
        match checked.create(&deadline).await {
            Ok(job) => Ok(job),
            Err(error) => Err(explain(error, &checked.client, &checked.body, &deadline).await),
        }
    }
}

struct Checked {
    client: Client,
    body: Value,
    /// `None` if the job is sent without a token.
    token: Option<String>,
    /// `true` for a token of the caller, which a job of an earlier submission may have.
    is_own_token: bool,
    /// `true` if an existing job with the name and the contents of the request is the result.
    adopts: bool,
}

impl Checked {
    /// Creates the job. Repeats the request after a lost response only if a search finds no job.
    async fn create(&self, deadline: &Deadline) -> Result<Job, Error> {
        let client = &self.client;
        let (clock, transport) = (&**client.clock(), client.transport());
        let started = clock.now();
        let name = text(&self.body, metadata::NAME);
        let mut token = self.token.as_deref();
        let mut sent = Sent::Nothing;
        loop {
            let request = Request {
                name,
                takes_existing: self.adopts || self.is_own_token,
                has_random_token: token.is_some() && !self.is_own_token,
            };
            let unsettled = match sent.answered(&request, self.send(token, deadline).await) {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(Step::SendWithoutToken(earlier)) => {
                    tracing::debug!("the variable of the token was rejected");
                    (sent, token) = (earlier, None);
                    continue;
                }
                ControlFlow::Continue(Step::Search(unsettled)) => unsettled,
            };
            let answered_at = clock.now();
            let search = search::find(client, &self.body, |job| {
                let differences = comparison::differences(job.details(), &self.body);
                let (id, token) = (job.id().to_owned(), job.token().map(str::to_owned));
                let tokens = [token.as_deref(), self.token.as_deref()];
                policy::judge((job, &id), tokens, &differences, self.adopts)
            });
            let doing = "the job of a lost create was being searched for";
            let found = run(search, doing, deadline).await;
            // The time of the searches counts toward the delay that the service requested.
            let pause = unsettled.retry_after();
            let pause = pause.saturating_sub(since(clock, answered_at));
            let may_repeat = |times| {
                times < transport.retry.max_attempts
                    && since(clock, started).saturating_add(pause) < transport.retry.max_elapsed
                    && deadline.left().is_none_or(|left| pause < left)
                    && transport.take_retry()
            };
            sent = match unsettled.searched(name, found, may_repeat) {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(sent) => sent,
            };
            tracing::debug!(?pause, "the job does not exist, so the create is repeated");
            if !pause.is_zero() {
                clock::pause(clock, pause).await;
            }
        }
    }

    async fn send(&self, token: Option<&str>, deadline: &Deadline) -> Result<Job, Failure> {
        let progress = Arc::<Mutex<CallSummary>>::default();
        let client = self
            .client
            .with_transport(|transport| transport.progress = Some(Arc::clone(&progress)));
        let mut body = self.body.clone();
        token::replace(&mut body, token);
        let work = async {
            let answer = post(&client, &body).await?;
            let answer = match text(&self.body, metadata::NAME) {
                "" => answer,
                name => {
                    answer.require_match(self.client.transport(), metadata::NAME, name, |job| {
                        job.metadata.as_ref()?.name.as_deref()
                    })?
                }
            };
            let (details, call) = answer.into_parts();
            Job::from_details(self.client.clone(), details, call).ok_or_else(|| {
                let message = "the service made a job and did not say its id";
                Error::new(ErrorKind::Decode, message)
            })
        };
        let sent = run(work, "the job was being sent", deadline).await;
        sent.map_err(|failure| match failure {
            Failure::Late(late) => {
                let call = progress.lock().unwrap_or_else(PoisonError::into_inner);
                Failure::Late(late.with_call(call.clone()))
            }
            // With a success status, the body of an error does not exclude that the job exists.
            Failure::Answer(error)
                if error.kind() == ErrorKind::Service
                    && matches!(error.status(), Some(200..=299)) =>
            {
                Failure::Answer(error.with_uncertainty())
            }
            answer => answer,
        })
    }
}

async fn run<T>(
    step: impl Future<Output = Result<T, Error>>,
    doing: &str,
    deadline: &Deadline,
) -> Result<T, Failure> {
    match deadline.run(step).await {
        Some(answer) => answer.map_err(Failure::Answer),
        None => Err(Failure::Late(deadline.timeout_error(doing))),
    }
}

/// Sends the request body unchanged, because it may have fields that the generated type lacks.
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
