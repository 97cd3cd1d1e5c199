//! Run of a worker as processes: its normal or requested end, and the clean-up.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{process::Child, task::JoinHandle};

use crate::{
    clock::Sleep,
    job::worker::Worker,
    runner::{
        launcher::{Exit, Run},
        process::{
            log_pump::Pump,
            orphans::OrphanRecord,
            process_table::{ProcessTable, RunMark},
            watchdog::Watchdog,
        },
    },
};

#[derive(Debug)]
pub(crate) struct ActiveRuns {
    pub(super) processes: Arc<ProcessTable>,
    pub(crate) watchdog: Watchdog,
    orphans: OrphanRecord,
    /// Active runs by [`Worker::log_name`].
    runs: Mutex<HashMap<String, ActiveRun>>,
}

#[derive(Clone, Debug)]
pub(super) struct ActiveRun {
    pump: Pump,
    /// Leader of the process group whose output the pump reads.
    pub(super) leader: Option<Pid>,
}

impl ActiveRuns {
    /// Ends the processes of an earlier emulator: those in `records`, or with a mark below `jobs`.
    pub(super) fn new(
        jobs: &Path,
        records: &Path,
        temporary: Option<PathBuf>,
    ) -> io::Result<Arc<Self>> {
        let processes = ProcessTable::new(jobs);
        Ok(Arc::new(Self {
            watchdog: Watchdog::new(processes.mark(), temporary),
            orphans: OrphanRecord::end_all(records, &processes)?,
            processes,
            runs: Mutex::default(),
        }))
    }

    /// Returns a copy of the run, so that its pump can write for a long time without the lock.
    pub(super) fn find(&self, worker: &Worker) -> Option<ActiveRun> {
        self.runs.lock().get(&worker.log_name()).cloned()
    }

    pub(crate) fn drain_log(&self, worker: &Worker) {
        if let Some(run) = self.find(worker) {
            run.pump.drain();
        }
    }

    /// Records a run that has started. `name` is the name of its log.
    pub(super) fn begin(
        runs: &Arc<Self>,
        started: Started,
        name: String,
        mark: RunMark,
        (pump, mut pumping): (Pump, JoinHandle<()>),
    ) -> ProcessRun {
        let group = started.group;
        if let Some(group) = group {
            runs.watchdog.add_group(group);
            runs.orphans.add(group);
            mark.limit(group);
        }
        let run = ActiveRun { pump: pump.clone(), leader: group };
        runs.runs.lock().insert(name.clone(), run);
        let records = Arc::clone(runs);
        // Kills the processes that the leader has left behind, and reads their remaining output.
        let clean_up = async move {
            records.processes.end(group, &mark).await;
            if let Some(group) = group {
                records.watchdog.remove_group(group);
                records.orphans.remove(group);
            }
            pump.finish(&mut pumping).await;
            records.runs.lock().remove(&name);
        };
        ProcessRun {
            started,
            processes: Arc::clone(&runs.processes),
            clean_up: Some(Box::pin(clean_up)),
            cleaning: None,
        }
    }
}

/// Processes of a run whose code waits for its start.
pub(super) struct Started {
    /// Process with the exit code of the code: the code itself, or the bubblewrap of its view.
    pub(super) child: Child,
    /// Process group of the code, which is the process id of its leader.
    pub(super) group: Option<Pid>,
    /// `true` if the group's leader is the first process of a view, which ends after all others.
    pub(super) has_init: bool,
}

pub(super) struct ProcessRun {
    started: Started,
    processes: Arc<ProcessTable>,
    clean_up: Option<BoxFuture<'static, ()>>,
    /// Separate task of the clean-up, because a caller may drop a wait for the run and wait again.
    cleaning: Option<JoinHandle<()>>,
}

impl ProcessRun {
    async fn leader(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        match self.started.child.wait().await {
            Ok(status) => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            Err(error) => {
                tracing::warn!(%error, "the exit code of a job is unknown");
                EXIT_CODE_LOST
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.started.group {
            // The error ESRCH means that the group has already ended.
            let _ = kill_process_group(group, signal);
        }
    }

    async fn clean_up(&mut self) {
        if let Some(clean_up) = self.clean_up.take() {
            self.cleaning = Some(tokio::spawn(clean_up));
        }
        if let Some(cleaning) = &mut self.cleaning {
            // An error means that the task panicked, which has been reported.
            let _ = cleaning.await;
            self.cleaning = None;
        }
    }
}

/// Exit code of a run for which the operating system reports none.
const EXIT_CODE_LOST: i32 = 255;
/// Exit code of a shell for a command that it cannot find.
pub(super) const COMMAND_NOT_FOUND: i32 = 127;

impl Run for ProcessRun {
    fn pid(&self) -> Option<u32> {
        let group = self.started.group?;
        u32::try_from(group.as_raw_nonzero().get()).ok()
    }

    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            let code = self.leader().await;
            self.clean_up().await;
            Exit::Code(code)
        })
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            self.signal(Signal::TERM);
            let processes = Arc::clone(&self.processes);
            let Started { group, has_init, .. } = self.started;
            let ended = async {
                let code = self.leader().await;
                if let Some(group) = group {
                    processes.wait_for_group_end(group, has_init).await;
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
            Exit::Code(code)
        })
    }
}
