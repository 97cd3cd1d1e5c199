//! Handle of a running emulator: its addresses, its state, and its end.

pub(crate) mod builder;
pub(crate) mod error;
mod objects;
pub(crate) mod runner;
mod start;
pub(crate) mod stored_job;
mod variables;

use std::{
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
    traffic::{
        faults::Faults,
        request_log::{LoggedRequest, RequestCounts},
    },
};

/// A running emulator.
///
/// Dropping the emulator kills the processes of its jobs; [`shutdown`](Self::shutdown) gives the
/// processes time to end. If the process that holds the emulator ends without either (by a signal,
/// `exit` or `abort`), a watchdog process kills the processes of the jobs and removes the temporary
/// directory.
pub struct Emulator {
    pub(crate) state: Arc<EmulatorState>,
    url: String,
    /// Base URL of OBS over HTTP. `None` without the feature `obs`.
    obs_url: Option<String>,
    obs_root: PathBuf,
    data_dir: PathBuf,
    servers: Vec<JoinHandle<()>>,
    _temporary: Option<TempDir>,
}

impl fmt::Debug for Emulator {
    /// Formats only the URL, because other fields contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Emulator {
    /// Returns the base URL, for example `http://127.0.0.1:37337`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the base URL of OBS over HTTP, for example `http://127.0.0.1:37339`, without a slash
    /// at the end.
    ///
    /// S3 clients read and write the files below [`obs_root`](Self::obs_root). They use addresses
    /// in path style or `bucket.localhost`, and sign by AWS V4 or V2 with the keys of any user.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let emulator = modelarts_emulator::Emulator::start().await?;
    /// // boto3.client("s3", endpoint_url=…, aws_access_key_id=…, aws_secret_access_key=…)
    /// println!("{} {}", emulator.obs_url(), emulator.access_key());
    /// # emulator.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "obs")]
    #[must_use]
    pub fn obs_url(&self) -> &str {
        self.obs_url.as_deref().unwrap_or_default()
    }

