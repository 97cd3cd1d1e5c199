//! Run of the code: start, supervision and end of the workers.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::FusedFuture, stream::FuturesUnordered};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::flavors,
    clock::timestamp::Timestamp,
    execution::driver::{Driver, Ending},
    job::{
        RecordEnd, RunningRecord, TaskFailure,
        event::{EventKind, Level, Source},
        state::{JobState, StopReason},
        worker::Worker,
    },
    metrics::usage::Usage,
    runner::{
        launcher::{Exit, Loss, Run},
        worker_files::Transfer,
    },
};

/// Interval between exports of the logs. The value is from a line in the service's own logs.
const LOG_PERIOD: Duration = Duration::from_secs(5);
/// Maximum number of consecutive restarts in place of a hanging job.
const HANG_RESTARTS: u32 = 3;

enum RunEnd {
    Ended(Ending),
    Hung,
}

struct RunProgress {
    /// Time of the last upload of each output of each worker.
    outputs_copied: Vec<Vec<Timestamp>>,
    /// Time of the last export of the logs.
    logs_copied: Timestamp,
    /// Size of the log in bytes and processor time in milliseconds of each worker.
    activity: Vec<(u64, u64)>,
    activity_since: Timestamp,
    hang_reported: bool,
    last_usage: Vec<Option<(Timestamp, Usage)>>,
}

impl Driver {
    pub(super) async fn run_code(&self) -> Ending {
        let mut hangs = 0;
        loop {
            let mut runs = Vec::new();
            for worker in &self.workers {
                let worker = Worker { run: worker.run + hangs as usize, ..worker.clone() };
                let task = worker.task();
                self.note(EventKind::TaskStarted { task: task.clone() });
                runs.push((task, self.state.work.runner.start(worker).await));
            }
            let (end, failure) = self.supervise(runs, hangs).await;
            match end {
                RunEnd::Ended(ending) => return ending.with_failure(failure),
                RunEnd::Hung => {
                    hangs += 1;
                    self.note_restart_in_place(failure);
                }
            }
        }
    }

    /// Records a restart in place: the code runs again in the same containers, without scheduling.
    fn note_restart_in_place(&self, failure: Option<TaskFailure>) {
        let now = self.now();
        self.state.store.update(&self.id, |job| {
            job.end_record(RecordEnd {
                at: now.whole_second(),
                reason: "job hanged".to_owned(),
                task: failure.map(|failure| failure.task),
                recover: Some("proc_restart".to_owned()),
            });
            job.history.records.push(RunningRecord {
                start: now.whole_second(),
                restarted: true,
                end: None,
            });
            job.note(EventKind::Restarted, now);
        });
    }

    /// Waits for the workers to exit. A failure, a lost node, an interruption or a hang ends all.
    async fn supervise(
        &self,
        runs: Vec<(String, Box<dyn Run>)>,
        hangs: u32,
    ) -> (RunEnd, Option<TaskFailure>) {
        let (end_workers, ended) = watch::channel(false);
        let workers = runs.into_iter();
        let workers = workers.map(|(task, run)| self.run_worker(task, run, ended.clone()));
        let mut workers: FuturesUnordered<_> = workers.collect();
        let interrupt = self.state.work.copy_cancellation.child_token();
        let monitor = self.monitor(hangs < HANG_RESTARTS, &interrupt).fuse();
        tokio::pin!(monitor);
        let interruption = self.interruption();
        tokio::pin!(interruption);
        let mut end = None;
        let mut failure = None;
        loop {
            tokio::select! {
                // An exit takes precedence over stop requests.
                biased;
                exited = workers.next() => match exited {
                    None => break,
                    Some((task, Exit::Lost(loss))) => {
                        if loss == Loss::Evicted {
                            self.note_eviction(&task);
                        }
                        end.get_or_insert(RunEnd::Ended(Ending::of_loss(loss, task)));
                    }
                    Some((_, Exit::Code(0))) if end.is_none() => {}
                    Some((task, Exit::Code(exit_code))) => {
                        failure.get_or_insert(TaskFailure { task, exit_code });
                        end.get_or_insert(RunEnd::Ended(Ending::Exited(None)));
                    }
                },
                ending = &mut interruption, if end.is_none() => end = Some(RunEnd::Ended(ending)),
                true = &mut monitor, if end.is_none() => end = Some(RunEnd::Hung),
            }
            if end.is_some() && !end_workers.send_replace(true) {
                interrupt.cancel();
                if let Some(RunEnd::Ended(Ending::Stopped(why, _))) = end {
                    self.begin_stop(why);
                }
            }
        }
        interrupt.cancel();
        // A copy that is still running could overwrite newer files.
        if !monitor.is_terminated() {
            monitor.await;
        }
        (end.unwrap_or(RunEnd::Ended(Ending::Exited(None))), failure)
    }

    /// Records the event of the cluster, in the form that a user of the service quotes
    /// (`openapi/attested/evidence.md`, row 69).
    fn note_eviction(&self, task: &str) {
        let message = format!(
            "[Pod: modelarts-job-{}-{task}] Evicted: The node was low on resource: \
             ephemeral-storage. Threshold quantity: 107374182400, available: 104333312Ki. \
             Container modelarts-training was using 52428800Ki, request is 0, has larger \
             consumption of ephemeral-storage.",
            self.id
        );
        self.note(EventKind::Given { message, level: Level::Warning, source: Source::K8S });
    }

