//! `JobRef`: a job as an argument, by its id or as a handle.

use crate::jobs::job::{Job, JobHandle};

/// Reference to a job, by its id or as a handle. Text, a [`JobHandle`] and a [`Job`] convert into
/// it.
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
