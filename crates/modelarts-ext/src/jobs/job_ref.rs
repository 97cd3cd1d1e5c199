//! `JobRef`: a job as an argument, by its id or as a handle.

use crate::jobs::job::{Job, JobHandle};

/// Reference to a job, by its id or as a handle. Text, a [`JobHandle`] and a [`Job`] convert into
/// it.
#[derive(Clone, Debug)]
pub struct JobRef(Reference);

#[derive(Clone, Debug)]
enum Reference {
    Id(String),
    Handle(JobHandle),
}

impl JobRef {
    pub(super) fn id(&self) -> &str {
        match &self.0 {
            Reference::Id(id) => id,
            Reference::Handle(handle) => handle.id(),
        }
    }

    /// Returns the handle; `None` if the reference is an id.
    pub(super) fn handle(&self) -> Option<&JobHandle> {
        match &self.0 {
            Reference::Id(_) => None,
            Reference::Handle(handle) => Some(handle),
        }
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for JobRef {
    fn from(id: &T) -> Self {
        id.as_ref().to_owned().into()
    }
}

impl From<String> for JobRef {
    fn from(id: String) -> Self {
        Self(Reference::Id(id))
    }
}

impl From<&JobHandle> for JobRef {
    fn from(job: &JobHandle) -> Self {
        job.clone().into()
    }
}

impl From<JobHandle> for JobRef {
    fn from(job: JobHandle) -> Self {
        Self(Reference::Handle(job))
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
