//! Takes one job from Creating to its end: waits, runs, writes events, moves the state.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    catalog::quirks::{AutoStopped, Preempted},
    clock::{system::Sleep, timestamp::Timestamp},
    execution::copies::GraceEnd,
    job::{
        Job, RecordEnd, TaskFailure,
        event::EventKind,
        request::JobRequest,
        state::{JobState, RestartOn, StopReason},
        worker::Worker,
    },
    scheduler::{NodeRequest, QueueSlot},
    state::EmulatorState,
};

/// How a run of a job ended, before an event says so.
#[derive(Debug)]
pub(crate) enum Ending {
    /// All workers ended; the first that did not end with 0, if there is one.
    Exited(Option<TaskFailure>),
    /// Somebody ended it. The worker and its exit code, if it ran.
    Stopped(StopReason, Option<TaskFailure>),
    /// It has not come as far as the queue, or to the start of its code, in time.
    PrepareTimedOut,
    /// Its code or its data could not be brought in.
    Unprepared(String),
    /// A node is not fit for it.
    PreCheckFailed(String),
    /// The node of this task died.
    NodeFault(String),
    /// Another job took its nodes.
    Preempted,
    /// It waited too long for nodes to run again, or its pool has gone.
    NoNodes,
}

impl From<StopReason> for Ending {
    fn from(stop: StopReason) -> Self {
        Self::Stopped(stop, None)
    }
}

/// How often a job may run again after a failure.
#[derive(Clone, Copy, Debug)]
struct Restarts {
    left: u32,
    /// Not only when a node dies, also when the code fails.
    on_exit: bool,
}

impl Restarts {
    /// "Consecutive" is documented for unconditional restarts; on one machine all are.
    const UNCONDITIONAL: u32 = 3;

    /// What is left of what the request allows, after `used` of them.
    fn of(request: &JobRequest, on: RestartOn, used: u32) -> Self {
        let retry = request.retry;
        let allowed = match (retry.unconditional, retry.times) {
            (true, 0) => Self::UNCONDITIONAL,
            (true, times) => times.min(Self::UNCONDITIONAL),
            (false, times) => times,
        };
        let on_exit = retry.unconditional || on == RestartOn::AnyFailure;
        Self {
            left: allowed.saturating_sub(used),
            on_exit,
        }
    }
}

/// How a job comes to its nodes and to the start of its code.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// From Creating on: nothing of it can lie in its directories. If not, it is in the queue.
    new: bool,
    /// It has run before: it goes before others, and does not wait for ever.
    again: bool,
}

/// What a job asks of its pool.
pub(crate) fn asked(job: &Job, again: bool) -> NodeRequest {
    NodeRequest {
        job: job.id.clone(),
        pool: job.request.pool_id.clone().unwrap_or_default(),
        nodes: job.request.node_count,
        priority: job.priority,
        preemptible: job.preemptible,
        again,
    }
}

/// Drives the job until nothing will happen to it any more. `place` is its place in the queue.
pub(crate) async fn drive(core: Arc<EmulatorState>, id: String, place: QueueSlot) {
    let Some(mut driver) = Driver::at(&core, &id, Some(place)) else {
        return;
    };
    // An earlier process may have left it in the queue, before its first run or after it.
    let look = |job: &Job| (job.state, job.started.is_some(), job.restarts);
    let Some((state, ran, used)) = core.store.read(&id, look) else {
        return;
    };
    let mut restarts = Restarts::of(&driver.request, core.restart_on, used);
    let mut round = Round {
        new: state == JobState::Creating,
        again: ran,
    };
    let ending = loop {
        let ending = match driver.live(round).await {
            Ok(ending) => ending,
            Err(stop) => stop.into(),
        };
        round = Round {
            new: false,
            again: true,
        };
        if !driver.again(&ending, &mut restarts).await {
            break ending;
        }
    };
    driver.finish(ending).await;
    core.store.update(&id, |job| job.settled = true);
}

/// Lets a job that was put there stand as it is until somebody ends it.
pub(crate) async fn stand(core: Arc<EmulatorState>, id: String) {
    let Some(mut driver) = Driver::at(&core, &id, None) else {
        return;
    };
    let why = asked_to_stop(&mut driver.stop.clone()).await;
    driver.finish(Ending::Stopped(why, None)).await;
    core.store.update(&id, |job| job.settled = true);
}

