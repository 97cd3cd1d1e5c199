//! The workers of a job and the names of their tasks, pods and logs.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    files::container_path::{ContainerPath, MA_LOG_DIR},
    job::{
        address::address,
        request::{JobRequest, Parameter},
    },
};

pub(super) fn task_name(role: &str, index: u32) -> String {
    format!("{role}-{index}")
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerTrial {
    pub(crate) id: String,
    pub(crate) values: Map<String, Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) job_id: String,
    /// The request of the whole job.
    pub(crate) job: Arc<JobRequest>,
    /// The request that this worker runs: one of the [role requests](JobRequest::role_requests).
    pub(crate) request: Arc<JobRequest>,
    /// Index among all workers of the job, from 0.
    pub(crate) rank: u32,
    /// Index among the workers of the role, from 0.
    pub(crate) index: u32,
    /// Trial that the worker runs; trials share the container of the worker.
    pub(crate) trial: Option<Arc<WorkerTrial>>,
    /// Number of earlier runs of the job's code.
    pub(crate) run: usize,
    /// Id of the user who created the job. Set only for workers that may run.
    pub(crate) user_id: String,
    /// Nodes of all workers, by rank. Empty if the workers run on this machine.
    pub(crate) hosts: Arc<[Host]>,
}

/// Node of a cluster on which a worker runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// Address by which the other nodes reach this one.
    pub(crate) ip: String,
}

impl Worker {
    /// Returns all workers of a job, in the order of rank.
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
            user_id: String::new(),
            hosts: Arc::default(),
        })
    }

    /// Returns a copy of the worker that runs a trial. Its outputs have a subdirectory per trial.
    pub(crate) fn with_trial(&self, trial: WorkerTrial) -> Self {
        let mut request = JobRequest::clone(&self.request);
        for (name, value) in &trial.values {
            let text = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let parameters = &mut request.parameters;
            match parameters.iter_mut().find(|known| known.name == *name) {
                Some(known) => known.value = text,
                None => parameters.push(Parameter {
                    name: name.clone(),
                    value: text,
                    description: String::new(),
                    constraint: None,
                }),
            }
        }
        for output in &mut request.outputs {
            output.local_dir = output.local_dir.join(&trial.id);
        }
        Self { request: Arc::new(request), trial: Some(Arc::new(trial)), ..self.clone() }
    }

    /// Returns the host name of the node of a worker, or its address on this machine.
    pub(crate) fn address_of(&self, rank: u32) -> String {
        self.host(rank).map_or_else(|| address(&self.job_id, rank), |host| host.name.clone())
    }

    pub(crate) fn ip_of(&self, rank: u32) -> String {
        self.host(rank).map_or_else(|| address(&self.job_id, rank), |host| host.ip.clone())
    }

    fn host(&self, rank: u32) -> Option<&Host> {
        self.hosts.get(usize::try_from(rank).ok()?)
    }

    /// Returns the name of the worker's task, for example `worker-0`.
    pub(crate) fn task(&self) -> String {
        task_name(self.request.role(), self.index)
    }

    /// Returns the name of the worker's pod, for example `modelarts-job-<id>-worker-0`.
    pub(crate) fn pod(&self) -> String {
        format!("modelarts-job-{}-{}", self.job_id, self.task())
    }

    /// Returns the name by which other workers of the job reach the worker's pod.
    pub(crate) fn host_name(&self) -> String {
        format!("{}.modelarts-job-{}", self.pod(), self.job_id)
    }

    pub(crate) fn log_name(&self) -> String {
        match &self.trial {
            None => self.pod(),
            Some(trial) => format!("{}-trial-{}", self.pod(), trial.id),
        }
    }

    pub(crate) fn log_file(&self) -> PathBuf {
        ContainerPath::from_static(MA_LOG_DIR)
            .join(&format!("{}.log", self.log_name()))
            .relative()
            .to_owned()
    }
}
