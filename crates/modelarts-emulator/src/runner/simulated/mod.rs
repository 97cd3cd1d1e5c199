//! Simulation of workers: jobs follow a [`Script`], on the emulator's clock.
//!
//! A run is one sleep on the clock, whatever its duration. Its log and its metrics are computed
//! from its [`plan`] when a request needs them, and the log is written then. Nothing here waits for
//! another thread, so that a clock that is moved step by step finds all work done at each step.

mod plan;
pub(crate) mod script;

use std::{
    collections::HashMap,
    fmt,
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::flavors,
    clock::{
        system::{Clock, Sleep},
        timestamp::Timestamp,
    },
    files::{confined_dir::ConfinedDir, obs_path::ObsPath},
    job::worker::Worker,
    metrics::{Metrics, usage::Usage},
    runner::{
        Exit, LogTail, Run, Runner,
        simulated::{
            plan::RunPlan,
            script::{RunFault, Script},
        },
        worker_files::{WorkerFiles, append_capped},
    },
};

/// The runner of simulated workers.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedRunner(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    script: Script,
    clock: Arc<dyn Clock>,
    files: WorkerFiles,
    obs: ConfinedDir,
    metrics: Arc<Metrics>,
    /// Maximum size in bytes of a log.
    log_cap: u64,
    /// Running workers, by the name of their log.
    running: Mutex<HashMap<String, Arc<RunState>>>,
}

#[derive(Debug)]
struct RunState {
    plan: RunPlan,
    start: Timestamp,
    written: Mutex<LogProgress>,
}

/// The part of a run's log that has been written to its files.
#[derive(Debug, Default)]
struct LogProgress {
    bytes: usize,
    /// The log of the run itself, and for a trial that of its worker.
    full: [bool; 2],
}

impl SimulatedRunner {
    pub(crate) fn new(
        data_dir: &Path,
        script: Script,
        obs: ConfinedDir,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        log_cap: u64,
    ) -> io::Result<Self> {
        Ok(Self(Arc::new(Shared {
            script,
            clock,
            files: WorkerFiles::new(data_dir)?,
            obs,
            metrics,
            log_cap,
            running: Mutex::default(),
        })))
    }

    fn running(&self, worker: &Worker) -> Option<Arc<RunState>> {
        self.0.running.lock().get(&worker.log_name()).cloned()
    }
}

impl Shared {
    fn now(&self) -> Timestamp {
        Timestamp::now(self.clock.as_ref())
    }

    /// Writes the lines of a run that are due and not in its files yet. Only written lines are
    /// shown, so that a line stays visible even if the emulator is killed.
    fn write(&self, worker: &Worker, running: &RunState) -> io::Result<()> {
        let text = running.plan.log(self.now().since(running.start));
        let mut written = running.written.lock();
        let new = text.as_bytes().get(written.bytes..).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        written.bytes = text.len();
        let mut logs = self.files.open_logs(worker)?;
        for (log, full) in logs.iter_mut().zip(&mut written.full) {
            if !*full {
                *full = append_capped(log, new, self.log_cap)?;
            }
        }
        Ok(())
    }

    /// Writes the lines of a worker that are due, if it runs.
    fn write_if_running(&self, worker: &Worker) -> io::Result<()> {
        match self.running.lock().get(&worker.log_name()) {
            Some(running) => self.write(worker, running),
            None => Ok(()),
        }
    }
}

impl Runner for SimulatedRunner {
    fn is_prepared(&self, worker: &Worker) -> bool {
        !RunPlan::of(&self.0.script, worker).prepare_timeout
    }

    fn pre_check(&self, worker: &Worker) -> Result<(), String> {
        match RunPlan::of(&self.0.script, worker).pre_check_error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn renew(&self, _worker: Worker) -> BoxFuture<'_, io::Result<()>> {
        // The log is the only file, and it is kept.
        ready()
    }

    fn download_time(&self, worker: &Worker) -> Duration {
        RunPlan::of(&self.0.script, worker).download
    }

    fn download_code(
        &self,
        worker: Worker,
        _interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let downloaded = match RunPlan::of(&self.0.script, &worker).download_error {
            Some(cause) => Err(io::Error::other(cause)),
            None => Ok(()),
        };
        std::future::ready(downloaded).boxed()
    }

    fn download_input(
        &self,
        worker: Worker,
        _index: usize,
        _interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        match RunPlan::of(&self.0.script, &worker).input_error {
            Some(cause) => std::future::ready(Err(io::Error::other(cause))).boxed(),
            None => ready(),
        }
    }

    fn prefetch_output(
        &self,
        _worker: Worker,
        _index: usize,
        _interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        ready()
    }

    fn requirements(&self, _worker: &Worker) -> Vec<String> {
        Vec::new()
    }

    fn install(
        &self,
        _worker: Worker,
        _file: String,
        _interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        ready()
    }

