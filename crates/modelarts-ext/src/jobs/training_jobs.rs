//! `TrainingJobs`: the training jobs of a project; `JobRef`: a job as an argument.

use crate::{
    client::Client,
    error::Error,
    jobs::job::{Job, JobHandle},
};

impl Client {
    /// Returns the handle of the project's training jobs.
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
    /// An invalid id. The service is not asked whether the job exists.
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

    /// Reads a job with its details.
    ///
    /// # Errors
    /// [`Error::is_not_found`] if the job does not exist.
    pub async fn get(&self, id: impl AsRef<str>) -> Result<Job, Error> {
        self.job(id)?.get().await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

/// Reference to a job, by its id or as a handle.
#[derive(Clone, Debug)]
pub struct JobRef {
    pub(super) id: String,
    /// `None` if the reference is an id.
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
