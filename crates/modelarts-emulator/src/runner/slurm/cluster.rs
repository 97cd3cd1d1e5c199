//! State of the cluster that all jobs of an emulator share.

use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use crate::runner::{process::watchdog::Watchdog, slurm::commands::QueueReader};

/// The cluster as an emulator uses it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) queue: QueueReader,
    /// Process groups of `srun`. SIGTERM makes `srun` end its workers, or its wait for nodes.
    pub(super) watchdog: Watchdog,
}

impl Cluster {
    /// Creates the state. `temporary` is a directory to remove when the process of the emulator has
    /// ended.
    pub(super) fn new(temporary: Option<PathBuf>) -> Self {
        // Each waiting job has an `srun`, with three pipes.
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of open files stays low");
        }
        Self {
            queue: QueueReader::default(),
            watchdog: Watchdog::with_signal(Signal::TERM, Default::default(), temporary),
        }
    }
}
