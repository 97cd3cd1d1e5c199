//! State of the cluster that all jobs of an emulator share.

use std::{collections::HashMap, path::PathBuf};

use parking_lot::Mutex;
use rustix::process::Signal;

use crate::runner::{
    process::watchdog::Watchdog,
    slurm::commands::{Queue, QueueReader, QueuedJob},
};

/// The cluster as an emulator uses it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) queue: QueueReader,
    /// Process groups of `srun`. SIGTERM makes `srun` end its workers, or its wait for nodes.
    pub(super) watchdog: Watchdog,
    /// Numbers in Slurm of earlier runs of jobs, by the name of the job.
    pub(super) earlier: Mutex<HashMap<String, String>>,
}

impl Cluster {
    /// Creates the state. `temporary` is a directory to remove when the process of the emulator has
    /// ended.
    pub(super) fn new(temporary: Option<PathBuf>) -> Self {
        Self {
            queue: QueueReader::default(),
            watchdog: Watchdog::with_signal(Signal::TERM, String::new(), temporary),
            earlier: Mutex::default(),
        }
    }

    /// Returns the current run of a job in the queue of Slurm.
    pub(super) fn find<'a>(&self, queue: &'a Queue, job_id: &str) -> Option<&'a QueuedJob> {
        let earlier = self.earlier.lock();
        let job = queue.get(job_id)?;
        (earlier.get(job_id) != Some(&job.id)).then_some(job)
    }
}