/// One job on its way.
pub(crate) struct Driver {
    pub(crate) core: Arc<EmulatorState>,
    pub(crate) id: String,
    pub(crate) request: Arc<JobRequest>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) stop: watch::Receiver<Option<StopReason>>,
    pub(crate) place: Option<QueueSlot>,
    /// Whether the limit below has been set.
    timed: bool,
    /// Ready when the job has run as long as it may.
    pub(crate) out_of_time: Mutex<Sleep>,
    /// Of the outputs.
    pub(crate) upload_end: GraceEnd,
    /// Of the logs.
    pub(crate) export_end: GraceEnd,
}

impl Driver {
    /// Nothing if there is no such job.
    fn at(core: &Arc<EmulatorState>, id: &str, place: Option<QueueSlot>) -> Option<Self> {
        let look = |job: &Job| (Arc::clone(&job.request), job.stop_requests());
        let (request, stop) = core.store.read(id, look)?;
        Some(Self {
            core: Arc::clone(core),
            id: id.to_owned(),
            workers: Worker::all(id, &request).collect(),
            request,
            stop,
            place,
            timed: false,
            out_of_time: Mutex::new(Box::pin(std::future::pending())),
            upload_end: GraceEnd::new(),
            export_end: GraceEnd::new(),
        })
    }

    /// From Creating, or from the queue, to the end of the code. An error is a request to stop
    /// that came before the code was started.
    async fn live(&mut self, round: Round) -> Result<Ending, StopReason> {
        let timing = self.core.timing.clone();
        let before = self.core.store.read(&self.id, |job| job.records.len());
        for worker in &mut self.workers {
            worker.run = before.unwrap_or_default();
        }
        if round.new {
            self.pause(timing.creating).await?;
            let runner = &self.core.runner;
            if !self.workers.iter().all(|worker| runner.is_prepared(worker)) {
                return Ok(Ending::PrepareTimedOut);
            }
            self.advance(JobState::Queuing, EventKind::Queuing)?;
        }
        self.pause(timing.queuing).await?;
        if !self.nodes(round.again).await? {
            return Ok(Ending::NoNodes);
        }
        if let Err(ending) = self.prepare(round.new).await {
            return Ok(ending);
        }
        self.pause(timing.starting).await?;
        self.advance(JobState::Running, EventKind::Running)?;
        if !self.timed
            && let Some(limit) = self.request.auto_stop()
        {
            self.timed = true;
            // The limit counts from the first Running, also on a clock that leaps.
            let ran = if round.again {
                self.ran()
            } else {
                Duration::ZERO
            };
            *self.out_of_time.lock() = self.core.clock.sleep(limit.saturating_sub(ran));
        }
        self.pause(timing.first_step).await?;
        Ok(self.work().await)
    }

    /// How long ago the job ran first.
    fn ran(&self) -> Duration {
        let started = self.core.store.read(&self.id, |job| job.started).flatten();
        started.map_or(Duration::ZERO, |started| self.now().since(started))
    }

    /// Waits for the nodes. False if a job that runs again has waited too long, or there is no such
    /// pool any more.
    async fn nodes(&mut self, again: bool) -> Result<bool, StopReason> {
        let pool = self.request.pool_id.as_deref().unwrap_or_default();
        if !self.core.scheduler.has(pool) {
            tracing::warn!(
                job = self.id,
                pool,
                "its pool has gone since the last start"
            );
            return Ok(false);
        }
        if self.place.is_none() {
            let asked = self.core.store.read(&self.id, |job| asked(job, again));
            let asked = asked.ok_or(StopReason::Deleted)?;
            self.place = Some(self.core.scheduler.enqueue(asked));
        }
        let mut requests = self.stop.clone();
        let Some(place) = &mut self.place else {
            return Ok(true);
        };
        if place.holds() {
            return Ok(true);
        }
        let patience = if again {
            self.core.clock.sleep(self.core.timing.requeue)
        } else {
            Box::pin(std::future::pending())
        };
        tokio::select! {
            biased;
            stop = asked_to_stop(&mut requests) => Err(stop),
            () = place.granted() => Ok(true),
            () = patience => Ok(false),
        }
    }

