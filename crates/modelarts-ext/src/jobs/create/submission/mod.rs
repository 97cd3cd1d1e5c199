//! Submission of a job. A lost response does not result in a second job.
//!
//! A create request is not idempotent, but job names are unique: the service rejects a repeated
//! request, because the name is in use.

// The specs of a job are read before the job is checked and sent. If the response is lost,
// `search` searches for the job. `policy` decides the step that follows each response.

mod policy;
mod search;

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};

use modelarts_api::{
    ClientInfo, Operation, codes,
    request_path::create_training_job::metadata,
    types::{ShowTrainingJobEnginesResponse, TrainingJob},
};
use reqwest::header::ACCEPT;
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    clock::{self, since},
    config::cloud::Cloud,
    error::{CallSummary, Error, ErrorKind},
    jobs::{
        create::{
            CreateJob, Validation,
            json_edit::text_at as text,
            submission::policy::{Failure, Sent, explain_path, nothing_sent},
        },
        job::Job,
    },
    transport::deadline::Deadline,
    validation::{
        draft::Draft,
        known_engines::{KnownEngines, engine_advice},
        specs::{AlgorithmSpec, FlavorSpec},
    },
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
    /// [`check`](Self::check) can validate the job against them. Call this method before work that
    /// a rejected job would waste, such as an upload.
    ///
    /// Makes at most three read calls, and none for known specs or [without
    /// look-up](Self::without_look_up). Subscribed algorithms and flavors of dedicated pools cannot
    /// be looked up. [`unread`](Self::unread) returns the errors of failed calls.
    ///
    /// Clones of the returned job keep the specs, so [`submit`](Self::submit) does not read them
    /// again. A clone with another algorithm or [`flavor`](Self::flavor) needs a new look-up, which
    /// `submit` performs and [`check`](Self::check) does not.
    ///
    /// # Errors
    /// Returns an error for missing or rejected credentials, or if the calls exceed
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). An
    /// algorithm or flavor that does not exist is a violation of [`check`](Self::check).
    pub async fn look_up(mut self) -> Result<Self, Error> {
        let deadline = self.client.deadline();
        self.read_specs(true, &deadline).await?;
        Ok(self)
    }

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
    /// A found job is returned if it is at most a minute older than the request, and contradicts no
    /// field of the request. Calls with equal requests may return the same job.
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
    /// directory and pool. Files in the code directory are not compared. The outputs of a job that
    /// modelarts-obs stages have new addresses each time, so that it differs. An existing job costs a
    /// rejected creation and the requests that find and read the job.
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
    /// [`Error::solution`] states its id and a field that differs.
    pub async fn submit_or_adopt(self) -> Result<Job, Error> {
        self.create(true).await
    }

    pub(in crate::jobs) async fn create(mut self, adopts: bool) -> Result<Job, Error> {
        let deadline = self.client.deadline();
        self.read_specs(false, &deadline).await.map_err(nothing_sent)?;
        for warning in self.check().into_result("the job")? {
            tracing::warn!(%warning, "the job does not follow a recommendation");
        }
        Checked { body: self.body(), client: self.client, adopts }.create(&deadline).await
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

struct Checked {
    client: Client,
    body: Value,
    /// `true` if an existing job with the name and the contents of the request is the result.
    adopts: bool,
}

impl Checked {
    async fn create(self, deadline: &Deadline) -> Result<Job, Error> {
        match self.create_once(deadline).await {
            Err(error) if error.code() == Some(codes::ENGINE_NOT_FOUND) => {
                let explained = explain_engine(error.clone(), &self.client, &self.body);
                let explained = deadline.run(explained).await;
                Err(explained.unwrap_or(error))
            }
            Err(error)
                if self.adopts && error.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME) =>
            {
                let adopted = deadline.run(self.adopt(error.clone())).await;
                adopted.unwrap_or(Err(error))
            }
            created => created.map_err(|error| explain_path(error, &self.body)),
        }
    }

    /// Returns the existing job with the name of the request, or `error` with the reason.
    async fn adopt(&self, error: Error) -> Result<Job, Error> {
        let reason = match search::find_by_name(&self.client, &self.body).await {
            Ok(Some(job)) => match search::difference(job.details(), &self.body, true) {
                None => return Ok(job),
                Some(path) => format!("the job {} has this name, and differs in {path}", job.id()),
            },
            Ok(None) => "no job with this name is listed".to_owned(),
            Err(failed) => format!("the job with this name could not be read: {failed}"),
        };
        Err(error.with_hint(&reason))
    }

    /// Creates the job. Repeats the request after a lost response only if a search finds no job.
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
            let search = search::find(client, &self.body, started, unsettled.name_is_taken());
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

    async fn send(&self, deadline: &Deadline) -> Result<Job, Failure> {
        let progress = Arc::<Mutex<CallSummary>>::default();
        let client = self
            .client
            .with_transport(|transport| transport.progress = Some(Arc::clone(&progress)));
        let work = async {
            let answer = post(&client, &self.body).await?;
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

const DOING: &str = "algorithm and flavor were being looked up";

impl CreateJob {
    /// Reads the specs. Keeps all errors but rejected credentials, because retries lock the key.
    pub(super) async fn read_specs(
        &mut self,
        engines: bool,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        if self.validation != Validation::Full {
            return Ok(());
        }
        deadline.limit(DOING, self.read(engines)).await
    }

    async fn read(&mut self, engines: bool) -> Result<(), Error> {
        let body = self.body();
        let draft = Draft::new(&body, self.cloud);
        self.unread.clear();
        if engines {
            let read = self.read_engines(draft).await;
            self.keep_failure(read)?;
        }
        let read = self.read_algorithm(draft).await;
        self.keep_failure(read)?;
        let read = self.read_flavor(draft).await;
        self.keep_failure(read)
    }

    fn keep_failure(&mut self, read: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = read else {
            return Ok(());
        };
        if error.kind() == ErrorKind::Credentials || error.status() == Some(401) {
            return Err(error);
        }
        tracing::warn!(%error, "the job is not checked against its algorithm, flavor or engine");
        self.unread.push(error);
        Ok(())
    }

    async fn read_algorithm(&mut self, draft: Draft<'_>) -> Result<(), Error> {
        let is_unknown = |id: &&str| self.specs.algorithm.of(Some(id)).is_none();
        let Some(id) = draft.algorithm_id().filter(is_unknown) else {
            return Ok(());
        };
        let client = &self.client;
        let answer = client
            .call(|api| {
                api.show_algorithm_by_uuid().project_id(client.project_id()).algorithm_id(id).send()
            })
            .await
            .and_then(|answer| {
                answer.require_match(client.transport(), "metadata.id", id, |algorithm| {
                    algorithm.metadata.as_ref()?.id.as_deref()
                })
            });
        let spec = match answer {
            Ok(answer) => AlgorithmSpec::from(answer.into_inner()),
            // A 404 without an error code comes from a gateway that does not know this path.
            Err(error) if error.is_not_found() && error.code().is_some() => {
                AlgorithmSpec::missing()
            }
            Err(error) => return Err(error),
        };
        self.specs.algorithm.set(Some(id), spec);
        Ok(())
    }

    async fn read_flavor(&mut self, draft: Draft<'_>) -> Result<(), Error> {
        let is_unknown = |id: &&str| self.specs.flavor.of(Some(id)).is_none();
        let Some(id) = draft.flavor_id().filter(is_unknown) else {
            return Ok(());
        };
        let project = self.client.project_id();
        let answer =
            self.client.call(|api| api.show_training_job_flavors().project_id(project).send());
        let answer = answer.await?;
        if let Some(spec) = FlavorSpec::look_up(&answer, id) {
            self.specs.flavor.set(Some(id), spec);
        }
        Ok(())
    }

    async fn read_engines(&mut self, draft: Draft<'_>) -> Result<(), Error> {
        if self.specs.engines.is_none() && KnownEngines::are_used_by(draft) {
            let engines = engines(&self.client).await?;
            self.specs.engines = KnownEngines::new(engines.into_inner());
        }
        Ok(())
    }
}

async fn engines(client: &Client) -> Result<Response<ShowTrainingJobEnginesResponse>, Error> {
    let project = client.project_id();
    let call = client.call(|api| api.show_training_job_engines().project_id(project).send());
    call.await
}

/// Adds similar engines to the error for an unknown engine. Engines are read only for this error.
pub(super) async fn explain_engine(error: Error, client: &Client, body: &Value) -> Error {
    match engines(client).await {
        Ok(engines) => match engine_advice(&engines.items, Draft::new(body, Cloud::default())) {
            Some(advice) => error.with_hint(&advice),
            None => error,
        },
        Err(failed) => {
            tracing::debug!(error = %failed, "the engines cannot be read");
            error
        }
    }
}
