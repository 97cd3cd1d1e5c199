//! Runs the workers of jobs.
//!
//! [`Runner`] is the interface for the execution of jobs. [`process`] runs their code as processes,
//! [`simulated`] follows a script; both keep logs and files in [`worker_files`].

pub(crate) mod process;
pub(crate) mod simulated;
mod worker_files;

use std::{fmt, io, time::Duration};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::system::Sleep, files::obs_path::ObsPath, job::worker::Worker, metrics::usage::Usage,
};

/// The end of a log.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    pub(crate) content: Vec<u8>,
    pub(crate) full_size: u64,
}

/// A runner of workers. Errors are sentences for events and logs. When its `interrupt` is
/// cancelled, a copy or an installation ends soon with an error, without leaving incomplete files
/// or processes.
pub(crate) trait Runner: fmt::Debug + Send + Sync + 'static {
    /// True if the preparation before the queue completes in time. Processes have no such
    /// preparation.
    fn is_prepared(&self, _worker: &Worker) -> bool {
        true
    }
    /// Runs the pre-check of a worker's node. The error describes the defect.
    fn pre_check(&self, _worker: &Worker) -> Result<(), String> {
        Ok(())
    }
    /// Creates a new container: only the log of an earlier run is kept.
    fn renew(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>>;
    /// Download time of the code directory, in addition to the copying.
    fn download_time(&self, _worker: &Worker) -> Duration {
        Duration::ZERO
    }
    /// Copies the code directory to its local directory.
    fn download_code(
        &self,
        worker: Worker,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the input with this index to its local directory.
    fn download_input(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the stored content of the output with this index to its local directory.
    fn prefetch_output(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// The requirements files in the code directory.
    fn requirements(&self, worker: &Worker) -> Vec<String>;
    /// Installs the packages listed in one of those files.
    fn install(
        &self,
        worker: Worker,
        file: String,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Starts the code.
    fn start(&self, worker: Worker) -> BoxFuture<'_, Box<dyn Run>>;
    /// Completes at the next check of the running worker.
    fn next_poll(&self, worker: &Worker) -> Sleep;
    /// Uploads the output with this index.
    fn upload_output(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Empties the scratch directory of a worker whose job has ended.
    fn clear_scratch(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the log to the export path of the job.
    fn export_log(
        &self,
        worker: Worker,
        to: ObsPath,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Appends to the log of a worker that does not run.
    fn write_log(&self, worker: Worker, text: String) -> BoxFuture<'_, io::Result<()>>;
    /// The last `limit` bytes of the log; `None` while it is empty.
    fn log_tail(&self, worker: Worker, limit: u64) -> BoxFuture<'_, io::Result<Option<LogTail>>>;
    /// At most `most` bytes of the log from the byte `from` on; empty at its end.
    fn log_part(&self, worker: Worker, from: u64, most: u64) -> BoxFuture<'_, io::Result<Vec<u8>>>;
    /// The current usage of the worker's processes, if they run.
    fn usage(&self, worker: Worker) -> BoxFuture<'_, Option<Usage>>;
    /// Removes all data of a job whose workers have ended.
    fn remove(&self, job_id: String) -> BoxFuture<'_, ()>;
    /// Kills all workers without waiting. Called when the emulator is dropped.
    fn kill_all(&self);
}

/// The end of a worker that was not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The code ended, with this exit code; 128 + n after signal n.
    Code(i32),
    /// The node died, with everything on it.
    NodeFault,
}

/// A worker whose code has been started.
pub(crate) trait Run: Send {
    /// Waits for the worker to end. May be dropped and called again.
    fn wait(&mut self) -> BoxFuture<'_, Exit>;
    /// The process id, if the worker is a process.
    fn pid(&self) -> Option<u32> {
        None
    }
    /// Asks all processes to end, kills them after `grace`, and returns when they have ended.
    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, i32>;
}