    /// Whether the job goes back to the queue, and if so, puts it there.
    async fn again(&mut self, ending: &Ending, restarts: &mut Restarts) -> bool {
        let preempted = match ending {
            Ending::Exited(Some(_)) if restarts.left > 0 && restarts.on_exit => false,
            Ending::NodeFault(_) | Ending::PreCheckFailed(_) if restarts.left > 0 => false,
            Ending::Preempted if self.core.choices.preempted == Preempted::Pending => true,
            _ => return false,
        };
        // Nothing was made where nothing ran.
        if !matches!(ending, Ending::PreCheckFailed(_)) {
            if !preempted {
                self.settle(self.core.timing.before_upload).await;
            }
            if !self.upload().await {
                return false;
            }
        }
        let now = self.now();
        let back = self.core.store.update(&self.id, |job| {
            let queued = job.state == JobState::Queuing || job.advance(JobState::Queuing, now);
            if job.stop_reason().is_some() || !queued {
                return false;
            }
            if let Some(record) = job.records.last_mut()
                && record.end.is_none()
            {
                record.end = Some(RecordEnd {
                    recover: Some(match ending {
                        Ending::NodeFault(_) => "job_reschedule_with_taint".to_owned(),
                        _ => "job_reschedule".to_owned(),
                    }),
                    ..record_end(ending, now)
                });
            }
            job.note(
                if preempted {
                    EventKind::Preempted
                } else {
                    EventKind::Restarted
                },
                now,
            );
            job.note(EventKind::Queuing, now);
            job.schedule_count += 1;
            job.restarts += u32::from(!preempted);
            true
        });
        if back != Some(true) {
            return false;
        }
        if !preempted {
            restarts.left -= 1;
        }
        // Others may have the nodes meanwhile.
        self.place = None;
        true
    }

    /// From the end of the code to the last event.
    async fn finish(&mut self, ending: Ending) {
        let timing = self.core.timing.clone();
        if let Ending::Stopped(StopReason::Shutdown, _) = ending {
            return;
        }
        let ran = self.core.store.read(&self.id, |job| job.started.is_some()) == Some(true);
        if ran {
            self.settle(timing.before_upload).await;
            if !self.upload().await && *self.stop.borrow() == Some(StopReason::Shutdown) {
                // The next emulator runs it again, as if it had not ended.
                return;
            }
            self.clear_scratch().await;
        }
        let (mut state, kind) = match &ending {
            Ending::Exited(None) => (JobState::Completed, Some(EventKind::Completed)),
            Ending::Exited(Some(_)) | Ending::NodeFault(_) => {
                self.settle(timing.after_upload).await;
                self.terminate_job();
                (JobState::Failed, Some(EventKind::Failed))
            }
            Ending::Unprepared(cause) | Ending::PreCheckFailed(cause) => {
                let cause = cause.clone();
                (
                    JobState::CreateFailed,
                    Some(EventKind::CreateFailed { cause }),
                )
            }
            Ending::PrepareTimedOut => (JobState::CreateFailed, Some(EventKind::PrepareTimedOut)),
            Ending::NoNodes => (JobState::Failed, Some(EventKind::QueueFailed)),
            // If it was asked to stop at the same moment, that is seen below.
            Ending::Preempted => (JobState::Failed, Some(EventKind::Preempted)),
            Ending::Stopped(why @ StopReason::AfterHours(_), _) => {
                let state = match self.core.choices.auto_stopped {
                    AutoStopped::Terminated => JobState::Terminated,
                    AutoStopped::Failed => JobState::Failed,
                };
                (state, stop_event(*why))
            }
            Ending::Stopped(why, _) => (JobState::Terminated, stop_event(*why)),
        };
        if state != JobState::CreateFailed {
            self.settle(timing.finishing).await;
        }
        self.place = None;
        let now = self.now();
        self.core.store.update(&self.id, |job| {
            let mut kind = kind;
            // Terminated by somebody while the outputs were on their way.
            if job.state == JobState::Terminating {
                state = JobState::Terminated;
                kind = job.stop_reason().and_then(stop_event);
            }
            if let Some(record) = job.records.last_mut()
                && record.end.is_none()
            {
                record.end = Some(record_end(&ending, now));
            }
            if let (JobState::Failed, Ending::Exited(failure)) = (state, &ending) {
                job.failure.clone_from(failure);
            }
            if let Some(kind) = kind {
                job.note(kind, now);
            }
            job.advance(state, now);
        });
        if ran {
            self.settle(timing.billing).await;
            if !self.hurried() {
                self.note(EventKind::Billed);
            }
        }
    }

    pub(crate) fn terminate_job(&self) {
        let job = format!("modelarts-job-{}", self.id);
        self.note(EventKind::TerminateJob { job });
    }

