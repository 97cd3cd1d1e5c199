//! Launcher of the code of workers, on this machine or on the nodes of a cluster.

use std::{fmt, io, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Sleep,
    job::worker::Worker,
    metrics::usage::Usage,
    runner::{
        process::{environment::HostEnvironment, image_command::ImageCommand, view::Container},
        worker_files::{Transfer, WorkerFiles},
    },
};

/// Launcher of the workers of all jobs. Error messages are sentences for events and logs.
///
/// The methods that are provided are those of workers whose code runs where this process cannot
/// reach it: only their files are here.
pub(crate) trait Launcher: fmt::Debug + Send + Sync + 'static {
    /// Returns the directories of the workers, which this process can read at any time.
    fn files(&self) -> &WorkerFiles;

    /// Copies all output that a worker has written so far to its log.
    fn drain_log(&self, _worker: &Worker) {}

    fn perform(
        self: Arc<Self>,
        worker: Worker,
        step: Step,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>> {
        match step {
            Step::Copy(transfer) => self.copy(worker, transfer, interrupt),
            _ => Box::pin(async { Err(io::Error::other("the node was lost")) }),
        }
    }

    /// Copies data by this process.
    fn copy(
        self: Arc<Self>,
        worker: Worker,
        transfer: Transfer,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>> {
        let copy = move || {
            self.drain_log(&worker);
            self.files().copy(&worker, transfer, &interrupt)
        };
        Box::pin(async move {
            let copied = spawn_blocking(copy).await;
            copied.unwrap_or_else(|error| Err(io::Error::other(error)))
        })
    }

    /// Returns the names of the requirements files of a worker.
    fn requirements(self: Arc<Self>, _worker: Worker) -> BoxFuture<'static, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Starts the code of a worker.
    fn start(self: Arc<Self>, _worker: Worker) -> BoxFuture<'static, Box<dyn Run>> {
        Box::pin(async { Box::new(Exit::Lost(Loss::NodeFault)) as Box<dyn Run> })
    }

    /// Returns the usage of a worker's processes, or `None` if the worker is not running.
    fn usage(self: Arc<Self>, _worker: Worker) -> BoxFuture<'static, Option<Usage>> {
        Box::pin(std::future::ready(None))
    }

    /// Kills all workers without waiting for their end.
    fn kill_all(&self) {}
}

/// Settings of the workers of all jobs, on each machine that runs their code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerSettings {
    /// Directory with those of the workers, at the same path on each machine.
    pub(crate) place: PathBuf,
    /// Directory of the buckets of OBS.
    pub(crate) obs: PathBuf,
    pub(crate) datasets: Option<PathBuf>,
    /// Directory for NFS file systems, each in the subdirectory `<server>/<path>`.
    pub(crate) nfs: PathBuf,
    /// Maximum size in bytes of a log.
    pub(crate) log_cap: u64,
    /// Minimum free disk space for a successful pre-check, in bytes.
    pub(crate) least_disk: u64,
    pub(crate) install_packages: bool,
    /// Command that runs code in an image. `None` if the machine's files replace the image.
    pub(crate) image: Option<ImageCommand>,
    pub(crate) container: Container,
    pub(crate) host: HostEnvironment,
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

/// Run that has ended before it could begin.
impl Run for Exit {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::ready(*self))
    }

    fn terminate(&mut self, _grace: Sleep) -> BoxFuture<'_, Exit> {
        self.wait()
    }
}