    /// Returns the id of the first user's project.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.state.accounts.user(0).project_id
    }

    /// Returns the access key of the first user.
    #[must_use]
    pub fn access_key(&self) -> &str {
        &self.state.accounts.user(0).access_key
    }

    /// Returns the secret key that belongs to [`access_key`](Self::access_key).
    #[must_use]
    pub fn secret_key(&self) -> &str {
        &self.state.accounts.user(0).secret_key
    }

    /// Returns the routes of the emulator, to be called in-process without a socket, for example
    /// with tower's `oneshot`. Responses and required headers are the same as over a socket: `Host`
    /// must name the address of [`url`](Self::url). A fault that would cut the connection before
    /// the response returns a 503 without a body instead.
    pub fn router(&self) -> axum::Router {
        router::router(Arc::clone(&self.state))
    }

    /// Returns the root directory of OBS: `obs://bucket/key` is the file `bucket/key` in it.
    #[must_use]
    pub fn obs_root(&self) -> &Path {
        &self.obs_root
    }

    /// Returns the data directory. Worker 0 of a job has the subdirectory `jobs/<id>/worker-0`.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Returns the queue of injected faults, which `/_emulator/faults` also uses.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.state.traffic.faults
    }

    /// Returns the counts of requests of each implemented operation, by operationId.
    #[must_use]
    pub fn requests(&self) -> RequestCounts {
        self.state.traffic.request_counts.all()
    }

    /// Moves a clock that can be moved, such as a [`ManualClock`](crate::clock::ManualClock), and
    /// returns when all work that was due is done. The clock stops at each due time on the way, so
    /// that each step happens at its own time: hours of simulated jobs pass in one call. Processes
    /// run in real time, and the call does not wait for them. Returns `false` if the clock cannot
    /// be moved.
    pub async fn advance(&self, duration: Duration) -> bool {
        self.state.advance(duration).await
    }

    /// Creates jobs with a predefined history, all or none, and returns their ids.
    ///
    /// # Errors
    /// Returns an error that describes the problem if a member breaks a rule, a name or an id
    /// exists already, or a job cannot be stored.
    pub async fn seed(&self, seeds: &Seeds) -> Result<Vec<String>, SeedError> {
        seeds.create_jobs(&self.state, false).await
    }

    /// Returns the last 256 authenticated requests for implemented operations, the oldest first.
    #[must_use]
    pub fn last_requests(&self) -> Vec<LoggedRequest> {
        self.state.traffic.request_log.all()
    }

    /// Returns the path of the `python3` that runs boot files, or `None` if no `python3` works.
    pub async fn python3() -> Option<PathBuf> {
        let python = python::python3().await?;
        Some(python.executable.clone())
    }

    /// Waits until a job is in `phase`, for example `Running`.
    ///
    /// # Errors
    /// Returns an error if the job does not exist, or has ended in another phase.
    pub async fn wait_for(&self, job_id: &str, phase: &str) -> Result<(), WaitError> {
        let look = |job: Option<&Job>| match job {
            None => Some(Err(WaitError::NoSuchJob)),
            Some(job) if job.state.phase() == phase => Some(Ok(())),
            Some(job) if job.state.is_final() => {
                Some(Err(WaitError::Ended { phase: job.state.phase() }))
            }
            Some(_) => None,
        };
        self.state.store.wait(job_id, look).await
    }

    /// Waits until a job has no processes and its last event is written, or does not exist.
    pub async fn wait_until_settled(&self, job_id: &str) {
        let look = |job: Option<&Job>| job.is_none_or(|job| job.lifecycle.settled).then_some(());
        self.state.store.wait(job_id, look).await;
    }

    /// Waits until the job no longer exists.
    pub async fn wait_until_gone(&self, job_id: &str) {
        self.state.store.wait(job_id, |job| job.is_none().then_some(())).await;
    }

    /// Shuts the emulator down: it accepts no more requests, sends SIGTERM to the processes of its
    /// jobs and, after the grace period of its [`Timing`](crate::clock::timing::Timing) in real
    /// time, SIGKILL. Returns when the processes have ended.
    ///
    /// Jobs whose code was running are Terminated. Jobs that were waiting, or being prepared,
    /// continue if another emulator starts on the [data directory](crate::Builder::data_dir).
    /// [`suspend`](Self::suspend) also leaves running jobs to that emulator.
    pub async fn shutdown(self) {
        self.end(StopReason::Shutdown).await;
    }

    /// Shuts the emulator down like [`shutdown`](Self::shutdown), but leaves running jobs to the
    /// next emulator on the [data directory](crate::Builder::data_dir). Their processes end, and
    /// the next emulator schedules the jobs again, as after the fault of a node: the code starts
    /// from the beginning, and appends to the log. Without a data directory, all jobs are lost.
    pub async fn suspend(self) {
        self.end(StopReason::Suspend).await;
    }

    async fn end(mut self, why: StopReason) {
        self.state.work.closing.send_replace(true);
        for server in &mut self.servers {
            // An error means that the server panicked, which has been reported.
            let _ = server.await;
        }
        self.state.store.ask_all_to_stop(why);
        let mut work = self.state.take_tasks();
        let mut ended = async || while work.join_next().await.is_some() {};
        if tokio::time::timeout(self.state.settings.timing.grace, ended()).await.is_err() {
            self.state.work.copy_cancellation.cancel();
            self.state.work.runner.kill_all();
            let _ = tokio::time::timeout(KILL_WAIT, ended()).await;
        }
    }
}

/// Time for which a shutdown waits for killed processes.
const KILL_WAIT: Duration = Duration::from_secs(5);

impl Drop for Emulator {
    fn drop(&mut self) {
        self.servers.iter().for_each(JoinHandle::abort);
        // Aborted tasks leave their process groups running; `kill_all` ends these.
        self.state.take_tasks().abort_all();
        self.state.work.copy_cancellation.cancel();
        self.state.work.runner.kill_all();
        // The next emulator on this directory need not wait for the last tasks.
        self.state.store.database.close();
    }
}
