//! The end of a job: last copies, last events, and the removal of a deleted job.

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::quirks::AutoStopPhase,
    clock::timestamp::Timestamp,
    execution::driver::{Driver, Ending},
    job::{
        RecordEnd,
        event::EventKind,
        state::{JobState, StopReason},
    },
    state::EmulatorState,
};

impl Driver {
    pub(super) async fn finish(&mut self, ending: Ending) {
        let timing = self.state.settings.timing.clone();
        if let Ending::Stopped(why, _) = ending
            && why.is_end_of_emulator()
        {
            return;
        }
        let ran =
            self.state.store.read(&self.id, |job| job.history.started.is_some()) == Some(true);
        if ran {
            self.wait_unless_hurried(timing.before_upload).await;
            let uploaded = self.upload().await;
            if !uploaded && self.stop.borrow().is_some_and(StopReason::is_end_of_emulator) {
                // The next emulator process runs the job again, as if it had not ended.
                return;
            }
            self.clear_scratch().await;
        }
        self.clear_inputs().await;
        let (mut state, kind) = match &ending {
            Ending::Exited(None) => (JobState::Completed, Some(EventKind::Completed)),
            Ending::Exited(Some(_)) | Ending::NodeFault(_) | Ending::Evicted(_) => {
                self.wait_unless_hurried(timing.after_upload).await;
                self.note_termination();
                (JobState::Failed, Some(EventKind::Failed))
            }
            Ending::Unprepared(cause) | Ending::PreCheckFailed(cause) => {
                let cause = cause.clone();
                let kind = EventKind::CreateFailed { cause };
                (JobState::CreateFailed, Some(kind))
            }
            Ending::PrepareTimedOut => (JobState::CreateFailed, Some(EventKind::PrepareTimedOut)),
            Ending::NoNodes => (JobState::Failed, Some(EventKind::QueueFailed)),
            // A simultaneous stop request is handled below.
            Ending::Preempted => (JobState::Failed, Some(EventKind::Preempted)),
            Ending::Stopped(why, _) => (self.stopped_state(*why), stop_event(*why)),
        };
        if state != JobState::CreateFailed {
            self.wait_unless_hurried(timing.finishing).await;
        }
        self.release_nodes();
        let now = self.now();
        self.state.store.update(&self.id, |job| {
            let mut kind = kind;
            // A request has terminated the job while its outputs were being uploaded.
            if job.state == JobState::Terminating {
                state = JobState::Terminated;
                kind = job.stop_reason().and_then(stop_event);
            }
            job.end_record(record_end(&ending, now));
            if let (JobState::Failed, Ending::Exited(failure)) = (state, &ending) {
                job.history.failure.clone_from(failure);
            }
            if let Some(kind) = kind {
                job.note(kind, now);
            }
            job.advance(state, now);
        });
        if ran {
            self.wait_unless_hurried(timing.billing).await;
            if !self.is_hurried() {
                self.note(EventKind::Billed);
            }
        }
    }

    pub(super) fn stopped_state(&self, why: StopReason) -> JobState {
        match (why, self.state.settings.quirks.auto_stopped) {
            (StopReason::AfterHours(_), AutoStopPhase::Failed) => JobState::Failed,
            _ => JobState::Terminated,
        }
    }

    pub(super) fn note_termination(&self) {
        let job = format!("modelarts-job-{}", self.id);
        self.note(EventKind::TerminateJob { job });
    }

    /// Waits for `duration`, or until a deletion, a reset or the end of the emulator is requested.
    pub(super) async fn wait_unless_hurried(&self, duration: Duration) {
        let sleep = self.state.clock.sleep(duration);
        tokio::select! {
            _ = self.stop_request_that(StopReason::is_urgent) => {}
            () = sleep => {}
        }
    }

    fn is_hurried(&self) -> bool {
        self.stop.borrow().is_some_and(StopReason::is_urgent)
    }

    /// Empties the scratch directories when the job ends. A restart in place keeps them.
    pub(crate) async fn clear_scratch(&self) {
        for worker in &self.workers {
            if let Err(error) = self.state.work.runner.clear_scratch(worker.clone()).await {
                tracing::warn!(job = self.id, %error, "a scratch directory cannot be emptied");
            }
        }
    }

    /// Frees the copies of the inputs when the job ends.
    async fn clear_inputs(&self) {
        for worker in &self.workers {
            if let Err(error) = self.state.work.runner.clear_inputs(worker.clone()).await {
                tracing::warn!(job = self.id, %error, "the copy of an input cannot be removed");
            }
        }
    }
}

fn stop_event(why: StopReason) -> Option<EventKind> {
    match why {
        StopReason::ByUser => Some(EventKind::StoppedByUser),
        StopReason::AfterHours(hours) => Some(EventKind::AutoStopped { hours }),
        // The event of a deletion has already been recorded at its request.
        StopReason::Deleted | StopReason::Shutdown | StopReason::Suspend | StopReason::Reset => {
            None
        }
    }
}

pub(crate) fn record_end(ending: &Ending, at: Timestamp) -> RecordEnd {
    let (reason, task) = match ending {
        Ending::Exited(Some(failure)) | Ending::Stopped(_, Some(failure)) => {
            let reason = format!("exit with {}", failure.exit_code);
            (reason, Some(failure.task.clone()))
        }
        Ending::Exited(None) => ("job completed".to_owned(), None),
        Ending::NodeFault(task) => ("node fault".to_owned(), Some(task.clone())),
        Ending::Evicted(task) => ("evicted".to_owned(), Some(task.clone())),
        Ending::Preempted => ("preempted".to_owned(), None),
        // The job was stopped without a failure of its code, or failed before the code ran.
        _ => ("terminated".to_owned(), None),
    };
    RecordEnd { at, reason, task, recover: None }
}

/// Removes a deleted job once it is settled.
pub(crate) async fn remove_deleted(state: Arc<EmulatorState>, id: String) {
    state.store.wait(&id, |job| job.is_none_or(|job| job.lifecycle.settled).then_some(())).await;
    let mut closing = state.work.closing.subscribe();
    tokio::select! {
        () = state.clock.sleep(state.settings.timing.deleting) => {}
        // If the emulator ends first, the next emulator removes the job.
        _ = closing.wait_for(|closing| *closing) => return,
    }
    purge(&state, &id).await;
}

pub(crate) async fn purge(state: &EmulatorState, id: &str) {
    state.work.runner.remove(id.to_owned()).await;
    let tasks = state.store.read(id, |job| job.tasks().collect::<Vec<_>>());
    for task in tasks.unwrap_or_default() {
        state.work.metrics.remove(&format!("modelarts-job-{id}-{task}"));
    }
    state.store.remove(id);
}
