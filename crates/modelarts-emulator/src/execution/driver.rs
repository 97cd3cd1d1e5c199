//! Driver of one job: the handle shared by all steps of its execution.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::future::Shared;
use tokio::sync::watch;

use crate::{
    clock::{Sleep, timestamp::Timestamp},
    job::{
        Job, TaskFailure,
        event::EventKind,
        request::JobRequest,
        state::{JobState, StopReason},
        worker::Worker,
    },
    runner::launcher::Loss,
    scheduler::QueueSlot,
    state::EmulatorState,
};

/// Time limit of a run, or grace period of copies, that starts at its first use.
pub(super) type SharedLimit = OnceLock<Shared<Sleep>>;

/// Cause of the end of a run, before it is recorded as an event.
#[derive(Debug)]
pub(crate) enum Ending {
    /// All workers ended. Contains the first failure, if any.
    Exited(Option<TaskFailure>),
    /// The job was stopped. Contains the reason, and the first failure of a worker, if any.
    Stopped(StopReason, Option<TaskFailure>),
    /// The job did not reach the queue, or the start of its code, within the time limit.
    PrepareTimedOut,
    Unprepared(String),
    PreCheckFailed(String),
    /// The node of this task failed.
    NodeFault(String),
    /// The pod of this task was evicted from its node.
    Evicted(String),
    Preempted,
    /// A restarted job exceeded its time limit for waiting for nodes, or its pool no longer exists.
    NoNodes,
}

impl Ending {
    /// Returns the cause of the end of a run whose nodes were lost. `task` ran on a lost node.
    pub(super) fn of_loss(loss: Loss, task: String) -> Self {
        match loss {
            Loss::NodeFault => Self::NodeFault(task),
            Loss::Evicted => Self::Evicted(task),
        }
    }

    /// Sets the failure of `Exited` or `Stopped`, and returns other causes unchanged.
    pub(super) fn with_failure(self, failure: Option<TaskFailure>) -> Self {
        match self {
            Self::Exited(_) => Self::Exited(failure),
            Self::Stopped(why, _) => Self::Stopped(why, failure),
            ending => ending,
        }
    }
}

impl From<StopReason> for Ending {
    fn from(stop: StopReason) -> Self {
        Self::Stopped(stop, None)
    }
}

pub(crate) struct Driver {
    pub(crate) state: Arc<EmulatorState>,
    pub(crate) id: String,
    pub(crate) request: Arc<JobRequest>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) stop: watch::Receiver<Option<StopReason>>,
    pub(crate) slot: Option<QueueSlot>,
    /// Limit of the running duration, which starts when the job enters Running for the first time.
    pub(super) time_limit: SharedLimit,
    /// Grace period for uploads of outputs after a stop request.
    pub(super) upload_end: SharedLimit,
    /// Grace period for exports of logs after a stop request.
    pub(super) export_end: SharedLimit,
}

impl Driver {
    pub(crate) fn new(state: &Arc<EmulatorState>, job: &Job, slot: Option<QueueSlot>) -> Self {
        let workers = Worker::all(&job.id, &job.request).map(|worker| Worker {
            run: job.history.records.len(),
            user_id: job.owner.user_id.clone(),
            ..worker
        });
        Self {
            state: Arc::clone(state),
            id: job.id.clone(),
            workers: workers.collect(),
            request: Arc::clone(&job.request),
            stop: job.stop_requests(),
            slot,
            time_limit: SharedLimit::new(),
            upload_end: SharedLimit::new(),
            export_end: SharedLimit::new(),
        }
    }

    /// Moves the job to `state` and records the event, unless a stop has been requested.
    pub(super) fn advance(&self, state: JobState, kind: EventKind) -> Result<(), StopReason> {
        let now = self.now();
        let advanced = self.state.store.update(&self.id, |job| {
            let advanced = job.advance(state, now);
            if advanced {
                job.note(kind, now);
            }
            advanced
        });
        match advanced {
            Some(true) => Ok(()),
            // A stop request has set the reason. If no reason is set, the job has been deleted.
            _ => Err((*self.stop.borrow()).unwrap_or(StopReason::Deleted)),
        }
    }

    pub(super) fn release_nodes(&mut self) {
        self.slot = None;
    }

    pub(crate) fn note(&self, kind: EventKind) {
        self.state.store.append_event(&self.id, kind, self.now());
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now(self.state.clock.as_ref())
    }

    pub(crate) fn check_not_stopped(&self) -> Result<(), StopReason> {
        match *self.stop.borrow() {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    /// Waits for `duration`. Returns an error as soon as a stop is requested.
    pub(super) async fn pause(&self, duration: Duration) -> Result<(), StopReason> {
        let sleep = self.state.clock.sleep(duration);
        tokio::select! {
            biased;
            stop = self.stop_request() => Err(stop),
            () = sleep => Ok(()),
        }
    }

    pub(super) fn stop_request(&self) -> impl Future<Output = StopReason> + Send + use<> {
        self.stop_request_that(|_| true)
    }

    /// Completes at the first stop request that satisfies `fits`, or when the job no longer exists.
    pub(super) fn stop_request_that(
        &self,
        fits: fn(StopReason) -> bool,
    ) -> impl Future<Output = StopReason> + Send + use<> {
        let mut requests = self.stop.clone();
        async move {
            match requests.wait_for(|stop| stop.is_some_and(fits)).await {
                Ok(stop) => stop.unwrap_or(StopReason::Deleted),
                Err(_) => StopReason::Deleted,
            }
        }
    }

    /// Completes when the code must end: by a stop request, its maximum duration, or preemption.
    pub(super) async fn interruption(&self) -> Ending {
        let time_limit = async {
            match self.time_limit.get() {
                Some(limit) => limit.clone().await,
                None => std::future::pending().await,
            }
        };
        let preemption = async {
            match &self.slot {
                Some(slot) => slot.preemption().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            why = self.stop_request() => why.into(),
            () = time_limit => {
                StopReason::AfterHours(self.request.auto_stop_hours.unwrap_or_default()).into()
            }
            () = preemption => Ending::Preempted,
        }
    }

    /// Returns the grace period of processes and copies that must end, which a reset ends early.
    pub(super) fn grace_period(&self) -> Sleep {
        let grace = self.state.clock.sleep(self.state.settings.timing.grace);
        let reset = self.stop_request_that(|stop| stop == StopReason::Reset);
        Box::pin(async move {
            tokio::select! {
                _ = reset => {}
                () = grace => {}
            }
        })
    }
}
