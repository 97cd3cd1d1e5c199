//! `Job`: the handle of one training job, with its details as of the last answer about it.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use modelarts_api::types::{self, JobMetadata, JobStatus, Phase, SecondaryPhase, TrainingJob};

use crate::{
    client::{Client, response::Response},
    clock::from_epoch_millis,
    error::Error,
    transport::call::{CallInfo, call_accessors},
};

/// Codes with which the service refuses to stop a job in a phase that does not admit it, or
/// that has just changed its phase.
const WRONG_PHASE_CODES: [&str; 2] = ["ModelArts.2796", "ModelArts.2878"];

/// A training job, as it was when it was last looked at: by the call that gave it, by
/// [`refresh`](Self::refresh), or by a [`wait`](Self::wait) for its end.
///
/// The end that a `wait`, [`wait_all`](crate::jobs::TrainingJobs::wait_all) or
/// [`follow`](Self::follow) of the whole job saw is also that of the job it was begun from and of
/// the clones of that one: the job that [`submit`](crate::jobs::create::CreateJob::submit) gave has
/// its exit codes when the wait for it has ended. Jobs that a watch gives on its way, such as
/// [`Observation::job`](crate::jobs::wait::Observation), stay as they were seen.
///
/// Methods that are `async` call the service. All others read what is here, and cost nothing.
#[derive(Clone)]
pub struct Job {
    client: Client,
    id: types::TrainingJobId,
    snapshot: Arc<Snapshot>,
}

/// The details of a job by one answer of the service.
struct Snapshot {
    details: Arc<TrainingJob>,
    call: Arc<CallInfo>,
    /// The answer by which a watch that was begun from this one saw the end of the job.
    end: OnceLock<Arc<Snapshot>>,
}

impl Snapshot {
    fn new(answer: Response<TrainingJob>) -> Arc<Self> {
        let call = answer.call();
        Self::of(Arc::from(answer.into_boxed()), call)
    }

    fn of(details: Arc<TrainingJob>, call: Arc<CallInfo>) -> Arc<Self> {
        Arc::new(Self {
            details,
            call,
            end: OnceLock::new(),
        })
    }
}

impl Job {
    /// Reads a job from the service.
    pub(super) async fn fetch(client: Client, id: types::TrainingJobId) -> Result<Self, Error> {
        let answer = fetch_details(&client, &id).await?;
        Ok(Self {
            client,
            id,
            snapshot: Snapshot::new(answer),
        })
    }

    /// A job from an answer of the service. `None` when the answer has no usable id.
    pub(super) fn from_details(
        client: Client,
        details: Box<TrainingJob>,
        call: Arc<CallInfo>,
    ) -> Option<Self> {
        let id = details.metadata.as_ref()?.id.as_deref()?.parse().ok()?;
        Some(Self {
            client,
            id,
            snapshot: Snapshot::of(Arc::from(details), call),
        })
    }

    /// The newest of what is known. There is one more for each end that was seen, and a job
    /// ends again only if it is started again.
    fn newest_snapshot(&self) -> &Snapshot {
        let mut newest = &self.snapshot;
        while let Some(end) = newest.end.get() {
            newest = end;
        }
        newest
    }

    /// Records the end that a watch of this job has seen, for its clones, too.
    pub(super) fn record_end(&self, end: &Self) {
        let (newest, end) = (self.newest_snapshot(), end.newest_snapshot());
        if newest.details != end.details && is_final(&phase(&end.details)) {
            // A copy, because what ends this one later must not change what was given of it.
            let end = Snapshot::of(Arc::clone(&end.details), Arc::clone(&end.call));
            // When another watch was faster, it has seen the end as well.
            let _ = newest.end.set(end);
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn training_job_id(&self) -> &types::TrainingJobId {
        &self.id
    }

    fn metadata(&self) -> Option<&JobMetadata> {
        self.details().metadata.as_deref()
    }

    /// The status part of the details.
    #[must_use]
    pub fn status(&self) -> Option<&JobStatus> {
        self.details().status.as_deref()
    }

    /// The id of the job.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the job.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata()
            .and_then(|metadata| metadata.name.as_deref())
            .unwrap_or_default()
    }

    /// The workspace that the job is in, if the service says it.
    pub(super) fn workspace(&self) -> Option<&str> {
        let id = self.metadata()?.workspace_id.as_deref()?;
        Some(id).filter(|id| !id.is_empty())
    }

    /// The phase. A job that says nothing about it counts as being created.
    #[must_use]
    pub fn phase(&self) -> Phase {
        phase(self.details())
    }

    /// The phase in more detail. The service adds values to this set, and
    /// advises not to rely on them.
    #[must_use]
    pub fn secondary_phase(&self) -> Option<&SecondaryPhase> {
        self.status()?.secondary_phase.as_ref()
    }

    /// Whether the job has ended, whatever the end was.
    #[must_use]
    pub fn is_final(&self) -> bool {
        is_final(&self.phase())
    }

    /// When the job was made.
    #[must_use]
    pub fn created_at(&self) -> Option<SystemTime> {
        Some(from_epoch_millis(self.metadata()?.create_time?))
    }

    /// The names of the tasks, such as `worker-0`. Logs belong to tasks.
    #[must_use]
    pub fn tasks(&self) -> &[String] {
        self.status().map_or(&[], |status| &status.tasks)
    }

    /// Everything that the service said about the job.
    #[must_use]
    pub fn details(&self) -> &TrainingJob {
        &self.newest_snapshot().details
    }

    call_accessors!(newest_snapshot().call);

    /// The answer that [`details`](Self::details) were read from, as it came. Empty when the
    /// job is from a list; see [`Page::raw`](crate::pagination::Page::raw) then.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.newest_snapshot().call.raw()
    }

