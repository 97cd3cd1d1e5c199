//! `JobHandle`, a training job by its id, and `Job`, a training job with the details of a response.

use std::{fmt, ops::Deref, sync::Arc};

use modelarts_api::types::{self, JobMetadata, JobStatus, Phase, SecondaryPhase, TrainingJob};
use serde::{Serialize, Serializer};

use crate::{
    client::{Client, response::Response},
    error::Error,
    jobs::submission_token,
    timestamp::Timestamp,
    transport::call::CallInfo,
};

/// Error codes for the stop of a job whose phase does not permit a stop, or has just changed.
const WRONG_PHASE_CODES: [&str; 2] =
    [modelarts_api::codes::NOT_ALLOWED_TO_TERMINATE, modelarts_api::codes::JOB_STATUS_CHANGED];

/// Handle of a training job by its id, from [`TrainingJobs::job`]. A [`Job`] has the same methods.
///
/// Except for waits and streams, calls fail with [`Error::is_not_found`] if the job is missing.
///
/// [`TrainingJobs::job`]: crate::jobs::TrainingJobs::job
#[derive(Clone)]
pub struct JobHandle {
    client: Client,
    id: types::TrainingJobId,
    /// Response of the job from which the handle was created; `None` for a handle from an id.
    answer: Option<Arc<Answer>>,
}

/// Training job with the details of one response. Dereferences to the [`JobHandle`] of the job.
///
/// The details change only by [`refresh`](Self::refresh). The result of a wait has its own details:
/// [`Waited::job`](crate::jobs::wait::Waited::job) has the exit codes and the times of the end.
///
/// Accessors read the stored details. The display form is `name (id): phase`; the serialized form
/// is that of the [`details`](Self::details), without fields that this crate does not know.
/// [`raw`](Self::raw) has all fields. [`TrainingJobs::job_from_json`] reads both.
///
/// [`TrainingJobs::job_from_json`]: crate::TrainingJobs::job_from_json
#[derive(Clone)]
pub struct Job {
    handle: JobHandle,
    answer: Arc<Answer>,
}

#[derive(Default)]
struct Answer {
    details: Box<TrainingJob>,
    /// Token of the submission, which the details do not have.
    token: Option<String>,
    call: Arc<CallInfo>,
}

impl Answer {
    fn new(mut details: Box<TrainingJob>, call: Arc<CallInfo>) -> Arc<Self> {
        let token = submission_token::take(&mut details);
        Arc::new(Self { details, token, call })
    }
}

impl JobHandle {
    pub(super) fn new(client: Client, id: types::TrainingJobId) -> Self {
        Self { client, id, answer: None }
    }

