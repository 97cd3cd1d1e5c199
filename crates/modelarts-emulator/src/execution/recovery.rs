//! Recovery of the jobs of an earlier process when the emulator starts.

use std::sync::Arc;

use crate::{
    clock::timestamp::Timestamp,
    execution::{finish, lifecycle},
    job::{RecordEnd, event::EventKind, state::JobState},
    state::EmulatorState,
};

/// Continues all jobs that are not settled. Their processes have already been ended.
pub(crate) fn resume(state: &Arc<EmulatorState>) -> rusqlite::Result<()> {
    let now = Timestamp::now(state.clock.as_ref());
    for id in state.store.open_ids()? {
        let mut held = false;
        let continued = state.store.update(&id, |job| {
            match job.state {
                // The end of the earlier process counts as a machine fault, not as a failure of the
                // code. The job is therefore scheduled again.
                JobState::Running if !job.lifecycle.standing => {
                    job.end_record(RecordEnd {
                        at: now.whole_second(),
                        reason: "node fault".to_owned(),
                        task: None,
                        recover: Some("job_reschedule_with_taint".to_owned()),
                    });
                    job.advance(JobState::Queuing, now);
                    job.note(EventKind::Restarted, now);
                    job.note(EventKind::Queuing, now);
                    job.history.schedule_count += 1;
                }
                JobState::Terminating if !job.lifecycle.standing || job.lifecycle.deleted => {
                    if !job.lifecycle.deleted {
                        job.note(EventKind::StoppedByUser, now);
                    }
                    job.advance(JobState::Terminated, now);
                }
                _ => {}
            }
            job.lifecycle.settled = job.state.is_final();
            if job.lifecycle.standing && !job.lifecycle.settled && !job.lifecycle.deleted {
                held = true;
                return None;
            }
            // A job that was only queued, and never ran, does not count as requeued.
            (!job.lifecycle.settled)
                .then(|| lifecycle::node_request(job, job.history.started.is_some()))
        });
        match continued.flatten() {
            None if held => state.spawn(lifecycle::wait_for_stop(Arc::clone(state), id)),
            Some(request) => lifecycle::start(state, request),
            None if state.store.read(&id, |job| job.lifecycle.deleted) == Some(true) => {
                state.spawn(finish::remove_deleted(Arc::clone(state), id));
            }
            None => {}
        }
    }
    Ok(())
}
