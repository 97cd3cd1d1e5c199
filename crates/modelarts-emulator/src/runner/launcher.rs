//! Interface of a launcher, which runs the code of workers on this machine or on nodes of a
//! cluster.

use std::{fmt, io, sync::Arc};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "slurm")]
use crate::runner::run::Loss;
use crate::{
    job::worker::Worker,
    metrics::usage::Usage,
    runner::{
        run::Run,
        worker_files::{Transfer, WorkerFiles},
    },
};

/// Launcher of the workers of all jobs. Its errors are sentences for events and logs.
pub(crate) trait Launcher: fmt::Debug + Send + Sync {
    /// Returns the directories of the workers, which this process can read at any time.
    fn files(&self) -> &WorkerFiles;

    /// `is_own` is `true` for stored jobs, whose workers may still run. The error is a sentence.
    fn prepare<'a>(
        self: Arc<Self>,
        _is_own: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Requests nodes. Returns `None` if the launcher has no queue of its own.
    #[cfg(feature = "slurm")]
    fn allocate(
        self: Arc<Self>,
        _workers: &[Worker],
        _priority: i64,
    ) -> Option<Box<dyn Allocation>> {
        None
    }

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

/// Step of a worker other than the run of its code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    PreCheck,
    /// Copies data into or out of the directory of the worker.
    Copy(Transfer),
    /// Installs the packages listed in a requirements file.
    Install(String),
}

/// Request for the nodes of a job, and later the nodes. Dropping it releases both.
#[cfg(feature = "slurm")]
pub(crate) trait Allocation: Send + Sync {
    /// Waits for the next change. Must not be called after [`Progress::Ready`].
    fn next_change(&mut self) -> BoxFuture<'_, Progress>;

    fn set_priority(&mut self, priority: i64);

    fn loss(&self) -> Option<Loss>;
}

#[derive(Debug, PartialEq, Eq)]
#[cfg(feature = "slurm")]
pub(crate) enum Progress {
    /// The job waits for this reason.
    Waiting(String),
    /// All nodes are available.
    Ready,
    /// The job can never get its nodes, for this reason.
    Rejected(String),
    /// The nodes were lost before the first step of the job.
    Lost(Loss),
}
