//! Runner that simulates workers: jobs follow a [`Script`] on the emulator's clock. Due lines of a
//! log are written when a request reads the log and when the run ends, without another thread.

mod plan;
pub(crate) mod script;

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;

use crate::{
    catalog::flavors,
    clock::{Clock, Sleep, timestamp::Timestamp},
    job::worker::Worker,
    metrics::{Metrics, usage::Usage},
    runner::{
        launcher::{Exit, Loss, Run},
        process::watchdog::Watchdog,
        simulated::script::{RunFault, Script, ScriptedRun},
        worker_files::{WorkerFiles, append_capped},
    },
};

#[derive(Debug)]
pub(crate) struct SimulatedRunner {
    pub(super) files: WorkerFiles,
    script: Script,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    log_cap: u64,
    /// Running workers, by the name of their log.
    running: Mutex<HashMap<String, Arc<RunState>>>,
    /// Watchdog that removes the temporary directory. Simulated jobs have no processes.
    watchdog: Watchdog,
}

#[derive(Debug)]
struct RunState {
    behaviour: ScriptedRun,
    start: Timestamp,
    written: Mutex<LogProgress>,
}

#[derive(Debug, Default)]
struct LogProgress {
    bytes: usize,
    /// `true` for a full log: the log of the run and, for a trial, the log of its worker.
    full: [bool; 2],
}

impl SimulatedRunner {
    pub(crate) fn new(
        files: WorkerFiles,
        log_cap: u64,
        temporary: Option<PathBuf>,
        script: Script,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            files,
            script,
            clock,
            metrics,
            log_cap,
            running: Mutex::default(),
            watchdog: Watchdog::new(Default::default(), temporary),
        }
    }

    pub(super) fn behaviour(&self, worker: &Worker) -> ScriptedRun {
        self.script.of(worker)
    }

    fn now(&self) -> Timestamp {
        Timestamp::now(self.clock.as_ref())
    }

    /// Writes due log lines. A returned line must remain available even if the emulator is killed.
    fn write(&self, worker: &Worker, running: &RunState) -> io::Result<()> {
        let text = running.behaviour.log_text(self.now().since(running.start));
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

    pub(super) fn write_due_lines(&self, worker: &Worker) -> io::Result<()> {
        match self.running.lock().get(&worker.log_name()) {
            Some(running) => self.write(worker, running),
            None => Ok(()),
        }
    }

    pub(super) fn start(runner: &Arc<Self>, worker: Worker) -> impl Run + use<> {
        let behaviour = runner.behaviour(&worker);
        let start = runner.now();
        // Trials share the worker, and have no separate metrics.
        if worker.trial.is_none() {
            let values = behaviour.metrics();
            runner.metrics.begin_scripted(worker.pod(), start, values);
        }
        let sleep = match behaviour.fault_in_run() {
            Some(RunFault::Hang(_)) => Box::pin(std::future::pending()),
            _ => runner.clock.sleep(behaviour.alive_for()),
        };
        let running = Arc::new(RunState { behaviour, start, written: Mutex::default() });
        let mut all = runner.running.lock();
        all.insert(worker.log_name(), Arc::clone(&running));
        drop(all);
        SimulatedRun { runner: Arc::clone(runner), worker, running, sleep }
    }

    pub(super) fn next_poll(&self, worker: &Worker) -> Sleep {
        // Only hang detection, which applies to GPU flavors, requires periodic checks.
        match flavors::gpus(worker.request.flavor()) {
            0 => Box::pin(std::future::pending()),
            _ => self.clock.sleep(worker.request.hang_time()),
        }
    }

    /// Returns the usage of a running worker: one fully used core as long as the worker is active.
    pub(super) fn usage(&self, worker: &Worker) -> Option<Usage> {
        let all = self.running.lock();
        let running = all.get(&worker.log_name())?;
        let ran = self.now().since(running.start);
        let lively = ran.min(running.behaviour.alive_for());
        Some(Usage { cpu_millis: u64::try_from(lively.as_millis()).unwrap_or(u64::MAX), memory: 0 })
    }

    pub(super) fn kill_all(&self) {
        self.running.lock().clear();
        self.watchdog.end_all();
    }
}

struct SimulatedRun {
    runner: Arc<SimulatedRunner>,
    worker: Worker,
    running: Arc<RunState>,
    sleep: Sleep,
}

impl SimulatedRun {
    /// Ends the run: writes the rest of its log and removes it from the running workers.
    fn end(&self) {
        let (runner, worker) = (&self.runner, &self.worker);
        let now = runner.now();
        let mut running = runner.running.lock();
        if running.remove(&worker.log_name()).is_none() {
            return;
        }
        // Requests wait for the lock, and cannot read the log before its last lines are written.
        if let Err(error) = runner.write(worker, &self.running) {
            tracing::warn!(job = worker.job_id, %error, "a log cannot be written");
        }
        drop(running);
        runner.metrics.end_scripted(&worker.pod(), now);
    }
}

/// Exit code of a run that was ended by SIGTERM.
const TERMINATED: i32 = 128 + 15;
/// Exit code of a run that was ended by SIGKILL.
const KILLED: i32 = 128 + 9;

impl Run for SimulatedRun {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        async {
            self.sleep.as_mut().await;
            self.end();
            match self.running.behaviour.fault_in_run() {
                Some(RunFault::NodeFault(_)) => Exit::Lost(Loss::NodeFault),
                Some(RunFault::Evicted(_)) => Exit::Lost(Loss::Evicted),
                _ => Exit::Code(self.running.behaviour.exit_code()),
            }
        }
        .boxed()
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit> {
        async move {
            let behaviour = &self.running.behaviour;
            let hangs = behaviour.fault_in_run().is_some();
            let code = if behaviour.ignores_sigterm == Some(true) {
                // The run may end by itself before the grace period ends.
                tokio::select! {
                    biased;
                    () = self.sleep.as_mut(), if !hangs => behaviour.exit_code(),
                    () = grace => KILLED,
                }
            } else {
                TERMINATED
            };
            self.end();
            Exit::Code(code)
        }
        .boxed()
    }
}
