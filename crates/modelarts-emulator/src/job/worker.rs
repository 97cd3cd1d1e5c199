//! The workers of a job and the names of their tasks, pods and logs.

use std::{path::PathBuf, sync::Arc};

use crate::{
    files::container_path::{ContainerPath, MA_LOG_DIR},
    job::request::JobRequest,
};

/// The name of a task by its role and index.
pub(super) fn task_name(role: &str, index: u32) -> String {
    format!("{role}-{index}")
}

/// One worker of a job.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) job_id: String,
    /// The request for the whole job.
    pub(crate) job: Arc<JobRequest>,
    /// The request that this worker runs: one of the [parts](JobRequest::parts) of the job.
    pub(crate) request: Arc<JobRequest>,
    /// Among all workers of the job.
    pub(crate) rank: u32,
    /// Among those of its role.
    pub(crate) index: u32,
    /// Of a search: the trial whose code runs. Trials share the worker's container.
    pub(crate) trial: Option<String>,
    /// How often the job's code has been started before.
    pub(crate) run: usize,
}

impl Worker {
    /// All workers of a job, by their rank.
    pub(crate) fn all(job_id: &str, job: &Arc<JobRequest>) -> impl Iterator<Item = Self> {
        let parts = job.role_requests().iter();
        let workers = parts.flat_map(|part| part.indexes().map(move |index| (part, index)));
        workers.zip(0..).map(|((request, index), rank)| Self {
            job_id: job_id.to_owned(),
            job: Arc::clone(job),
            request: Arc::clone(request),
            rank,
            index,
            trial: None,
            run: 0,
        })
    }

    /// `worker-0`.
    pub(crate) fn task(&self) -> String {
        task_name(self.request.role(), self.index)
    }

    /// `modelarts-job-<id>-worker-0`: the pod's name.
    pub(crate) fn pod(&self) -> String {
        format!("modelarts-job-{}-{}", self.job_id, self.task())
    }

    /// The pod's name, and for a trial its own behind it: the name of the log file.
    pub(crate) fn log_name(&self) -> String {
        match &self.trial {
            None => self.pod(),
            Some(trial) => format!("{}-trial-{trial}", self.pod()),
        }
    }

    /// Where its log lies below its directory.
    pub(crate) fn log_file(&self) -> PathBuf {
        ContainerPath::from_static(MA_LOG_DIR)
            .join(&format!("{}.log", self.log_name()))
            .relative()
            .to_owned()
    }
}