    /// The output channels: their names and OBS paths.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &str)> {
        let outputs = self.details().algorithm.as_ref().map(|a| &a.outputs);
        outputs.into_iter().flatten().filter_map(|output| {
            let path = output.remote.as_ref()?.obs.as_ref()?.obs_url.as_deref()?;
            Some((output.name.as_deref()?, path))
        })
    }

    /// Looks at the job again. Costs one call. Clones stay as they are.
    ///
    /// # Errors
    /// As [`TrainingJobs::get`](crate::jobs::TrainingJobs::get).
    pub async fn refresh(&mut self) -> Result<(), Error> {
        let answer = fetch_details(&self.client, &self.id).await?;
        self.snapshot = Snapshot::new(answer);
        Ok(())
    }

    /// Asks the service to stop the job. The job is terminated when its
    /// processes have ended, so wait for that.
    ///
    /// A stop whose answer is lost is sent again. That one is refused when the first
    /// has worked, or the job has ended meanwhile; then the job is given as it is.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when the job has ended already.
    pub async fn terminate(&self) -> Result<Job, Error> {
        let deadline = self.client.deadline();
        let stopped = deadline.run(&**self.client.clock(), self.stop()).await;
        stopped.unwrap_or_else(|| {
            Err(deadline
                .timeout_error("the job was being stopped")
                .with_uncertainty())
        })
    }

    async fn stop(&self) -> Result<Job, Error> {
        let body = types::StopTrainingJobRequest::builder().action_type("terminate");
        let stopped = self
            .client
            .call(|api| {
                api.stop_training_job()
                    .project_id(self.client.project().clone())
                    .training_job_id(self.id.clone())
                    .body(body)
                    .send()
            })
            .await;
        let rejection = match stopped {
            Ok(answer) => {
                return Ok(self.with_answer(require_job(&self.client, &self.id, answer)?));
            }
            Err(error) => error,
        };
        let wrong_phase = rejection
            .code()
            .is_some_and(|code| WRONG_PHASE_CODES.contains(&code));
        if !(wrong_phase && rejection.is_uncertain()) {
            return Err(rejection);
        }
        match fetch_details(&self.client, &self.id).await {
            Ok(answer) => Some(self.with_answer(answer))
                .filter(|job| job.phase() == Phase::Terminating || job.is_final())
                .ok_or(rejection),
            Err(_) => Err(rejection),
        }
    }

    /// Deletes the job, its events and its logs. What it wrote to OBS stays. A delete
    /// whose answer is lost is sent again, and has worked when the job is gone then.
    ///
    /// # Errors
    /// [`Error::is_not_found`] when it does not exist any more.
    pub async fn delete(&self) -> Result<(), Error> {
        let deleted = self
            .client
            .call(|api| {
                api.delete_training_job()
                    .project_id(self.client.project().clone())
                    .training_job_id(self.id.clone())
                    .send()
            })
            .await;
        match deleted {
            Err(error) if !(error.is_uncertain() && error.is_gone()) => Err(error),
            _ => Ok(()),
        }
    }

    /// The same job with the details of this answer.
    fn with_answer(&self, answer: Response<TrainingJob>) -> Self {
        Self {
            client: self.client.clone(),
            id: self.id.clone(),
            snapshot: Snapshot::new(answer),
        }
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

/// The phase in these details.
fn phase(details: &TrainingJob) -> Phase {
    let status = details.status.as_deref();
    status
        .and_then(|status| status.phase.clone())
        .map_or(Phase::Creating, Phase::canonical)
}

/// True for a phase that a job does not leave: those with an outcome in the waiter
/// `TrainingJobEnded` of the description.
pub(crate) fn is_final(phase: &Phase) -> bool {
    matches!(
        phase,
        Phase::Completed | Phase::Failed | Phase::Terminated | Phase::Abnormal
    )
}

/// Reads the details of a job.
async fn fetch_details(
    client: &Client,
    id: &types::TrainingJobId,
) -> Result<Response<TrainingJob>, Error> {
    let answer = client
        .call(|api| {
            api.show_training_job_details()
                .project_id(client.project().clone())
                .training_job_id(id.clone())
                .send()
        })
        .await?;
    require_job(client, id, answer)
}

/// Refuses an answer that is about another job.
fn require_job(
    client: &Client,
    id: &types::TrainingJobId,
    answer: Response<TrainingJob>,
) -> Result<Response<TrainingJob>, Error> {
    answer.require_match(client, "metadata.id", id, |job| {
        job.metadata.as_ref()?.id.as_deref()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::credentials::Credentials;

    /// The rows of lists do not know the body that they came in.
    #[test]
    fn an_end_that_is_known_is_not_kept_again() {
        let client = Client::builder()
            .endpoint("https://modelarts.test")
            .project_id("0123456789abcdef0123456789abcdef")
            .credentials(Credentials::token("t"));
        let client = client.build().unwrap();
        let row = |phase: &str| {
            let row = json!({"metadata": {"id": "j"}, "status": {"phase": phase}});
            let row = serde_json::from_value(row).unwrap();
            Job::from_details(client.clone(), Box::new(row), Arc::default()).unwrap()
        };
        let ends = |job: &Job| {
            let first = job.snapshot.end.get();
            std::iter::successors(first, |end| end.end.get()).count()
        };
        let job = row("Running");
        for (phase, kept) in [
            ("Running", 0),
            ("Completed", 1),
            ("Completed", 1),
            ("Failed", 2),
            ("Failed", 2),
        ] {
            job.record_end(&row(phase));
            assert_eq!(ends(&job), kept, "{phase}");
        }
        let ended = row("Completed");
        ended.record_end(&row("Completed"));
        assert_eq!(ends(&ended), 0);
    }
}
