//! Runners of the workers of jobs: processes, placed by a [`launcher`], or [`simulated`].

pub(crate) mod launcher;
pub(crate) mod process;
pub(crate) mod simulated;
pub(crate) mod worker_files;

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Sleep,
    files::obs_path::ObsPath,
    job::worker::Worker,
    metrics::usage::Usage,
    runner::{
        launcher::{Launcher, Run, Step},
        simulated::SimulatedRunner,
        worker_files::{LogTail, Transfer, WorkerFiles},
    },
};

/// Runner of all workers. Error messages are sentences for events and logs. Soon after `interrupt`
/// is cancelled, a step fails and leaves no incomplete files or processes.
#[derive(Debug)]
pub(crate) enum Runner {
    Process(Arc<dyn Launcher>),
    Simulated(Arc<SimulatedRunner>),
}

impl Runner {
    /// Returns `true` if the preparation before the queue completes in time.
    pub(crate) fn is_prepared(&self, worker: &Worker) -> bool {
        match self {
            Self::Process(_) => true,
            Self::Simulated(runner) => !runner.behaviour(worker).prepare_timeout.unwrap_or(false),
        }
    }

    pub(crate) async fn pre_check(&self, worker: &Worker) -> Result<(), String> {
        match self {
            Self::Process(launcher) => {
                let launcher = Arc::clone(launcher);
                let check =
                    launcher.perform(worker.clone(), Step::PreCheck, CancellationToken::new());
                check.await.map_err(|error| error.to_string())
            }
            Self::Simulated(runner) => runner.behaviour(worker).pre_check_error.map_or(Ok(()), Err),
        }
    }

    /// Recreates the container of a worker, and keeps only the log of the previous run.
    pub(crate) async fn renew(&self, worker: Worker) -> io::Result<()> {
        match self {
            Self::Process(_) => self.with_files(worker, WorkerFiles::renew).await,
            // The only file of a simulated worker is its log.
            Self::Simulated(_) => Ok(()),
        }
    }

    /// Returns the duration of the code download, in addition to the duration of the copy.
    pub(crate) fn download_time(&self, worker: &Worker) -> Duration {
        match self {
            Self::Process(_) => Duration::ZERO,
            Self::Simulated(runner) => runner.behaviour(worker).download_time(),
        }
    }

    pub(crate) async fn copy(
        &self,
        worker: Worker,
        transfer: Transfer,
        interrupt: CancellationToken,
    ) -> io::Result<()> {
        match self {
            Self::Process(launcher) => {
                let step = Step::Copy(transfer);
                Arc::clone(launcher).perform(worker, step, interrupt).await
            }
            Self::Simulated(runner) => {
                let behaviour = runner.behaviour(&worker);
                let cause = match transfer {
                    Transfer::Code => behaviour.download_error,
                    Transfer::Input(_) => behaviour.input_error,
                    Transfer::StoredOutput(_) | Transfer::Output(_) => None,
                };
                cause.map_or(Ok(()), |cause| Err(io::Error::other(cause)))
            }
        }
    }

    pub(crate) async fn requirements(&self, worker: &Worker) -> Vec<String> {
        match self {
            Self::Process(launcher) => Arc::clone(launcher).requirements(worker.clone()).await,
            Self::Simulated(_) => Vec::new(),
        }
    }

    pub(crate) async fn install(
        &self,
        worker: Worker,
        file: String,
        interrupt: CancellationToken,
    ) -> io::Result<()> {
        match self {
            Self::Process(launcher) => {
                let step = Step::Install(file);
                Arc::clone(launcher).perform(worker, step, interrupt).await
            }
            Self::Simulated(_) => Ok(()),
        }
    }

    pub(crate) async fn start(&self, worker: Worker) -> Box<dyn Run> {
        match self {
            Self::Process(launcher) => Arc::clone(launcher).start(worker).await,
            Self::Simulated(runner) => Box::new(SimulatedRunner::start(runner, worker)),
        }
    }

    /// Returns a future that completes at the next check of the running worker.
    pub(crate) fn next_poll(&self, worker: &Worker) -> Sleep {
        match self {
            // Processes run in real time, so they are checked in real time.
            Self::Process(_) => Box::pin(tokio::time::sleep(POLL_PERIOD)),
            Self::Simulated(runner) => runner.next_poll(worker),
        }
    }

