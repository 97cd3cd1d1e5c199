//! Runs the workers of jobs.
//!
//! [`Runner`] is what the execution of jobs calls. [`process`] runs their code as processes,
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

/// Where and how workers run. Errors are sentences for events and logs. A copy or an installation
/// ends soon, with an error, when its `interrupt` is cancelled; then no part of a file and no
/// process is left.
pub(crate) trait Runner: fmt::Debug + Send + Sync + 'static {
    /// True if the preparation before the queue is done in time. On this machine there is none.
    fn is_prepared(&self, _worker: &Worker) -> bool {
        true
    }
    /// The pre-check of a worker's node. The error is what it finds.
    fn pre_check(&self, _worker: &Worker) -> Result<(), String> {
        Ok(())
    }
    /// A new container: nothing is left of an earlier run but the log.
    fn renew(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>>;
    /// How long the code directory takes to arrive, beside the copying.
    fn download_time(&self, _worker: &Worker) -> Duration {
        Duration::ZERO
    }
    /// Copies the code directory to its place.
    fn download_code(
        &self,
        worker: Worker,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the input with this index to its place.
    fn download_input(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Copies what lies at the output with this index to its local directory.
    fn prefetch_output(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// The files in the code directory that list packages.
    fn requirements(&self, worker: &Worker) -> Vec<String>;
    /// Installs the packages that one of those files lists.
    fn install(
        &self,
        worker: Worker,
        file: String,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Starts the code.
    fn start(&self, worker: Worker) -> BoxFuture<'_, Box<dyn Run>>;
    /// Ready when it is time to look at the running worker again.
    fn next_poll(&self, worker: &Worker) -> Sleep;
    /// Copies the output with this index back.
    fn upload_output(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Empties the scratch directory of a worker whose job has ended.
    fn clear_scratch(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the log to where the job wants it kept.
    fn export_log(
        &self,
        worker: Worker,
        to: ObsPath,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>>;
    /// Adds to the log of a worker that does not run.
    fn write_log(&self, worker: Worker, text: String) -> BoxFuture<'_, io::Result<()>>;
    /// The last `limit` bytes of the log; nothing before its first byte.
    fn log_tail(&self, worker: Worker, limit: u64) -> BoxFuture<'_, io::Result<Option<LogTail>>>;
    /// At most `most` bytes of the log from the byte `from` on; nothing behind its end.
    fn log_part(&self, worker: Worker, from: u64, most: u64) -> BoxFuture<'_, io::Result<Vec<u8>>>;
    /// The present use of the worker's processes, if they run.
    fn usage(&self, worker: Worker) -> BoxFuture<'_, Option<Usage>>;
    /// Forgets everything about a job whose workers have ended.
    fn remove(&self, job_id: String) -> BoxFuture<'_, ()>;
    /// Ends all workers at once, without waiting. For the moment when nobody can wait any more.
    fn kill_all(&self);
}

/// How a worker ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Its code ended: the exit code, 128 + n after signal n.
    Code(i32),
    /// Its node died, and everything on it.
    NodeFault,
}

/// A worker whose code has been started.
pub(crate) trait Run: Send {
    /// Waits for the worker to end by itself. May be dropped and called again.
    fn wait(&mut self) -> BoxFuture<'_, Exit>;
    /// The process that was started, if it is one.
    fn pid(&self) -> Option<u32> {
        None
    }
    /// Asks all processes to end, forces them when `grace` has passed, and returns when they have gone.
    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, i32>;
}