    /// Moves on and says so, unless somebody has asked to stop.
    fn advance(&self, state: JobState, kind: EventKind) -> Result<(), StopReason> {
        let now = self.now();
        let advanced = self.core.store.update(&self.id, |job| {
            let advanced = job.advance(state, now);
            if advanced {
                job.note(kind, now);
            }
            advanced
        });
        match advanced {
            Some(true) => Ok(()),
            // Whoever was faster has left a reason; if not, somebody has taken the job away.
            _ => Err((*self.stop.borrow()).unwrap_or(StopReason::Deleted)),
        }
    }

    pub(crate) fn note(&self, kind: EventKind) {
        let now = self.now();
        self.core.store.update(&self.id, |job| job.note(kind, now));
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now(self.core.clock.as_ref())
    }

    pub(crate) fn stopped(&self) -> Result<(), StopReason> {
        match *self.stop.borrow() {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    fn hurried(&self) -> bool {
        self.stop.borrow().is_some_and(StopReason::is_urgent)
    }

    /// Waits, but not longer than until somebody asks to stop.
    pub(crate) async fn pause(&self, duration: Duration) -> Result<(), StopReason> {
        let sleep = self.core.clock.sleep(duration);
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = asked_to_stop(&mut requests) => Err(stop),
            () = sleep => Ok(()),
        }
    }

    /// How long processes that are asked to end may take: the grace, unless a reset comes.
    pub(crate) fn patience(&self) -> Sleep {
        let grace = self.core.clock.sleep(self.core.timing.grace);
        let mut requests = self.stop.clone();
        Box::pin(async move {
            tokio::select! {
                _ = requests.wait_for(|stop| *stop == Some(StopReason::Reset)) => {}
                () = grace => {}
            }
        })
    }

    /// Waits after the end of the code: only a deletion or the end of the emulator cuts it short.
    async fn settle(&self, duration: Duration) {
        let sleep = self.core.clock.sleep(duration);
        let mut requests = self.stop.clone();
        let hurry = requests.wait_for(|stop| stop.is_some_and(StopReason::is_urgent));
        tokio::select! {
            _ = hurry => {}
            () = sleep => {}
        }
    }
}

pub(crate) async fn asked_to_stop(
    requests: &mut watch::Receiver<Option<StopReason>>,
) -> StopReason {
    match requests.wait_for(Option::is_some).await {
        Ok(stop) => stop.unwrap_or(StopReason::Deleted),
        // The job is no more.
        Err(_) => StopReason::Deleted,
    }
}

fn stop_event(why: StopReason) -> Option<EventKind> {
    match why {
        StopReason::ByUser => Some(EventKind::StoppedByUser),
        StopReason::AfterHours(hours) => Some(EventKind::AutoStopped { hours }),
        // Its event is written when the deletion is asked for.
        StopReason::Deleted | StopReason::Shutdown | StopReason::Reset => None,
    }
}

fn record_end(ending: &Ending, at: Timestamp) -> RecordEnd {
    let (reason, task) = match ending {
        Ending::Exited(Some(failure)) | Ending::Stopped(_, Some(failure)) => (
            format!("exit with {}", failure.exit_code),
            Some(failure.task.clone()),
        ),
        Ending::Exited(None) => ("job completed".to_owned(), None),
        Ending::NodeFault(task) => ("node fault".to_owned(), Some(task.clone())),
        Ending::Preempted => ("preempted".to_owned(), None),
        Ending::Stopped(_, None)
        | Ending::PrepareTimedOut
        | Ending::Unprepared(_)
        | Ending::PreCheckFailed(_)
        | Ending::NoNodes => ("terminated".to_owned(), None),
    };
    RecordEnd {
        at,
        reason,
        task,
        recover: None,
    }
}

/// Takes a deleted job away once nothing will happen to it any more.
pub(crate) async fn remove(core: Arc<EmulatorState>, id: String) {
    core.store
        .wait(&id, |job| job.is_none_or(|job| job.settled).then_some(()))
        .await;
    let mut closing = core.closing.subscribe();
    tokio::select! {
        () = core.clock.sleep(core.timing.deleting) => {}
        // Its directory stays where it is.
        _ = closing.wait_for(|closing| *closing) => return,
    }
    forget(&core, &id).await;
}

/// Takes away all that there is of a job to which nothing will happen any more.
pub(crate) async fn forget(core: &EmulatorState, id: &str) {
    core.runner.remove(id.to_owned()).await;
    let tasks: Vec<String> = core
        .store
        .read(id, |job| job.tasks().collect())
        .unwrap_or_default();
    for task in tasks {
        core.metrics.remove(&format!("modelarts-job-{id}-{task}"));
    }
    core.store.remove(id);
}
