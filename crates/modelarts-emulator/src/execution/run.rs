//! The run of the code: starts the workers, supervises them, and waits for their end.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::FusedFuture, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::quirks::AutoStopPhase,
    clock::{system::Sleep, timestamp::Timestamp},
    execution::driver::{Driver, Ending, stop_request},
    job::{
        RecordEnd, RunningRecord, TaskFailure,
        event::EventKind,
        state::{JobState, StopReason},
        worker::Worker,
    },
    metrics::usage::Usage,
    runner::{
        run::{Exit, Run},
        worker_files::Transfer,
    },
};

/// Period of the export of logs, from a line of the service's own logs.
const LOG_PERIOD: Duration = Duration::from_secs(5);
/// Maximum number of consecutive restarts in place of a job that hangs.
const HANG_RESTARTS: u32 = 3;

/// The end of a run of the workers.
enum RunExit {
    /// All workers have ended, or one has failed.
    Ended,
    Stopped(StopReason),
    Preempted,
    Hung,
    /// The node of this task died.
    NodeFault(String),
}

/// State of the supervision of a run.
pub(super) struct RunProgress {
    /// Time of the last upload of each output of each worker.
    outputs_copied: Vec<Vec<Timestamp>>,
    /// Time of the last export of the logs.
    logs_copied: Timestamp,
    /// Last observed activity, as log sizes and processor time, and the time since when it is
    /// unchanged.
    activity: Vec<(u64, u64)>,
    activity_since: Timestamp,
    hang_reported: bool,
    /// Processor time of each worker at the last check.
    last_usage: Vec<Option<(Timestamp, Usage)>>,
}

impl Driver {
    /// Runs the code until it ends or is stopped.
    pub(super) async fn run_code(&self) -> Ending {
        let mut hangs = 0;
        loop {
            let mut runs = Vec::new();
            for worker in &self.workers {
                let worker = Worker {
                    run: worker.run + hangs as usize,
                    ..worker.clone()
                };
                let task = worker.task();
                self.note(EventKind::TaskStarted { task: task.clone() });
                runs.push((task, self.state.runner.start(worker).await));
            }
            let (exit, failure) = self.supervise(&mut runs, hangs).await;
            match exit {
                RunExit::Ended => return Ending::Exited(failure),
                RunExit::Stopped(why) => return Ending::Stopped(why, failure),
                RunExit::Preempted => return Ending::Preempted,
                RunExit::NodeFault(task) => return Ending::NodeFault(task),
                RunExit::Hung => {
                    hangs += 1;
                    self.note_restart_in_place(failure);
                }
            }
        }
    }

    /// Records the next run of the code in the same containers, without scheduling.
    fn note_restart_in_place(&self, failure: Option<TaskFailure>) {
        let now = self.now();
        self.state.store.update(&self.id, |job| {
            if let Some(record) = job.records.last_mut() {
                record.end = Some(RecordEnd {
                    at: now.whole_second(),
                    reason: "job hanged".to_owned(),
                    task: failure.map(|failure| failure.task),
                    recover: Some("proc_restart".to_owned()),
                });
            }
            job.records.push(RunningRecord {
                start: now.whole_second(),
                restarted: true,
                end: None,
            });
            job.note(EventKind::Restarted, now);
        });
    }