    /// Returns the id of the job.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads the job with its details.
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_found`] if the job does not exist.
    pub async fn get(&self) -> Result<Job, Error> {
        self.job_from_response(self.show().await?)
    }

    /// Reads a job that a wait keeps in memory.
    pub(super) async fn get_small(&self) -> Result<Job, Error> {
        self.job_from_response(self.show().await?.copy_body())
    }

    async fn show(&self) -> Result<Response<TrainingJob>, Error> {
        let (project, id) = self.ids();
        let response = self.client.call(|api| {
            api.show_training_job_details().project_id(project).training_job_id(id).send()
        });
        response.await
    }

    /// Creates the job from a response. Returns an error if the response is about another job.
    fn job_from_response(&self, response: Response<TrainingJob>) -> Result<Job, Error> {
        let response =
            response.require_match(self.client.transport(), "metadata.id", &self.id, |job| {
                job.metadata.as_ref()?.id.as_deref()
            })?;
        let (details, call) = response.into_parts();
        Ok(self.with_answer(Answer::new(details, call)))
    }

    fn with_answer(&self, answer: Arc<Answer>) -> Job {
        let handle = Self {
            client: self.client.clone(),
            id: self.id.clone(),
            answer: Some(Arc::clone(&answer)),
        };
        Job { handle, answer }
    }

    pub(super) fn job(&self) -> Option<Job> {
        Some(self.with_answer(Arc::clone(self.answer.as_ref()?)))
    }

    pub(super) fn without_details(&self) -> Job {
        self.with_answer(Arc::default())
    }

    /// Returns the client of the project that the job belongs to.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn training_job_id(&self) -> &types::TrainingJobId {
        &self.id
    }

    pub(super) fn ids(&self) -> (types::ProjectId, types::TrainingJobId) {
        (self.client.project().clone(), self.id.clone())
    }

    /// Stops the job. The job is terminated when its processes have ended, so wait for the end.
    ///
    /// If the response is lost, the stop is sent again. If the service rejects the second request,
    /// because the first succeeded or the job has ended, the current job is returned.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// match job.terminate().await {
    ///     Ok(_) => println!("{}", job.wait().await?.outcome()),
    ///     Err(error) if error.is_conflict() => println!("the job has already ended"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error with [`Error::is_conflict`] if the job has already ended.
    pub async fn terminate(&self) -> Result<Job, Error> {
        let deadline = self.client.deadline();
        let stopped = deadline.run(self.stop()).await;
        stopped.unwrap_or_else(|| {
            Err(deadline.timeout_error("the job was being stopped").with_uncertainty())
        })
    }

    async fn stop(&self) -> Result<Job, Error> {
        let body = types::StopTrainingJobRequest::builder().action_type("terminate");
        let (project, id) = self.ids();
        let stopped = self.client.call(|api| {
            api.stop_training_job().project_id(project).training_job_id(id).body(body).send()
        });
        let rejection = match stopped.await {
            Ok(response) => {
                let status = response.status.as_ref();
                if status.is_none_or(|status| status.phase.is_none()) {
                    return Err(response.without("status.phase"));
                }
                return self.job_from_response(response);
            }
            Err(error) => error,
        };
        let wrong_phase = rejection.code().is_some_and(|code| WRONG_PHASE_CODES.contains(&code));
        if !(wrong_phase && rejection.is_uncertain()) {
            return Err(rejection);
        }
        let job = self.get().await.ok();
        job.filter(|job| job.phase() == Phase::Terminating || job.is_final()).ok_or(rejection)
    }

    /// Deletes the job, its events and its logs, in any phase. The output in OBS remains. If the
    /// response is lost, the request is repeated, and succeeds if the job no longer exists.
    ///
    /// The deletion is asynchronous: calls return the job until the service has removed it. A
    /// [`wait`](Self::wait) then ends with [`Outcome::Vanished`](crate::Outcome::Vanished). To
    /// confirm the deletion, call [`get`](Self::get) until it fails with [`Error::is_not_found`];
    /// on the emulator, await `Emulator::wait_until_gone`.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// match job.delete().await {
    ///     Ok(()) => println!("{} is being deleted", job.name()),
    ///     Err(error) if error.is_not_found() => println!("the job no longer exists"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_found`] if the job does not exist.
    pub async fn delete(&self) -> Result<(), Error> {
        let (project, id) = self.ids();
        let deleted = self
            .client
            .call(|api| api.delete_training_job().project_id(project).training_job_id(id).send());
        match deleted.await {
            Err(error) if !(error.is_uncertain() && error.is_gone()) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Job {
    pub(super) fn from_details(
        client: Client,
        details: Box<TrainingJob>,
        call: Arc<CallInfo>,
    ) -> Option<Self> {
        let id = details.metadata.as_ref()?.id.as_deref()?.parse().ok()?;
        Some(JobHandle::new(client, id).with_answer(Answer::new(details, call)))
    }

    pub(super) fn with_client(mut self, client: Client) -> Self {
        self.handle.client = client;
        self
    }

    fn metadata(&self) -> Option<&JobMetadata> {
        self.details().metadata.as_deref()
    }

    /// Returns the status in the details of the job, if the details have one.
    #[must_use]
    pub fn status(&self) -> Option<&JobStatus> {
        self.details().status.as_deref()
    }

    /// Returns the name of the job, or an empty string if the details lack it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default()
    }

    /// Returns the id of the workspace of the job, or `None` if the details lack it. `0` is the
    /// default workspace.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        let id = self.metadata()?.workspace_id.as_deref()?;
        Some(id).filter(|id| !id.is_empty())
    }

    /// Returns the phase of the job. Without a phase in the details, the phase is `Creating`.
    #[must_use]
    pub fn phase(&self) -> Phase {
        phase(self.details())
    }

    /// Returns the detailed phase of the job, if the service states one, possibly undocumented.
    #[must_use]
    pub fn secondary_phase(&self) -> Option<&SecondaryPhase> {
        self.status()?.secondary_phase.as_ref()
    }

    /// Returns `true` if the job has ended, with any outcome.
    #[must_use]
    pub fn is_final(&self) -> bool {
        is_final(&self.phase())
    }

    /// Returns `true` if the phase of the job is `Completed`.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.phase() == Phase::Completed
    }

    pub(super) fn label(&self) -> String {
        match self.name() {
            "" => self.id().to_owned(),
            name => format!("{name} ({})", self.id()),
        }
    }

    pub(super) fn summary(&self) -> JobSummary<'_> {
        JobSummary { id: self.id(), name: self.name(), phase: self.phase() }
    }

    /// Returns the creation time of the job, if the details have one.
    #[must_use]
    pub fn created_at(&self) -> Option<Timestamp> {
        Some(Timestamp::from_epoch_millis(self.metadata()?.create_time?))
    }

    /// Returns the names of the tasks, such as `worker-0`. Each task has a log.
    #[must_use]
    pub fn tasks(&self) -> &[String] {
        self.status().map_or(&[], |status| &status.tasks)
    }

    /// Returns the complete details of the job, except the token of its submission.
    #[must_use]
    pub fn details(&self) -> &TrainingJob {
        &self.answer.details
    }

    /// Returns the token of the submission of the job, if the response has it.
    pub(super) fn token(&self) -> Option<&str> {
        self.answer.token.as_deref()
    }

    /// Returns information about the call that returned the [`details`](Self::details).
    #[must_use]
    pub fn call(&self) -> &CallInfo {
        &self.answer.call
    }

    /// Returns the body of the response with the [`details`](Self::details). The body is empty for
    /// jobs of a list, where [`Page::raw`](crate::pagination::Page::raw) returns it.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.call().body
    }

    /// Returns the output channels as pairs of name and OBS path.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &str)> {
        let outputs = self.details().algorithm.as_ref().map(|a| &a.outputs);
        outputs.into_iter().flatten().filter_map(|output| {
            let path = output.remote.as_ref()?.obs.as_ref()?.obs_url.as_deref()?;
            Some((output.name.as_deref()?, path))
        })
    }

    /// Reads the job again, with one call.
    ///
    /// ```no_run
    /// # async fn example(mut job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// println!("the job was {}", job.phase());
    /// job.refresh().await?;
    /// println!("the job is {}", job.phase());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`TrainingJobs::get`](crate::jobs::TrainingJobs::get).
    pub async fn refresh(&mut self) -> Result<(), Error> {
        *self = self.handle.get().await?;
        Ok(())
    }
}

impl Deref for Job {
    type Target = JobHandle;

    fn deref(&self) -> &JobHandle {
        &self.handle
    }
}

impl From<Job> for JobHandle {
    fn from(job: Job) -> Self {
        job.handle
    }
}

impl From<&Job> for JobHandle {
    fn from(job: &Job) -> Self {
        job.handle.clone()
    }
}

#[derive(Serialize)]
pub(super) struct JobSummary<'a> {
    id: &'a str,
    name: &'a str,
    phase: Phase,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label(), self.phase())
    }
}

impl Serialize for Job {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.details().serialize(serializer)
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("id", &self.id())
            .field("name", &self.name())
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}

fn phase(details: &TrainingJob) -> Phase {
    let status = details.status.as_deref();
    status.and_then(|status| status.phase.clone()).map_or(Phase::Creating, Phase::canonical)
}

/// Returns `true` for a final phase, as in the waiter `TrainingJobEnded` of the description.
pub(crate) fn is_final(phase: &Phase) -> bool {
    matches!(phase, Phase::Completed | Phase::Failed | Phase::Terminated | Phase::Abnormal)
}
