//! Following of a job in Slurm: what the queue and the journal show, and what the emulator does.

use std::{
    collections::HashSet,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use tokio::task::spawn_blocking;

use crate::{
    cluster::{
        commands::{self, Cause, CommandError, QUEUE_PERIOD, QueuedJob},
        journal::Entry,
        layout::{Directory, Order, append, read_lines},
        system::SlurmSystem,
    },
    execution::{
        driver::{Driver, Ending},
        finish::record_end,
    },
    job::{
        Job, TaskFailure,
        event::{EventKind, Level, Source},
        state::{JobState, StopReason},
        submission::{BatchRun, Submission},
    },
    runner::launcher::Launcher,
    state::{BatchSystem, EmulatorState},
};

/// Time between two looks at a job that has nodes.
const LOOK_PERIOD: Duration = Duration::from_millis(500);

/// Maximum time that a program may take to follow an order to stop, in addition to the grace period.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// State of a submission, as the queue and the journal show it.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// Neither Slurm nor the shared directory knows it: it must be submitted.
    Absent,
    /// It is in the queue, under this id.
    Waiting,
    /// It has nodes, and the journal reports what happens on them.
    Running,
    /// The cluster has taken its nodes, for this cause, and will run it again.
    Requeued(Cause),
    /// The cluster has ended it, for this cause, or does not know it any more.
    Lost(Option<Cause>),
    /// The journal has the end of the job.
    Complete,
}

impl Standing {
    /// Judges a submission of a job in `state`. `queued` is the submission in the queue, and
    /// `message` the cause of the last end in the output of its script.
    fn of(
        submission: &Submission,
        state: JobState,
        queued: Option<&QueuedJob>,
        message: Option<Cause>,
    ) -> Self {
        let is_open = submission.run == BatchRun::Open;
        match queued {
            _ if submission.run == BatchRun::Ended => Self::Complete,
            Some(job) if job.is_waiting() && is_open && state != JobState::Queuing => {
                Self::Requeued(message.unwrap_or(Cause::NodeFault))
            }
            Some(job) if job.is_waiting() => Self::Waiting,
            Some(job) => match job.cause() {
                None => Self::Running,
                Some(Cause::Exited) => Self::Lost(Some(message.unwrap_or(Cause::Exited))),
                cause => Self::Lost(cause),
            },
            None if submission.slurm_id.is_some() || is_open => Self::Lost(message),
            None => Self::Absent,
        }
    }
}

impl BatchSystem for SlurmSystem {
    fn prepare(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            commands::read_queue().await?;
            for name in ["sbatch", "scancel", "scontrol"] {
                commands::run(name, &["--version"]).await?;
            }
            Ok(())
        })
    }

    fn follow(self: Arc<Self>, state: Arc<EmulatorState>, id: String) -> BoxFuture<'static, ()> {
        Box::pin(follow(self, state, id))
    }
}

/// Follows a job until it is settled, or until the emulator ends.
async fn follow(system: Arc<SlurmSystem>, state: Arc<EmulatorState>, id: String) {
    let look = |job: &Job| (Driver::new(&state, job, None), job.submission.clone(), job.state);
    let Some((mut driver, submission, job_state)) = state.store.read(&id, look) else {
        return;
    };
    let is_new = submission.is_none();
    if is_new {
        let queued = driver.enter_queue(job_state == JobState::Creating).await;
        if let Err(ending) = queued {
            return driver.settle(ending).await;
        }
        // From now on, a later emulator looks for the job in Slurm.
        state.store.update(&id, |job| job.submission = Some(Submission::default()));
    }
    let priority = state.store.read(&id, |job| job.settings.priority).unwrap_or_default();
    let mut follower = Follower {
        system,
        state,
        id,
        driver,
        known_since: Instant::now(),
        // An earlier emulator may have ended before it changed the priority.
        applied_priority: is_new.then_some(priority),
        ordered: None,
        stopped_trials: HashSet::new(),
    };
    let pause = if is_new { follower.submit().await } else { Some(Duration::ZERO) };
    if let Some(pause) = pause {
        follower.run(pause).await;
    }
}

struct Follower {
    system: Arc<SlurmSystem>,
    state: Arc<EmulatorState>,
    id: String,
    driver: Driver,
    /// Time from which on the queue shows what is known already: the submission, and its start.
    known_since: Instant,
    /// Priority that the job has in Slurm.
    applied_priority: Option<i64>,
    /// Stop that the program on the nodes was ordered to make, and the time of the order.
    ordered: Option<(StopReason, Instant)>,
    stopped_trials: HashSet<String>,
}

