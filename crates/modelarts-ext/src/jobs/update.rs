//! Changes to existing jobs: description, priority, deletion of several jobs.

use modelarts_api::types;
use serde_json::json;

use crate::{
    error::Error,
    jobs::{
        job::{Job, JobHandle},
        training_jobs::TrainingJobs,
    },
    validation::{json_path::Located, limits, report::Report},
};

/// The maximum number of jobs that the service deletes with one call.
const BATCH_SIZE: usize = 100;

/// Reference to a job by its id, with its kind if the job was read. Text, a [`JobHandle`] and a
/// [`Job`] convert into it.
#[derive(Clone, Debug)]
pub struct JobRef {
    id: String,
    /// `None` counts as `job`, the kind of ordinary jobs.
    kind: Option<types::JobKind>,
}

impl<T: AsRef<str> + ?Sized> From<&T> for JobRef {
    fn from(id: &T) -> Self {
        id.as_ref().to_owned().into()
    }
}

impl From<String> for JobRef {
    fn from(id: String) -> Self {
        Self { id, kind: None }
    }
}

impl From<&JobHandle> for JobRef {
    fn from(job: &JobHandle) -> Self {
        let read = job.last_read();
        Self {
            id: job.id().to_owned(),
            kind: read.and_then(|job| job.details().kind.clone()),
        }
    }
}

impl From<JobHandle> for JobRef {
    fn from(job: JobHandle) -> Self {
        Self::from(&job)
    }
}

impl From<&Job> for JobRef {
    fn from(job: &Job) -> Self {
        let handle: &JobHandle = job;
        handle.into()
    }
}

impl From<Job> for JobRef {
    fn from(job: Job) -> Self {
        Self::from(&job)
    }
}

impl JobHandle {
    /// Sets the description: up to 256 characters; an empty one removes it. Possible in every
    /// phase.
    ///
    /// # Errors
    /// A description that is too long (nothing is sent then); a rejection by the service.
    pub async fn set_description(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send_change(json!({"description": text.into()})).await
    }

    /// Sets the priority, 1 to 3, of a job that is pending in a dedicated pool. Huawei Cloud only.
    /// 0 is an error here but a warning when a job is created, where some documents admit it
    /// (`openapi/SOURCES.md`, D-68).
    ///
    /// # Errors
    /// Another priority (nothing is sent then); a rejection by the service.
    pub async fn set_priority(&self, priority: u8) -> Result<(), Error> {
        let policy = json!({"schedule_policy": {"priority": priority}});
        self.send_change(json!({"spec": policy})).await
    }

    async fn send_change(&self, change: serde_json::Value) -> Result<(), Error> {
        const SCHEMA: &str = "ChangeTrainingJobDescriptionRequest";
        let mut report = Report::default();
        limits::check(SCHEMA, &Located::root(&change), &mut report);
        if !report.is_ok() {
            return Err(Error::broken_rules("the change", report.violations));
        }
        let body: types::ChangeTrainingJobDescriptionRequest = serde_json::from_value(change)
            .map_err(|error| Error::invalid(format!("no change: {error}")))?;
        self.client()
            .call(|api| {
                api.change_training_job_description()
                    .project_id(self.client().project_id())
                    .training_job_id(self.training_job_id().clone())
                    .body(body)
                    .send()
            })
            .await?;
        Ok(())
    }
}

impl TrainingJobs {
    /// Deletes jobs of one workspace, given by their ids, as handles or as jobs, up to 100 with
    /// each call. Makes no call for no jobs. Huawei Cloud only (`openapi/SOURCES.md`, S, W): on
    /// other clouds, use [`JobHandle::delete`].
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::Filter;
    ///
    /// let jobs = client.training_jobs();
    /// jobs.delete_many(["cf63aba9-63b1-4219-b717-708a2665100b"]).await?;
    /// let old = jobs.list().filter(Filter::name().like("try-")).collect(1000).await?;
    /// jobs.delete_many(&old).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// An invalid id (nothing is sent then). A rejection by the service. Earlier calls have deleted
    /// their jobs; for the jobs of the rejected call, the result is unknown.
    pub async fn delete_many(
        &self,
        jobs: impl IntoIterator<Item = impl Into<JobRef>>,
    ) -> Result<(), Error> {
        let jobs = jobs.into_iter().map(Into::into).map(|job: JobRef| {
            let id = self.job(&job.id)?;
            let kind = job.kind.as_ref().map_or("job", |kind| kind.as_str());
            Ok(json!({"kind": kind, "metadata": {"id": id.id()}}))
        });
        let jobs: Vec<_> = jobs.collect::<Result<_, Error>>()?;
        let (client, deadline) = (self.client(), self.client().deadline());
        let batches = async {
            for jobs in jobs.chunks(BATCH_SIZE) {
                let body: types::BatchDeleteTrainingJobRequest =
                    serde_json::from_value(json!({"jobs": jobs}))
                        .map_err(|error| Error::invalid(format!("no request: {error}")))?;
                client
                    .call(|api| {
                        api.batch_delete_training_job()
                            .project_id(client.project_id())
                            .body(body)
                            .send()
                    })
                    .await?;
            }
            Ok(())
        };
        let deleted = deadline.run(&**client.clock(), batches).await;
        deleted.unwrap_or_else(|| {
            Err(deadline
                .timeout_error("jobs were being deleted")
                .with_uncertainty())
        })
    }
}
