//! The running emulator. `builder` starts it, `stored_job` reads its stored state.

pub(crate) mod builder;
pub(crate) mod error;
pub(crate) mod stored_job;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::{
    emulator::error::WaitError,
    execution::seeds::{SeedError, Seeds},
    job::{Job, state::StopReason},
    runner::process::python,
    server::router,
    state::EmulatorState,
    traffic::{counts::RequestCount, faults::Faults, request_log::LoggedRequest},
};

/// A running emulator.
///
/// Dropping it kills the processes of its jobs; [`shutdown`](Self::shutdown) gives them time to
/// end. If the process that holds it ends without either, by a signal, `exit` or `abort`, a
/// watchdog process kills them and removes the temporary directory.
pub struct Emulator {
    pub(crate) state: Arc<EmulatorState>,
    url: String,
    obs_root: PathBuf,
    data_dir: PathBuf,
    server: JoinHandle<()>,
    _temporary: Option<TempDir>,
}

impl fmt::Debug for Emulator {
    /// Prints no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Emulator {
    /// The base URL, `http://127.0.0.1:<port>`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The id of the first user's project.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.state.accounts.user(0).project_id
    }

    /// The access key of the first user.
    #[must_use]
    pub fn access_key(&self) -> &str {
        &self.state.accounts.user(0).access_key
    }

    /// The secret key of the first user. Valid for this emulator only.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        &self.state.accounts.user(0).secret_key
    }

    /// The routes of the emulator, to be called in-process without a socket, for example with
    /// tower's `oneshot`. Responses are those of the socket, so that the same headers are required:
    /// `Host` must name the address of [`url`](Self::url). A fault that cuts the connection before
    /// the response is a 503 without a body here.
    pub fn router(&self) -> axum::Router {
        router::router(Arc::clone(&self.state))
    }

    /// The directory that holds OBS: `obs://bucket/key` is `bucket/key` in it.
    #[must_use]
    pub fn obs_root(&self) -> &Path {
        &self.obs_root
    }

    /// The directory of the jobs: worker 0 of a job has `jobs/<id>/worker-0`.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Injected faults; the same queue as `/_emulator/faults`.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// Counts of requests by operationId, for all modelled operations.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<&'static str, RequestCount> {
        self.state.request_counts.all()
    }

    /// Moves a clock that can be moved, such as a [`ManualClock`](crate::clock::ManualClock), and
    /// returns when all work that was due is done. The clock stops at each due time on the way, so
    /// that everything happens at its own time: hours of simulated jobs pass in one call. Processes
    /// run in real time and are not waited for. Returns `false` if the clock cannot be moved.
    pub async fn advance(&self, duration: Duration) -> bool {
        self.state.advance(duration).await
    }

    /// Creates jobs with an invented past, all or none, and returns their ids.
    ///
    /// # Errors
    /// A sentence, if a member breaks a rule, or a name or an id is taken.
    pub async fn seed(&self, seeds: &Seeds) -> Result<Vec<String>, SeedError> {
        seeds.create_jobs(&self.state, false).await
    }

    /// The last 256 requests for operations, the oldest first.
    #[must_use]
    pub fn last_requests(&self) -> Vec<LoggedRequest> {
        self.state.request_log.all()
    }

    /// The python3 that runs boot files, if there is one on the PATH.
    pub async fn python3() -> Option<PathBuf> {
        python::python3().await.map(Path::to_owned)
    }

    /// Waits until a job is in `phase`, for example `Running`.
    ///
    /// # Errors
    /// If the job does not exist, or has ended in another phase.
    pub async fn wait_for(&self, job_id: &str, phase: &str) -> Result<(), WaitError> {
        let look = |job: Option<&Job>| match job {
            None => Some(Err(WaitError::NoSuchJob)),
            Some(job) if job.state.phase() == phase => Some(Ok(())),
            Some(job) if job.state.is_final() => Some(Err(WaitError::Ended {
                phase: job.state.phase(),
            })),
            Some(_) => None,
        };
        self.state.store.wait(job_id, look).await
    }

    /// Waits until a job is settled: its processes have ended and its last event is written.
    /// Returns at once if the job does not exist.
    pub async fn wait_until_settled(&self, job_id: &str) {
        let look = |job: Option<&Job>| job.is_none_or(|job| job.settled).then_some(());
        self.state.store.wait(job_id, look).await;
    }

    /// Waits until the job no longer exists.
    pub async fn wait_until_gone(&self, job_id: &str) {
        self.state
            .store
            .wait(job_id, |job| job.is_none().then_some(()))
            .await;
    }

    /// Ends the emulator: it accepts no more requests, sends SIGTERM to the processes of its jobs
    /// and, after the grace period of its [`Timing`](crate::clock::timing::Timing) in real time,
    /// SIGKILL. Returns when the processes have ended.
    pub async fn shutdown(mut self) {
        self.state.closing.send_replace(true);
        // An error is a panic in a connection, which has been reported.
        let _ = (&mut self.server).await;
        self.state.store.ask_all_to_stop(StopReason::Shutdown);
        let mut work = self.state.take_tasks();
        let mut ended = async || while work.join_next().await.is_some() {};
        if tokio::time::timeout(self.state.timing.grace, ended())
            .await
            .is_err()
        {
            self.state.copy_cancellation.cancel();
            self.state.runner.kill_all();
            let _ = tokio::time::timeout(KILL_WAIT, ended()).await;
        }
    }
}

/// Time for which a shutdown waits for killed processes.
const KILL_WAIT: Duration = Duration::from_secs(5);

impl Drop for Emulator {
    fn drop(&mut self) {
        self.server.abort();
        // The process groups of aborted tasks are killed by the next line.
        self.state.take_tasks().abort_all();
        self.state.copy_cancellation.cancel();
        self.state.runner.kill_all();
        // Closed here, so that the next emulator on this directory need not wait for the last
        // tasks.
        self.state.store.database.close();
    }
}