impl Follower {
    async fn run(mut self, mut pause: Duration) {
        let mut stops = self.driver.stop.clone();
        loop {
            let ordered = self.ordered.map(|(stop, _)| stop);
            let stop = tokio::select! {
                biased;
                stop = stops.wait_for(|stop| stop.is_some() && *stop != ordered) => {
                    stop.map_or(Some(StopReason::Deleted), |stop| *stop)
                }
                () = tokio::time::sleep(pause) => None,
            };
            if let Some(stop) = stop {
                if stop.is_end_of_emulator() && !self.stops_at_shutdown(stop) {
                    return;
                }
                self.order(stop).await;
            }
            pause = match self.look().await {
                Some(pause) => pause,
                None => return,
            };
        }
    }

    /// Returns `true` if the job ends with the emulator: it runs, and was not left to the next one.
    fn stops_at_shutdown(&self, stop: StopReason) -> bool {
        let runs = |job: &Job| job.state == JobState::Running;
        stop == StopReason::Shutdown && self.state.store.read(&self.id, runs) == Some(true)
    }

    fn directory(&self, submission: &Submission) -> Directory {
        self.system.directory(&self.id, submission.number)
    }

    /// Accesses files on another thread: a network file system may not respond for a long time.
    async fn access<T: Default + Send + 'static>(
        &self,
        submission: &Submission,
        access: impl FnOnce(Directory) -> T + Send + 'static,
    ) -> T {
        let directory = self.directory(submission);
        spawn_blocking(move || access(directory)).await.unwrap_or_default()
    }

    fn update(&self, change: impl FnOnce(&mut Submission)) {
        self.state.store.update(&self.id, |job| job.submission.as_mut().map(change));
    }

    /// Orders the program to stop the job, now or when it starts.
    async fn order(&mut self, stop: StopReason) {
        self.ordered = Some((stop, Instant::now()));
        let order = Order::Stop(if stop.is_end_of_emulator() { StopReason::ByUser } else { stop });
        self.send(order).await;
    }

    async fn send(&self, order: Order) {
        let submission = self.state.store.read(&self.id, |job| job.submission.clone()).flatten();
        let Some(submission) = submission else { return };
        let write = move |directory: Directory| {
            // A job that was not submitted has no directory, and needs no order.
            if directory.0.exists()
                && let Err(error) = append(&directory.orders(), &order)
            {
                tracing::warn!(?directory, %error, "an order cannot be written");
            }
        };
        self.access(&submission, write).await;
    }

    /// Looks at the queue and the journal, and acts. Returns the time until the next look, or
    /// `None` if the job is settled.
    async fn look(&mut self) -> Option<Duration> {
        let queue = match self.system.queue.read(self.known_since).await {
            Ok(queue) => queue,
            Err(error) => {
                self.wait_for(&format!("Slurm does not respond, and the job waits: {error}"));
                None
            }
        };
        // The journal is read after the queue: it is complete if the job has left the queue.
        match self.apply_journal().await {
            Err(error) => {
                tracing::warn!(job = self.id, %error, "the journal cannot be read");
                return Some(QUEUE_PERIOD);
            }
            // The queue is from before the start, when the job waited.
            Ok(true) => {
                self.known_since = Instant::now();
                return Some(LOOK_PERIOD);
            }
            Ok(false) => {}
        }
        let look = |job: &Job| (job.submission.clone(), job.state);
        let (submission, job_state) = self.state.store.read(&self.id, look)?;
        let submission = submission.unwrap_or_default();
        if submission.run != BatchRun::Ended && queue.is_none() {
            return Some(LOOK_PERIOD);
        }
        let jobs = queue.as_ref().and_then(|queue| queue.get(&self.id));
        let jobs = jobs.into_iter().flatten();
        let jobs: Vec<_> = jobs.filter(|job| !submission.earlier.contains(&job.id)).collect();
        // Another batch job may run the submission if an earlier emulator has submitted it twice.
        let is_known = |job: &&&QueuedJob| Some(&job.id) == submission.slurm_id.as_ref();
        let known = jobs.iter().find(is_known);
        let live = known.filter(|job| job.is_live()).or(jobs.iter().find(|job| job.is_live()));
        let queued = live.or(known).or(jobs.first()).copied();
        if let (None, Some(found)) = (&submission.slurm_id, queued) {
            let id = found.id.clone();
            self.update(|submission| submission.slurm_id = Some(id));
        }
        let is_on_nodes = queued.is_some_and(|job| job.is_live() && !job.is_waiting());
        let output = match is_on_nodes {
            true => String::new(),
            false => self.access(&submission, |directory| directory.last_output()).await,
        };
        let standing =
            Standing::of(&submission, job_state, queued, commands::cause_in_output(&output));
        match standing {
            Standing::Complete => {
                self.forget(&submission);
                self.state.store.update(&self.id, |job| job.lifecycle.settled = true);
                None
            }
            Standing::Running => {
                if self.ordered.is_none_or(|(stop, _)| stop != StopReason::Shutdown) {
                    self.stop_trials().await;
                }
                self.cancel_if_overdue(&submission).await;
                Some(LOOK_PERIOD)
            }
            Standing::Waiting | Standing::Requeued(_) if self.ordered.is_some() => {
                self.cancel(&submission, queued).await;
                Some(QUEUE_PERIOD)
            }
            Standing::Waiting => {
                if let Some(job) = queued {
                    let reason = job.reason();
                    self.wait_for(&reason);
                    self.apply_priority(&job.id.clone()).await;
                }
                Some(QUEUE_PERIOD)
            }
            Standing::Requeued(cause) => {
                let ending = self.ending(cause, job_state, &output).await;
                if self.driver.requeue(&ending).await {
                    return Some(QUEUE_PERIOD);
                }
                self.cancel(&submission, queued).await;
                self.end(&submission, ending).await
            }
            Standing::Lost(cause) => {
                let cause = match (cause, &submission.slurm_id) {
                    (None, Some(id)) => commands::accounted_cause(id).await,
                    (cause, _) => cause,
                };
                self.lost(submission, cause, job_state, &output).await
            }
            Standing::Absent if self.ordered.is_some() => {
                let (stop, _) = self.ordered?;
                self.end(&submission, stop.into()).await
            }
            Standing::Absent => self.submit().await,
        }
    }

    /// Applies the new entries of the journal, each once. Returns `true` if the program has started.
    async fn apply_journal(&self) -> io::Result<bool> {
        let look = |job: &Job| job.submission.clone();
        let submission = self.state.store.read(&self.id, look).flatten().unwrap_or_default();
        let path = self.directory(&submission).journal();
        let read = spawn_blocking(move || read_lines::<Entry>(&path, submission.read)).await;
        let (entries, end) = match read.map_err(io::Error::other)? {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            read => read?,
        };
        if end == submission.read {
            return Ok(false);
        }
        let has_started = entries.iter().any(|entry| matches!(entry, Entry::Started { .. }));
        for entry in &entries {
            if let Entry::Usage(minutes) = entry
                && let Err(error) = self.state.work.metrics.set_rows(minutes)
            {
                tracing::warn!(job = self.id, %error, "the usage cannot be stored");
            }
        }
        self.state.store.update(&self.id, |job| {
            entries.into_iter().for_each(|entry| entry.apply(job));
            if let Some(submission) = &mut job.submission {
                submission.read = end;
            }
        });
        Ok(has_started)
    }

    async fn submit(&mut self) -> Option<Duration> {
        let submitted = self.system.submit(&self.state, &self.id).await;
        // A later look at the queue shows whether Slurm has the job.
        self.known_since = Instant::now();
        match submitted {
            Ok(id) => {
                self.update(|submission| submission.slurm_id = Some(id));
                Some(LOOK_PERIOD)
            }
            Err(CommandError::Later(error)) => {
                self.wait_for(&format!("Slurm does not accept the job yet: {error}"));
                Some(QUEUE_PERIOD)
            }
            Err(CommandError::Rejected(error)) => {
                let ending = Ending::Unprepared(format!("Slurm rejected the job: {error}"));
                self.end(&Submission::default(), ending).await
            }
        }
    }

    /// Ends a job that has left the queue without an end, or submits it again.
    async fn lost(
        &mut self,
        submission: Submission,
        cause: Option<Cause>,
        job_state: JobState,
        output: &str,
    ) -> Option<Duration> {
        self.forget(&submission);
        if job_state.is_final() {
            self.state.store.update(&self.id, |job| job.lifecycle.settled = true);
            return None;
        }
        if let Some((stop, _)) = self.ordered {
            return self.end(&submission, stop.into()).await;
        }
        let ending = match cause {
            Some(cause) => self.ending(cause, job_state, output).await,
            None if submission.run == BatchRun::Open => {
                self.ending(Cause::NodeFault, job_state, output).await
            }
            None => Ending::Unprepared(format!(
                "Slurm does not know the job {} any more, and it has not started",
                submission.slurm_id.as_deref().unwrap_or_default()
            )),
        };
        // A further run would have the same limits.
        let is_limit = matches!(cause, Some(Cause::TimeLimit | Cause::Memory));
        if is_limit || !self.driver.requeue(&ending).await {
            return self.end(&submission, ending).await;
        }
        self.state.store.update(&self.id, |job| job.submission = Some(submission.next()));
        Some(Duration::ZERO)
    }

    /// Returns how a run ended whose end is not in the journal, and writes this to its log.
    async fn ending(&self, cause: Cause, job_state: JobState, output: &str) -> Ending {
        let task = self.driver.workers[0].task();
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let is_queued = job_state == JobState::Queuing;
        let (text, ending) = match cause {
            Cause::Preempted => ("the job was preempted", Ending::Preempted),
            Cause::Cancelled => ("the job was cancelled in Slurm", StopReason::ByUser.into()),
            Cause::Exited if is_queued => {
                return Ending::Unprepared(match last {
                    "" => "Slurm ended the job, and its batch script wrote nothing: the shared \
                           directory must be at the same path on the nodes"
                        .to_owned(),
                    last => format!("Slurm ended the job before its code started: {last}"),
                });
            }
            Cause::NodeFault => ("a node of the job failed", Ending::NodeFault(task)),
            Cause::Exited => ("the program of the job ended", Ending::NodeFault(task)),
            Cause::TimeLimit => ("the job reached its time limit in Slurm", exited(task, 143)),
            Cause::Memory => ("the job exceeded its memory in Slurm", exited(task, 137)),
        };
        if !is_queued {
            let (system, worker) = (Arc::clone(&self.system), self.driver.workers[0].clone());
            let line = format!("{text}: {last}");
            // The state of the job reports the loss as well.
            let _ = spawn_blocking(move || system.files().log(&worker, &line)).await;
            self.driver.note(self.event(format!("Slurm: {text}")));
        }
        ending
    }

    async fn end(&mut self, submission: &Submission, ending: Ending) -> Option<Duration> {
        self.forget(submission);
        let may_be_stopped = |job: &Job| job.state.may_be_terminated();
        if let Ending::Stopped(why, _) = ending
            && self.state.store.read(&self.id, may_be_stopped) == Some(true)
        {
            self.driver.begin_stop(why);
        }
        // Without an emulator at the time, the job has ended earlier.
        let at = self.access(submission, |directory| directory.last_change()).await;
        let at = at.filter(|_| submission.run == BatchRun::Open);
        if let Some(at) = at {
            let end = record_end(&ending, at.whole_second());
            self.state.store.update(&self.id, |job| job.end_record(end));
        }
        self.driver.settle(ending).await;
        self.state.store.update(&self.id, |job| {
            job.history.ended = job.history.ended.map(|ended| at.map_or(ended, |at| at.min(ended)));
        });
        None
    }

    fn forget(&self, submission: &Submission) {
        if let Some(id) = &submission.slurm_id {
            self.system.own.lock().remove(id);
        }
    }

    /// Cancels the job. If this fails, a later look tries again.
    async fn cancel(&self, submission: &Submission, queued: Option<&QueuedJob>) {
        let id = queued.map(|job| &job.id).or(submission.slurm_id.as_ref());
        if let Some(id) = id {
            let _permit = self.system.commands.acquire().await;
            if let Err(error) = commands::cancel(&[id]).await {
                tracing::warn!(job = self.id, %error, "the job is not cancelled in Slurm");
            }
        }
    }

    /// Cancels a job whose program does not follow the order to stop.
    async fn cancel_if_overdue(&self, submission: &Submission) {
        if let Some((stop, at)) = self.ordered {
            let timing = &self.state.settings.timing;
            let limit = match stop {
                StopReason::Reset => Duration::ZERO,
                // The code, its outputs and its logs have a grace period each.
                _ => timing.grace * 3 + timing.before_upload + timing.finishing + timing.billing,
            };
            if at.elapsed() > limit + END_TIMEOUT {
                self.cancel(submission, None).await;
            }
        }
    }

    async fn stop_trials(&mut self) {
        let stopped = |job: &Job| {
            let stopped = job.trials.iter().filter(|trial| trial.stop);
            stopped.map(|trial| trial.id.clone()).collect::<Vec<_>>()
        };
        for trial in self.state.store.read(&self.id, stopped).unwrap_or_default() {
            if self.stopped_trials.insert(trial.clone()) {
                self.send(Order::StopTrial(trial)).await;
            }
        }
    }

    /// Records the reason for which the job waits, if it has changed.
    fn wait_for(&self, reason: &str) {
        let event = self.event(format!("FailedScheduling: {reason}"));
        let now = self.driver.now();
        self.state.store.update(&self.id, |job| {
            if let (JobState::Queuing, Some(submission)) = (job.state, &mut job.submission)
                && submission.reason != reason
            {
                reason.clone_into(&mut submission.reason);
                job.note(event, now);
            }
        });
    }

    fn event(&self, text: String) -> EventKind {
        let message = format!("[Pod: {}] {text}", self.driver.workers[0].pod());
        EventKind::Given { message, level: Level::Warning, source: Source::K8S }
    }

    async fn apply_priority(&mut self, slurm_id: &str) {
        let look = |job: &Job| (job.settings.priority, Arc::clone(&job.request));
        let Some((priority, request)) = self.state.store.read(&self.id, look) else { return };
        if self.applied_priority.replace(priority) == Some(priority) {
            return;
        }
        let changes = self.system.config.changes(&request, priority);
        // Without such options, the order of the job does not depend on its priority.
        let applied = match changes.is_empty() {
            true => Ok(()),
            false => commands::update(slurm_id, &changes).await,
        };
        if let Err(error) = applied {
            tracing::warn!(slurm_id, %error, "the priority does not change");
        }
    }
}