    /// Waits until a worker exits, or terminates the worker when all workers must end.
    async fn run_worker(
        &self,
        task: String,
        mut run: Box<dyn Run>,
        mut ended: watch::Receiver<bool>,
    ) -> (String, Exit) {
        let all_end = async { drop(ended.wait_for(|ended| *ended).await) };
        let exit = tokio::select! {
            // Termination takes precedence over a simultaneous exit.
            biased;
            () = all_end => {
                let exit = run.terminate(self.grace_period()).await;
                // The next emulator runs the job again, as after the fault of its node.
                match *self.stop.borrow() {
                    Some(StopReason::Suspend) => Exit::Lost(Loss::NodeFault),
                    _ => exit,
                }
            }
            exit = run.wait() => exit,
        };
        // If the node was lost, there is no exit code.
        if let Exit::Code(exit_code) = exit {
            let task = task.clone();
            self.note(EventKind::TaskFinished { task, exit_code });
        }
        (task, exit)
    }

    /// Records an early end of the code. A job that the next emulator will run again stays Running.
    pub(crate) fn begin_stop(&self, why: StopReason) {
        if why == StopReason::Suspend {
            return;
        }
        // A stop request has already changed the state; auto stop has not.
        let now = self.now();
        let terminates = self.stopped_state(why) == JobState::Terminated;
        self.state.store.update(&self.id, |job| {
            if terminates {
                job.advance(JobState::Terminating, now);
            }
            job.ask_to_stop(why);
        });
        self.note_termination();
    }

    /// Exports outputs and logs, records the usage and detects hangs until `interrupt` is
    /// cancelled. Returns `true` only if the job hangs and `may_restart` permits a restart.
    pub(super) async fn monitor(&self, may_restart: bool, interrupt: &CancellationToken) -> bool {
        let mut now = self.now();
        let workers = self.workers.iter();
        let mut progress = RunProgress {
            outputs_copied: workers.map(|worker| vec![now; worker.request.outputs.len()]).collect(),
            logs_copied: now,
            activity: Vec::new(),
            activity_since: now,
            hang_reported: false,
            last_usage: vec![None; self.workers.len()],
        };
        loop {
            self.upload_due_outputs(&mut progress, now, interrupt).await;
            if now.since(progress.logs_copied) >= LOG_PERIOD {
                progress.logs_copied = now;
                self.export_logs(interrupt).await;
            }
            if interrupt.is_cancelled() {
                return false;
            }
            // A search has no metrics and no hang detection.
            if self.request.tuning.is_none() {
                self.record_usage(&mut progress, now).await;
                if self.is_hanging(&mut progress, now).await && may_restart {
                    return true;
                }
            }
            let next_check = match self.workers.first() {
                Some(worker) => self.state.work.runner.next_poll(worker),
                None => Box::pin(std::future::pending()),
            };
            tokio::select! {
                () = interrupt.cancelled() => return false,
                () = next_check => now = self.now(),
            }
        }
    }

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
                let runner = &self.state.work.runner;
                let has_files = runner.has_output(worker.clone(), index).await;
                if has_files && self.is_refused(worker, &format!("output {}", output.name)).await {
                    continue;
                }
                let upload =
                    runner.copy(worker.clone(), Transfer::Output(index), interrupt.clone());
                if let Err(error) = upload.await {
                    tracing::debug!(job = self.id, output = output.name, %error, "not copied out");
                }
            }
        }
    }

    async fn record_usage(&self, progress: &mut RunProgress, now: Timestamp) {
        for (worker, used) in self.workers.iter().zip(&mut progress.last_usage) {
            let due = used.is_none_or(|(at, _)| now.since(at) >= Duration::from_secs(1));
            if !due {
                continue;
            }
            let Some(usage) = self.state.work.runner.usage(worker.clone()).await else {
                continue;
            };
            if let Some((before, earlier)) = used.replace((now, usage)) {
                let series = Arc::clone(&self.state.work.metrics);
                series.add_sample(worker, (before, earlier), (now, usage));
            }
        }
    }

    /// Reports a hang, and returns `true` if it must restart the job. A job with accelerator cards
    /// hangs if its logs and processor time show no activity for the whole detection time.
    async fn is_hanging(&self, progress: &mut RunProgress, now: Timestamp) -> bool {
        let requests = self.workers.iter().map(|worker| &worker.request);
        let with_cards = requests.filter(|request| flavors::gpus(request.flavor()) > 0);
        let Some(limit) = with_cards.map(|request| request.hang_time()).max() else {
            return false;
        };
        if now.since(progress.activity_since) < limit && !progress.activity.is_empty() {
            return false;
        }
        let mut activity = Vec::new();
        for worker in &self.workers {
            let usage = self.state.work.runner.usage(worker.clone()).await;
            let log = self.state.work.runner.log_tail(worker.clone(), 0).await;
            let log = log.ok().flatten().map_or(0, |log| log.full_size);
            // Waiting uses some processor time, so less than a twentieth of `limit` is no activity.
            let used = usage.map_or(0, |usage| usage.cpu_millis);
            activity.push((log, used));
        }
        let budget = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) / 20;
        let mut changes = progress.activity.iter().zip(&activity);
        let still = progress.activity.len() == activity.len()
            && changes.all(|(before, after)| {
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