    fn start(&self, worker: Worker) -> BoxFuture<'_, Box<dyn Run>> {
        let plan = RunPlan::of(&self.0.script, &worker);
        let start = self.0.now();
        // Trials share the worker, and have no metrics of their own.
        if worker.trial.is_none() {
            let values = plan.metrics.clone();
            self.0.metrics.begin_scripted(worker.pod(), start, values);
        }
        let running = Arc::new(RunState {
            plan,
            start,
            written: Mutex::default(),
        });
        let sleep = match running.plan.fault() {
            Some(RunFault::Hang(_)) => Box::pin(std::future::pending()),
            _ => self.0.clock.sleep(running.plan.alive_for()),
        };
        let mut all = self.0.running.lock();
        all.insert(worker.log_name(), Arc::clone(&running));
        drop(all);
        let run = SimulatedRun {
            shared: Arc::clone(&self.0),
            worker,
            running,
            sleep,
        };
        std::future::ready(Box::new(run) as Box<dyn Run>).boxed()
    }

    fn next_poll(&self, worker: &Worker) -> Sleep {
        // Only hang detection needs checks.
        match flavors::gpus(worker.request.flavor()) {
            0 => Box::pin(std::future::pending()),
            _ => self.0.clock.sleep(worker.request.hang_time()),
        }
    }

    fn upload_output(
        &self,
        _worker: Worker,
        _index: usize,
        _interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        ready()
    }

    fn clear_scratch(&self, _worker: Worker) -> BoxFuture<'_, io::Result<()>> {
        ready()
    }

    fn export_log(
        &self,
        worker: Worker,
        to: ObsPath,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let written = self.0.write_if_running(&worker);
        let exported = written.and_then(|()| {
            self.0
                .files
                .export_log(&worker, &self.0.obs, &to, &interrupt)
        });
        std::future::ready(exported).boxed()
    }

    fn write_log(&self, worker: Worker, text: String) -> BoxFuture<'_, io::Result<()>> {
        let log = self.0.files.open_log(&worker);
        let written = log.and_then(|mut log| log.write_all(text.as_bytes()));
        std::future::ready(written).boxed()
    }

    fn log_tail(&self, worker: Worker, limit: u64) -> BoxFuture<'_, io::Result<Option<LogTail>>> {
        let written = self.0.write_if_running(&worker);
        let tail = written.and_then(|()| self.0.files.log_tail(&worker, limit));
        std::future::ready(tail).boxed()
    }

    fn log_part(&self, worker: Worker, from: u64, most: u64) -> BoxFuture<'_, io::Result<Vec<u8>>> {
        let written = self.0.write_if_running(&worker);
        let part = written.and_then(|()| self.0.files.log_part(&worker, from, most));
        std::future::ready(part).boxed()
    }

    fn usage(&self, worker: Worker) -> BoxFuture<'_, Option<Usage>> {
        // Fully busy while there is activity.
        let usage = self.running(&worker).map(|running| {
            let ran = self.0.now().since(running.start);
            let lively = ran.min(running.plan.alive_for());
            Usage {
                cpu_millis: u64::try_from(lively.as_millis()).unwrap_or(u64::MAX),
                memory: 0,
            }
        });
        std::future::ready(usage).boxed()
    }

    fn remove(&self, job_id: String) -> BoxFuture<'_, ()> {
        self.0.files.remove(&job_id);
        std::future::ready(()).boxed()
    }

    fn kill_all(&self) {
        self.0.running.lock().clear();
    }
}

fn ready() -> BoxFuture<'static, io::Result<()>> {
    std::future::ready(Ok(())).boxed()
}

struct SimulatedRun {
    shared: Arc<Shared>,
    worker: Worker,
    running: Arc<RunState>,
    /// Completes at the end of the run.
    sleep: Sleep,
}

impl fmt::Debug for SimulatedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedRun").field(&self.running).finish()
    }
}

impl SimulatedRun {
    /// Removes the run; its log is an ordinary file afterwards.
    fn end(&self) {
        let (shared, worker) = (&self.shared, &self.worker);
        let now = shared.now();
        let mut running = shared.running.lock();
        if running.remove(&worker.log_name()).is_none() {
            return;
        }
        // Under the lock, so that the log is not read before its last lines are written.
        if let Err(error) = shared.write(worker, &self.running) {
            tracing::warn!(job = worker.job_id, %error, "a log cannot be written");
        }
        drop(running);
        shared.metrics.end_scripted(&worker.pod(), now);
    }
}

/// Exit codes after SIGTERM and after SIGKILL.
const TERMINATED: i32 = 128 + 15;
const KILLED: i32 = 128 + 9;

impl Run for SimulatedRun {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        async {
            self.sleep.as_mut().await;
            self.end();
            match self.running.plan.fault() {
                Some(RunFault::NodeFault(_)) => Exit::NodeFault,
                _ => Exit::Code(self.running.plan.exit_code),
            }
        }
        .boxed()
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, i32> {
        async move {
            let hangs = self.running.plan.fault().is_some();
            let code = if self.running.plan.ignores_sigterm {
                // The run may end by itself first.
                tokio::select! {
                    biased;
                    () = self.sleep.as_mut(), if !hangs => self.running.plan.exit_code,
                    () = grace => KILLED,
                }
            } else {
                TERMINATED
            };
            self.end();
            code
        }
        .boxed()
    }
}
