//! The run of the code: starts the workers, waits for them, and looks after them meanwhile.

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
    runner::{Exit, Run},
};

/// How often logs are copied to where the job wants them kept: the period that a line of the
/// service's own logs names.
const LOG_PERIOD: Duration = Duration::from_secs(5);
/// A hung job is started again in its place at most this often in a row.
const HANG_RESTARTS: u32 = 3;

/// The end of a run of the workers.
enum RunExit {
    /// All have ended, or one has failed.
    Ended,
    Stopped(StopReason),
    Preempted,
    Hung,
    /// The node of this task has died.
    NodeFault(String),
}

/// Observations of a run so far.
pub(super) struct RunProgress {
    /// When each output of each worker was copied out last.
    outputs_copied: Vec<Vec<Timestamp>>,
    /// When the logs were copied out last.
    logs_copied: Timestamp,
    /// The last signs of activity: log sizes and use of the processors; and since when they are so.
    activity: Vec<(u64, u64)>,
    activity_since: Timestamp,
    hang_reported: bool,
    /// Processor time of each worker at the last look.
    last_usage: Vec<Option<(Timestamp, Usage)>>,
}

impl Driver {
    /// Runs the code until it ends, is ended, or has to give way.
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

    /// The next run of the code in the same containers: nothing is scheduled.
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

    /// Waits for the workers. The first that does not end with 0 ends the others, and so does
    /// everything else that ends the wait.
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
                            // Nobody is left to say how it ended.
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
        // A copy that still runs could replace files of the last copy by older ones.
        if !monitor.is_terminated() {
            monitor.await;
        }
        (exit, failure)
    }

    /// Says that the code is being ended before its time.
    pub(super) fn begin_stop(&self, why: StopReason) {
        // For auto stop nobody has changed the state yet.
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

    /// Does what is due, from now on and until it is interrupted. True, and not before, if the job
    /// hangs and is to be started again, if it `may_restart`.
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

    /// When to look at the workers again.
    pub(super) fn next_check(&self) -> Sleep {
        match self.workers.first() {
            Some(worker) => self.state.runner.next_poll(worker),
            None => Box::pin(std::future::pending()),
        }
    }

    /// Copies the outputs and the logs that are due.
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

    /// Outputs are copied out while the code runs, at the channel's own pace.
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
                let upload = runner.upload_output(worker.clone(), index, interrupt.clone());
                if let Err(error) = upload.await {
                    tracing::debug!(job = self.id, output = output.name, %error, "not copied out");
                }
            }
        }
    }

    /// Notes what each worker uses, once a second.
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

    /// Hang detection: jobs with cards only, and only when nothing has moved for the whole time.
    /// Logs and the time on processors count as movement, because the emulator has no cards.
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
            // Waiting costs some time on processors, too; a busy job uses more than a twentieth.
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
