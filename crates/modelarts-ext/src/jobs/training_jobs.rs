//! `TrainingJobs`, the jobs of a project; `JobRef`, a job as an argument; and changes of jobs.

use std::sync::Arc;

use bytes::Bytes;
use modelarts_api::types;
use serde_json::json;

use crate::{
    client::Client,
    config::cloud::Cloud,
    error::Error,
    jobs::job::{Job, JobHandle},
    transport::call::CallInfo,
    validation::{json_path::Located, limits, report::Report},
};

impl Client {
    /// Returns the handle of the training jobs of the project.
    #[must_use]
    pub fn training_jobs(&self) -> TrainingJobs {
        TrainingJobs { client: self.clone() }
    }
}

/// Handle of the training jobs of a project.
#[derive(Clone, Debug)]
pub struct TrainingJobs {
    client: Client,
}

impl TrainingJobs {
    /// Returns the handle of a job, without a call.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// let job = client.training_jobs().job("cf63aba9-63b1-4219-b717-708a2665100b")?;
    /// job.terminate().await?;
    /// println!("{:?}", job.wait().await?.outcome());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for an invalid id. The existence of the job is not checked.
    pub fn job(&self, id: impl AsRef<str>) -> Result<JobHandle, Error> {
        let id = id.as_ref();
        let id = id.parse().map_err(|_| {
            Error::invalid(format!(
                "the job id {id:?} is wrong; it has 1 to 128 letters, digits, and -_.~, and does \
                 not begin with a dot"
            ))
        })?;
        Ok(JobHandle::new(self.client.clone(), id))
    }

    /// Returns a job with its details.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let id = hello(&emulator, &client, "bert")?.submit().await?.id().to_owned();
    /// let job = client.training_jobs().get(&id).await?;
    /// println!("{} is {}, created at {:?}", job.name(), job.phase(), job.created_at());
    /// # assert_eq!(job.name(), "bert");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for an invalid id, or with [`Error::is_not_found`] for a missing job.
    pub async fn get(&self, id: impl AsRef<str>) -> Result<Job, Error> {
        self.job(id)?.get().await
    }

