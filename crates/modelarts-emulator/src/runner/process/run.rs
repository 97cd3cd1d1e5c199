//! A run of a worker as processes: its end, whether by itself or requested, and the clean-up.

use std::{collections::HashMap, ffi::OsString, sync::Arc};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use tokio::{process::Child, task::JoinHandle};

use crate::{
    clock::system::Sleep,
    job::worker::Worker,
    runner::{
        Exit, Run,
        process::{
            log_pump::Pump, orphans::OrphanRecord, process_group, process_table::ProcessTable,
            watchdog::Watchdog,
        },
    },
};

/// The pump of a run, and the leader of the group whose output it reads.
type RunningPump = (Pump, Option<Pid>);

/// The pumps of active runs, by [`Worker::log_name`].
#[derive(Clone, Debug, Default)]
pub(super) struct Pumps(Arc<Mutex<HashMap<String, RunningPump>>>);

impl Pumps {
    pub(super) fn begin(&self, name: String, pump: Pump, leader: Option<Pid>) {
        self.0.lock().insert(name, (pump, leader));
    }

    /// Returns the pump of a running worker. Must not be used under the lock, because writing may
    /// take long.
    pub(super) fn find(&self, worker: &Worker) -> Option<Pump> {
        let pumps = self.0.lock();
        pumps.get(&worker.log_name()).map(|(pump, _)| pump.clone())
    }

    pub(super) fn leader(&self, worker: &Worker) -> Option<Pid> {
        let pumps = self.0.lock();
        pumps
            .get(&worker.log_name())
            .and_then(|(_, leader)| *leader)
    }
}

/// The parts of a run that outlive its leader.
pub(super) struct RunCleanup {
    pub(super) group: Option<Pid>,
    /// The value of [`RUN_VARIABLE`](crate::runner::process::process_table::RUN_VARIABLE) in the
    /// environment of its processes.
    pub(super) run: OsString,
    pub(super) processes: Arc<ProcessTable>,
    pub(super) watchdog: Watchdog,
    pub(super) orphans: OrphanRecord,
    /// The name of its log, see [`Worker::log_name`].
    pub(super) name: String,
    pub(super) pumps: Pumps,
    pub(super) pump: Pump,
    pub(super) pumping: JoinHandle<()>,
}

impl RunCleanup {
    /// Kills the processes left by the leader, waits until they have ended, and reads the rest of
    /// their output.
    async fn clean_up(mut self) {
        self.processes.end(self.group, &self.run).await;
        if let Some(group) = self.group {
            self.watchdog.remove_group(group);
            self.orphans.remove(group);
        }
        self.pump.finish(&mut self.pumping).await;
        self.pumps.0.lock().remove(&self.name);
    }
}

/// A run whose leader has been started.
pub(super) struct ProcessRun {
    child: Child,
    group: Option<Pid>,
    processes: Arc<ProcessTable>,
    cleanup: Option<RunCleanup>,
    /// A task, because callers may drop a wait for the run and start another one.
    cleaning: Option<JoinHandle<()>>,
}

impl ProcessRun {
    pub(super) fn new(child: Child, cleanup: RunCleanup) -> Self {
        Self {
            child,
            group: cleanup.group,
            processes: Arc::clone(&cleanup.processes),
            cleanup: Some(cleanup),
            cleaning: None,
        }
    }

    /// Waits for the exit code of the leader of the group.
    async fn leader(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        match self.child.wait().await {
            Ok(status) => status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            Err(error) => {
                tracing::warn!(%error, "the exit code of a job is unknown");
                EXIT_CODE_LOST
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // ESRCH: the group has already ended.
            let _ = process_group::signal(group, signal);
        }
    }

    async fn clean_up(&mut self) {
        if let Some(cleanup) = self.cleanup.take() {
            self.cleaning = Some(tokio::spawn(cleanup.clean_up()));
        }
        if let Some(cleaning) = &mut self.cleaning {
            // An error is a panic, which has been reported.
            let _ = cleaning.await;
            self.cleaning = None;
        }
    }
}

/// Exit code if the operating system does not report one.
const EXIT_CODE_LOST: i32 = 255;
/// Exit code of a shell for a command that it cannot find.
const COMMAND_NOT_FOUND: i32 = 127;

impl Run for ProcessRun {
    fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            let code = self.leader().await;
            self.clean_up().await;
            Exit::Code(code)
        })
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, i32> {
        Box::pin(async move {
            self.signal(Signal::TERM);
            let (processes, group) = (Arc::clone(&self.processes), self.group);
            let ended = async {
                let code = self.leader().await;
                if let Some(group) = group {
                    processes.wait_for_group_end(group).await;
                }
                code
            };
            let code = tokio::select! {
                code = ended => Some(code),
                () = grace => None,
            };
            self.signal(Signal::KILL);
            let code = match code {
                Some(code) => code,
                None => self.leader().await,
            };
            self.clean_up().await;
            code
        })
    }
}

/// A run that failed to start.
pub(super) struct FailedStart;

impl Run for FailedStart {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::ready(Exit::Code(COMMAND_NOT_FOUND)))
    }

    fn terminate(&mut self, _patience: Sleep) -> BoxFuture<'_, i32> {
        Box::pin(std::future::ready(COMMAND_NOT_FOUND))
    }
}
