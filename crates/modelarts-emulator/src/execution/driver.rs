//! The driver of one job: the handle shared by all steps of its execution.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::future::Shared;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    clock::{system::Sleep, timestamp::Timestamp},
    job::{
        Job, TaskFailure,
        event::EventKind,
        request::JobRequest,
        state::{JobState, StopReason},
        worker::Worker,
    },
    scheduler::QueueSlot,
    state::EmulatorState,
};

/// End of the grace period for copies after the code has ended; set by the first copy that a
/// request to stop interrupts.
pub(super) type GraceEnd = OnceLock<Shared<Sleep>>;

/// The end of a run, before it is recorded as an event.
#[derive(Debug)]
pub(super) enum Ending {
    /// All workers ended; with the first failure, if there is one.
    Exited(Option<TaskFailure>),
    /// The job was stopped by a request. With the worker and its exit code, if it ran.
    Stopped(StopReason, Option<TaskFailure>),
    /// The job did not reach the queue, or the start of its code, in time.
    PrepareTimedOut,
    /// The code or the data of the job could not be downloaded.
    Unprepared(String),
    /// The pre-check of a node failed.
    PreCheckFailed(String),
    /// The node of this task died.
    NodeFault(String),
    /// The nodes were taken by another job.
    Preempted,
    /// A job that runs again waited too long for nodes, or its pool no longer exists.
    NoNodes,
}

impl From<StopReason> for Ending {
    fn from(stop: StopReason) -> Self {
        Self::Stopped(stop, None)
    }
}

/// The driver of a job.
pub(super) struct Driver {
    pub(crate) state: Arc<EmulatorState>,
    pub(crate) id: String,
    pub(crate) request: Arc<JobRequest>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) stop: watch::Receiver<Option<StopReason>>,
    pub(crate) slot: Option<QueueSlot>,
    /// True once `time_limit` has been set.
    pub(super) limit_is_set: bool,
    /// Completes when the job has reached its maximum running duration.
    pub(super) time_limit: Mutex<Sleep>,
    /// For the outputs.
    pub(super) upload_end: GraceEnd,
    /// For the logs.
    pub(super) export_end: GraceEnd,
}

impl Driver {
    /// Creates the driver of a job.
    pub(super) fn new(state: &Arc<EmulatorState>, job: &Job, slot: Option<QueueSlot>) -> Self {
        Self {
            state: Arc::clone(state),
            id: job.id.clone(),
            workers: Worker::all(&job.id, &job.request).collect(),
            request: Arc::clone(&job.request),
            stop: job.stop_requests(),
            slot,
            limit_is_set: false,
            time_limit: Mutex::new(Box::pin(std::future::pending())),
            upload_end: GraceEnd::new(),
            export_end: GraceEnd::new(),
        }
    }

    /// Moves the job to `state` and records the event, unless a stop was requested.
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
            // A request to stop has set the reason; if there is none, the job has been deleted.
            _ => Err((*self.stop.borrow()).unwrap_or(StopReason::Deleted)),
        }
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

    /// Waits for `duration`, or until a stop is requested.
    pub(super) async fn pause(&self, duration: Duration) -> Result<(), StopReason> {
        let sleep = self.state.clock.sleep(duration);
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = stop_request(&mut requests) => Err(stop),
            () = sleep => Ok(()),
        }
    }

    /// The grace period of processes that are being ended. A reset shortens it.
    pub(super) fn grace_period(&self) -> Sleep {
        let grace = self.state.clock.sleep(self.state.timing.grace);
        let mut requests = self.stop.clone();
        Box::pin(async move {
            tokio::select! {
                _ = requests.wait_for(|stop| *stop == Some(StopReason::Reset)) => {}
                () = grace => {}
            }
        })
    }
}

pub(super) async fn stop_request(requests: &mut watch::Receiver<Option<StopReason>>) -> StopReason {
    match requests.wait_for(Option::is_some).await {
        Ok(stop) => stop.unwrap_or(StopReason::Deleted),
        // The job no longer exists.
        Err(_) => StopReason::Deleted,
    }
}