fn exited(task: String, exit_code: i32) -> Ending {
    Ending::Exited(Some(TaskFailure { task, exit_code }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(
        run: BatchRun,
        state: JobState,
        queued: Option<&str>,
        message: Option<Cause>,
    ) -> Standing {
        let slurm_id = Some("7".to_owned());
        let submission = Submission { slurm_id, run, ..Submission::default() };
        let queued = queued.map(|state| QueuedJob::in_state("7", state));
        Standing::of(&submission, state, queued.as_ref(), message)
    }

    #[test]
    fn the_queue_and_the_journal_decide_what_happens() {
        use BatchRun::{Ended, None as NoRun, Open};
        use Cause::{Cancelled, Exited, NodeFault, Preempted, TimeLimit};
        use JobState::{Queuing, Running};
        use Standing::{Complete, Lost, Requeued, Waiting};
        for (run, state, queued, message, expected) in [
            (NoRun, Queuing, Some("PENDING"), None, Waiting),
            (NoRun, Queuing, Some("CONFIGURING"), None, Waiting),
            (NoRun, Queuing, Some("RUNNING"), None, Standing::Running),
            (Open, Running, Some("COMPLETING"), None, Standing::Running),
            (Open, Running, Some("SUSPENDED"), None, Standing::Running),
            (Ended, JobState::Completed, Some("RUNNING"), None, Complete),
            (Ended, JobState::Failed, None, None, Complete),
            (Open, Running, Some("PENDING"), Some(Preempted), Requeued(Preempted)),
            // A node that failed has written nothing.
            (Open, Running, Some("REQUEUED"), None, Requeued(NodeFault)),
            // The emulator has recorded it.
            (Open, Queuing, Some("PENDING"), Some(Preempted), Waiting),
            (Open, Running, Some("TIMEOUT"), None, Lost(Some(TimeLimit))),
            (Open, Running, Some("CANCELLED"), Some(Cancelled), Lost(Some(Cancelled))),
            (Open, Running, Some("FAILED"), Some(NodeFault), Lost(Some(NodeFault))),
            (Open, Running, Some("FAILED"), None, Lost(Some(Exited))),
            // The controller has forgotten the job.
            (Open, Running, None, Some(TimeLimit), Lost(Some(TimeLimit))),
            (NoRun, Queuing, None, None, Lost(None)),
        ] {
            let actual = standing(run, state, queued, message);
            assert_eq!(actual, expected, "{run:?} {state:?} {queued:?} {message:?}");
        }
        let unknown = Standing::of(&Submission::default(), Queuing, None, None);
        assert_eq!(unknown, Standing::Absent);
    }
}