    /// Creates a job from its details in JSON, without a call: from a response of the service, or
    /// from the serialized form of a [`Job`]. Tests of a program create jobs in any state with it.
    ///
    /// ```
    /// # fn main() -> Result<(), modelarts_ext::Error> {
    /// # let client = modelarts_ext::Client::builder()
    /// #     .endpoint("http://127.0.0.1:1")
    /// #     .project_id("p")
    /// #     .credentials(modelarts_ext::Credentials::token("t"))
    /// #     .build()?;
    /// let job = client.training_jobs().job_from_json(
    ///     r#"{"metadata": {"id": "cf63aba9", "name": "bert"}, "status": {"phase": "Failed"}}"#,
    /// )?;
    /// assert_eq!((job.to_string().as_str(), job.is_final()), ("bert (cf63aba9): Failed", true));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the text is not JSON, has a wrong type, or has no id at `metadata.id`.
    pub fn job_from_json(&self, json: impl AsRef<[u8]>) -> Result<Job, Error> {
        let json = json.as_ref();
        let details = serde_json::from_slice(json)
            .map_err(|error| Error::invalid(format!("the details of the job: {error}")))?;
        let mut call = CallInfo::default();
        call.body = Bytes::copy_from_slice(json);
        let job = Job::from_details(self.client.clone(), details, Arc::new(call));
        job.ok_or_else(|| Error::invalid("the details of the job must have an id, metadata.id"))
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

/// Reference to a job, by its id or as a handle.
#[derive(Clone, Debug)]
pub struct JobRef {
    pub(super) id: String,
    /// Handle of the job; `None` if the reference is an id.
    pub(super) handle: Option<JobHandle>,
}

impl<T: AsRef<str> + ?Sized> From<&T> for JobRef {
    fn from(id: &T) -> Self {
        id.as_ref().to_owned().into()
    }
}

impl From<String> for JobRef {
    fn from(id: String) -> Self {
        Self { id, handle: None }
    }
}

impl From<&JobHandle> for JobRef {
    fn from(job: &JobHandle) -> Self {
        job.clone().into()
    }
}

impl From<JobHandle> for JobRef {
    fn from(job: JobHandle) -> Self {
        Self { id: job.id().to_owned(), handle: Some(job) }
    }
}

impl From<&Job> for JobRef {
    fn from(job: &Job) -> Self {
        JobHandle::from(job).into()
    }
}

impl From<Job> for JobRef {
    fn from(job: Job) -> Self {
        JobHandle::from(job).into()
    }
}

const BATCH_SIZE: usize = 100;

impl JobHandle {
    /// Sets the description of the job (up to 256 characters), or removes it if `text` is empty.
    ///
    /// # Errors
    /// Returns an error without a request for a longer description, or if the service rejects it.
    pub async fn set_description(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send_change(json!({"description": text.into()})).await
    }

    /// Sets the priority, 1 to 3, of a pending job in a dedicated pool (Huawei Cloud). A priority
    /// of 0 is an error, but only a warning for new jobs (`openapi/SOURCES.md`, D-68).
    ///
    /// # Errors
    /// Returns an error without a request for another priority, or if the service rejects it.
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
        let (project, id) = self.ids();
        let changed = self.client().call(|api| {
            let call = api.change_training_job_description().project_id(project);
            call.training_job_id(id).body(body).send()
        });
        changed.await.map(drop)
    }
}

impl TrainingJobs {
    /// Deletes jobs of one workspace, up to 100 with each request. Open Telekom Cloud lacks the
    /// operation (`openapi/SOURCES.md`, S, W), so each job is deleted with a separate request. Jobs
    /// that no longer exist are skipped.
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
    /// Returns an error for an invalid id, or if a request fails. Later jobs are then not deleted.
    pub async fn delete_many(
        &self,
        jobs: impl IntoIterator<Item = impl Into<JobRef>>,
    ) -> Result<(), Error> {
        let jobs = jobs.into_iter().map(Into::into).map(|job: JobRef| {
            let id = self.job(job.id)?;
            let read = job.handle.as_ref().and_then(JobHandle::job);
            let kind = read.as_ref().and_then(|job| job.details().kind.as_ref());
            // The kind of a job that was not read is unknown, and assumed to be `job`.
            let kind = kind.map_or("job", |kind| kind.as_str());
            Ok(json!({"kind": kind, "metadata": {"id": id.id()}}))
        });
        let jobs: Vec<_> = jobs.collect::<Result<_, Error>>()?;
        let (client, deadline) = (self.client(), self.client().deadline());
        let batches = async {
            if client.cloud() == Cloud::Otc {
                for id in jobs.iter().filter_map(|job| job["metadata"]["id"].as_str()) {
                    self.delete_existing(id).await?;
                }
                return Ok(());
            }
            for jobs in jobs.chunks(BATCH_SIZE) {
                let body: types::BatchDeleteTrainingJobRequest =
                    serde_json::from_value(json!({"jobs": jobs}))
                        .map_err(|error| Error::invalid(format!("no request: {error}")))?;
                let project = client.project_id();
                let call = client.call(|api| {
                    api.batch_delete_training_job().project_id(project).body(body).send()
                });
                match call.await {
                    // No document states if the service has then deleted the others.
                    Err(error) if error.is_job_gone() => {
                        for id in jobs.iter().filter_map(|job| job["metadata"]["id"].as_str()) {
                            self.delete_existing(id).await?;
                        }
                    }
                    deleted => drop(deleted?),
                }
            }
            Ok(())
        };
        let deleted = deadline.run(batches).await;
        deleted.unwrap_or_else(|| {
            Err(deadline.timeout_error("jobs were being deleted").with_uncertainty())
        })
    }

    async fn delete_existing(&self, id: &str) -> Result<(), Error> {
        match self.job(id)?.delete().await {
            Err(error) if error.is_job_gone() => Ok(()),
            deleted => deleted,
        }
    }
}