    pub(crate) async fn clear_scratch(&self, worker: Worker) -> io::Result<()> {
        self.with_files(worker, WorkerFiles::clear_scratch).await
    }

    pub(crate) async fn clear_inputs(&self, worker: Worker) -> io::Result<()> {
        self.with_files(worker, WorkerFiles::clear_inputs).await
    }

    pub(crate) async fn export_log(
        &self,
        worker: Worker,
        to: ObsPath,
        interrupt: CancellationToken,
    ) -> io::Result<()> {
        let export =
            move |files: &WorkerFiles, worker: &Worker| files.export_log(worker, &to, &interrupt);
        self.with_files(worker, export).await
    }

    pub(crate) async fn export_other_logs(
        &self,
        worker: Worker,
        to: ObsPath,
        interrupt: CancellationToken,
    ) -> io::Result<()> {
        let export = move |files: &WorkerFiles, worker: &Worker| {
            files.export_other_logs(worker, &to, &interrupt)
        };
        self.with_files(worker, export).await
    }

    /// Returns `true` if an output has files.
    pub(crate) async fn has_output(&self, worker: Worker, index: usize) -> bool {
        let has_files = move |files: &WorkerFiles, worker: &Worker| files.has_output(worker, index);
        self.with_files(worker, has_files).await.unwrap_or(false)
    }

    /// Appends text to the log of a worker that is not running.
    pub(crate) async fn write_log(&self, worker: Worker, text: String) -> io::Result<()> {
        let write = move |files: &WorkerFiles, worker: &Worker| {
            files.open_log(worker)?.write_all(text.as_bytes())
        };
        self.with_files(worker, write).await
    }

    /// Returns the last `limit` bytes of the log, or `None` if the log is empty or unreadable.
    pub(crate) async fn log_tail(&self, worker: Worker, limit: u64) -> io::Result<Option<LogTail>> {
        let tail = move |files: &WorkerFiles, worker: &Worker| files.log_tail(worker, limit);
        self.with_files(worker, tail).await
    }

    /// Returns at most `most` bytes of the log from offset `from`; none at the end of the log.
    pub(crate) async fn log_part(
        &self,
        worker: Worker,
        from: u64,
        most: u64,
    ) -> io::Result<Vec<u8>> {
        let part = move |files: &WorkerFiles, worker: &Worker| files.log_part(worker, from, most);
        self.with_files(worker, part).await
    }

    /// Calls `access` after all output so far is in the log. For processes, this happens on another
    /// thread; for simulated workers at once, so that no step of a manual clock waits for a thread.
    async fn with_files<T: Send + 'static>(
        &self,
        worker: Worker,
        access: impl FnOnce(&WorkerFiles, &Worker) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match self {
            Self::Process(launcher) => {
                let launcher = Arc::clone(launcher);
                let access = move || {
                    launcher.drain_log(&worker);
                    access(launcher.files(), &worker)
                };
                spawn_blocking(access).await.unwrap_or_else(|error| Err(io::Error::other(error)))
            }
            Self::Simulated(runner) => {
                runner.write_due_lines(&worker)?;
                access(&runner.files, &worker)
            }
        }
    }

    /// Returns the directories of the workers.
    pub(crate) fn files(&self) -> &WorkerFiles {
        match self {
            Self::Process(launcher) => launcher.files(),
            Self::Simulated(runner) => &runner.files,
        }
    }

    pub(crate) async fn usage(&self, worker: Worker) -> Option<Usage> {
        match self {
            Self::Process(launcher) => Arc::clone(launcher).usage(worker).await,
            Self::Simulated(runner) => runner.usage(&worker),
        }
    }

    pub(crate) async fn remove(&self, job_id: String) {
        match self {
            Self::Process(launcher) => {
                let launcher = Arc::clone(launcher);
                let removal = spawn_blocking(move || launcher.files().remove(&job_id));
                if let Err(error) = removal.await {
                    tracing::warn!(%error, "a job's directory cannot be removed");
                }
            }
            Self::Simulated(runner) => runner.files.remove(&job_id),
        }
    }

    /// Kills all workers without waiting for their end.
    pub(crate) fn kill_all(&self) {
        match self {
            Self::Process(launcher) => launcher.kill_all(),
            Self::Simulated(runner) => runner.kill_all(),
        }
    }
}

/// Interval between checks of running workers, in real time.
const POLL_PERIOD: Duration = Duration::from_millis(100);
