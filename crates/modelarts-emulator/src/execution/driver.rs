//! The driver of one job: the handle that all steps of its execution share.

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

/// The end of the grace for copies after the end of the code; set by the first of them that a
/// request to stop meets.
pub(super) type GraceEnd = OnceLock<Shared<Sleep>>;

/// How a run of a job ended, before an event says so.
#[derive(Debug)]
pub(super) enum Ending {
    /// All workers ended; the first that did not end with 0, if there is one.
    Exited(Option<TaskFailure>),
    /// The job was ended by a request. With the worker and its exit code, if it ran.
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

/// One job on its way.
pub(super) struct Driver {
    pub(crate) state: Arc<EmulatorState>,
    pub(crate) id: String,
    pub(crate) request: Arc<JobRequest>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) stop: watch::Receiver<Option<StopReason>>,
    pub(crate) slot: Option<QueueSlot>,
    /// True once `time_limit` has been set.
    pub(super) limit_is_set: bool,
    /// Ready when the job has run as long as it may.
    pub(super) time_limit: Mutex<Sleep>,
    /// Of the outputs.
    pub(super) upload_end: GraceEnd,
    /// Of the logs.
    pub(super) export_end: GraceEnd,
}

impl Driver {
    /// The driver of a job.
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

    /// Moves on and says so, unless somebody has asked to stop.
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
            // Whoever was faster has left a reason; if not, somebody has taken the job away.
            _ => Err((*self.stop.borrow()).unwrap_or(StopReason::Deleted)),
        }
    }

    pub(crate) fn note(&self, kind: EventKind) {
        let now = self.now();
        self.state.store.update(&self.id, |job| job.note(kind, now));
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

    /// Waits, but not longer than until somebody asks to stop.
    pub(super) async fn pause(&self, duration: Duration) -> Result<(), StopReason> {
        let sleep = self.state.clock.sleep(duration);
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = stop_request(&mut requests) => Err(stop),
            () = sleep => Ok(()),
        }
    }

    /// How long processes that are asked to end may take: the grace, unless a reset comes.
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
        // The job is no more.
        Err(_) => StopReason::Deleted,
    }
}
