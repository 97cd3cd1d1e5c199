//! Launcher of the code of workers, on this machine or on the nodes of a cluster.

use std::{fmt, io, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Sleep,
    files::confined_dir::ConfinedDir,
    job::worker::Worker,
    metrics::usage::Usage,
    runner::worker_files::{Transfer, WorkerFiles},
};

/// Launcher of the workers of all jobs. Error messages are sentences for events and logs.
pub(crate) trait Launcher: fmt::Debug + Send + Sync {
    /// Returns the directories of the workers, which this process can read at any time.
    fn files(&self) -> &WorkerFiles;

    /// Copies all output that a worker has written so far to its log.
    fn drain_log(&self, _worker: &Worker) {}

    fn perform(
        self: Arc<Self>,
        worker: Worker,
        step: Step,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>>;

    fn requirements(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Vec<String>>;

    fn start(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Box<dyn Run>>;

    /// Returns the usage of a worker's processes, or `None` if the worker is not running.
    fn usage(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Option<Usage>>;

    /// Kills all workers without waiting for their end.
    fn kill_all(&self);
}

#[derive(Debug)]
pub(crate) struct RunnerSettings {
    pub(crate) obs: ConfinedDir,
    pub(crate) datasets: Option<PathBuf>,
    pub(crate) nfs: Option<PathBuf>,
    /// Maximum size in bytes of a log.
    pub(crate) log_cap: u64,
    /// Minimum free disk space for a successful pre-check, in bytes.
    pub(crate) least_disk: u64,
    pub(crate) install_packages: bool,
    /// Temporary directory to remove when the process of the emulator has ended.
    pub(crate) temporary: Option<PathBuf>,
}

/// Step of a worker other than the run of its code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    PreCheck,
    /// Copies data into or out of the directory of the worker.
    Copy(Transfer),
    /// Installs the packages listed in a requirements file.
    Install(String),
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The code ended with this exit code, or with 128 + n after signal n.
    Code(i32),
    /// The nodes were lost, which ended all processes on them.
    Lost(Loss),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    NodeFault,
    /// The disk of the node was full.
    Evicted,
}

/// Run of a worker whose code has been started.
pub(crate) trait Run: Send {
    /// Waits for the run to end. The future may be dropped, and the method called again.
    fn wait(&mut self) -> BoxFuture<'_, Exit>;
    /// Returns the process id if the worker is a process.
    fn pid(&self) -> Option<u32> {
        None
    }
    /// Requests the end of the processes, kills them after `grace`, and waits for their end.
    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit>;
}