    /// Waits for the workers. The first failure ends the others, as does any other end of the wait.
    async fn supervise(
        &self,
        runs: &mut [(String, Box<dyn Run>)],
        hangs: u32,
    ) -> (RunExit, Option<TaskFailure>) {
        let mut ended = vec![false; runs.len()];
        let mut failure: Option<TaskFailure> = None;
        let interrupt = self.state.copy_cancellation.child_token();
        let mut progress = self.initial_progress();
        let monitor = self.monitor(&mut progress, hangs < HANG_RESTARTS, &interrupt);
        let monitor = monitor.fuse();
        tokio::pin!(monitor);
        let exit = {
            let mut waiting: FuturesUnordered<_> = runs
                .iter_mut()
                .enumerate()
                .map(|(index, (task, run))| async move { (index, task.clone(), run.wait().await) })
                .collect();
            let mut requests = self.stop.clone();
            let preempted = self.slot.as_ref().map(|slot| slot.preemption());
            let preempted = async {
                match preempted {
                    Some(preempted) => preempted.await,
                    None => std::future::pending().await,
                }
            };
            tokio::pin!(preempted);
            let time_limit =
                std::future::poll_fn(|context| self.time_limit.lock().as_mut().poll(context));
            tokio::pin!(time_limit);
            loop {
                tokio::select! {
                    // An exit takes precedence over requests to stop.
                    biased;
                    exited = waiting.next() => {
                        let Some((index, task, exit)) = exited else { break RunExit::Ended };
                        ended[index] = true;
                        let exit_code = match exit {
                            Exit::Code(exit_code) => exit_code,
                            // No worker is left to report an exit code.
                            Exit::NodeFault => break RunExit::NodeFault(task),
                        };
                        self.note(EventKind::TaskFinished { task: task.clone(), exit_code });
                        if exit_code != 0 {
                            failure = Some(TaskFailure { task, exit_code });
                            break RunExit::Ended;
                        }
                    }
                    why = stop_request(&mut requests) => break RunExit::Stopped(why),
                    () = &mut time_limit => {
                        let hours = self.request.auto_stop_hours.unwrap_or_default();
                        break RunExit::Stopped(StopReason::AfterHours(hours));
                    }
                    () = &mut preempted => break RunExit::Preempted,
                    true = &mut monitor => break RunExit::Hung,
                }
            }
        };
        interrupt.cancel();
        if let RunExit::Stopped(why) = exit {
            self.begin_stop(why);
        }
        let rest = runs
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| !ended[*index])
            .map(|(_, (task, run))| {
                let grace = self.grace_period();
                async move { (task.clone(), run.terminate(grace).await) }
            });
        let mut rest: FuturesUnordered<_> = rest.collect();
        while let Some((task, exit_code)) = rest.next().await {
            self.note(EventKind::TaskFinished {
                task: task.clone(),
                exit_code,
            });
            failure.get_or_insert(TaskFailure { task, exit_code });
        }
        // A copy that still runs could overwrite files of the last copy with older ones.
        if !monitor.is_terminated() {
            monitor.await;
        }
        (exit, failure)
    }

    /// Records that the code is being ended early.
    pub(super) fn begin_stop(&self, why: StopReason) {
        // For auto stop, the state has not been changed yet.
        let now = self.now();
        let fails = matches!(why, StopReason::AfterHours(_))
            && self.state.quirks.auto_stopped == AutoStopPhase::Failed;
        self.state.store.update(&self.id, |job| {
            if !fails {
                job.advance(JobState::Terminating, now);
            }
            job.ask_to_stop(why);
        });
        self.note_termination();
    }

    pub(super) fn initial_progress(&self) -> RunProgress {
        let now = self.now();
        let workers = self.workers.iter();
        RunProgress {
            outputs_copied: workers
                .map(|worker| vec![now; worker.request.outputs.len()])
                .collect(),
            logs_copied: now,
            activity: Vec::new(),
            activity_since: now,
            hang_reported: false,
            last_usage: vec![None; self.workers.len()],
        }
    }

    /// Performs periodic work until it is interrupted. Returns `true` only if the job hangs and is
    /// to be restarted, provided that it `may_restart`.
    async fn monitor(
        &self,
        progress: &mut RunProgress,
        may_restart: bool,
        interrupt: &CancellationToken,
    ) -> bool {
        loop {
            let now = self.now();
            self.copy_due(progress, now, interrupt).await;
            if interrupt.is_cancelled() {
                return false;
            }
            self.record_usage(progress, now).await;
            if self.is_hanging(progress, now).await && may_restart {
                return true;
            }
            tokio::select! {
                () = interrupt.cancelled() => return false,
                () = self.next_check() => {}
            }
        }
    }

    /// Completes at the next check of the workers.
    pub(super) fn next_check(&self) -> Sleep {
        match self.workers.first() {
            Some(worker) => self.state.runner.next_poll(worker),
            None => Box::pin(std::future::pending()),
        }
    }

    /// Copies the outputs and logs that are due.
    pub(super) async fn copy_due(
        &self,
        progress: &mut RunProgress,
        now: Timestamp,
        interrupt: &CancellationToken,
    ) {
        self.upload_due_outputs(progress, now, interrupt).await;
        if now.since(progress.logs_copied) >= LOG_PERIOD {
            progress.logs_copied = now;
            self.export_logs(interrupt).await;
        }
    }

    /// Uploads outputs while the code runs, each with the period of its channel.
    async fn upload_due_outputs(
        &self,
        progress: &mut RunProgress,
        now: Timestamp,
        interrupt: &CancellationToken,
    ) {
        for (worker, copied) in self.workers.iter().zip(&mut progress.outputs_copied) {
            let outputs = worker.request.outputs.iter().zip(copied);
            for (index, (output, copied)) in outputs.enumerate() {
                if now.since(*copied) < output.period {
                    continue;
                }
                *copied = now;
                let runner = &self.state.runner;
                let upload =
                    runner.copy(worker.clone(), Transfer::Output(index), interrupt.clone());
                if let Err(error) = upload.await {
                    tracing::debug!(job = self.id, output = output.name, %error, "not copied out");
                }
            }
        }
    }

    /// Records the usage of each worker, once a second.
    async fn record_usage(&self, progress: &mut RunProgress, now: Timestamp) {
        for (worker, used) in self.workers.iter().zip(&mut progress.last_usage) {
            let due = used.is_none_or(|(at, _)| now.since(at) >= Duration::from_secs(1));
            if !due {
                continue;
            }
            let Some(usage) = self.state.runner.usage(worker.clone()).await else {
                continue;
            };
            if let Some((before, earlier)) = used.replace((now, usage)) {
                let series = Arc::clone(&self.state.metrics);
                series.add_sample(worker, (before, earlier), (now, usage));
            }
        }
    }

    /// Detects a job that hangs: with cards only, and only when nothing has changed for the whole
    /// time. The emulator has no cards, so that logs and processor time count as activity.
    async fn is_hanging(&self, progress: &mut RunProgress, now: Timestamp) -> bool {
        let requests = self.workers.iter().map(|worker| &worker.request);
        let with_cards =
            requests.filter(|request| crate::catalog::flavors::gpus(request.flavor()) > 0);
        let Some(limit) = with_cards.map(|request| request.hang_time()).max() else {
            return false;
        };
        if now.since(progress.activity_since) < limit && !progress.activity.is_empty() {
            return false;
        }
        let mut activity = Vec::new();
        for worker in &self.workers {
            let usage = self.state.runner.usage(worker.clone()).await;
            let log = self.state.runner.log_tail(worker.clone(), 0).await;
            let log = log.ok().flatten().map_or(0, |log| log.full_size);
            // Waiting uses some processor time as well; a busy job uses more than a twentieth.
            let used = usage.map_or(0, |usage| usage.cpu_millis);
            activity.push((log, used));
        }
        let still = progress.activity.len() == activity.len()
            && progress
                .activity
                .iter()
                .zip(&activity)
                .all(|(before, after)| {
                    let budget = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) / 20;
                    before.0 == after.0 && after.1.saturating_sub(before.1) < budget
                });
        progress.activity = activity;
        progress.activity_since = now;
        if !still {
            return false;
        }
        if !progress.hang_reported {
            progress.hang_reported = true;
            self.note(EventKind::MaybeHanging);
        }
        self.request.retry.hang
    }
}
