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
                JobState::Running if !job.standing => {
                    job.end_record(RecordEnd {
                        at: now.whole_second(),
                        reason: "node fault".to_owned(),
                        task: None,
                        recover: Some("job_reschedule_with_taint".to_owned()),
                    });
                    job.advance(JobState::Queuing, now);
                    job.note(EventKind::Restarted, now);
                    job.note(EventKind::Queuing, now);
                    job.schedule_count += 1;
                }
                JobState::Terminating if !job.standing || job.deleted => {
                    if !job.deleted {
                        job.note(EventKind::StoppedByUser, now);
                    }
                    job.advance(JobState::Terminated, now);
                }
                _ => {}
            }
            job.settled = job.state.is_final();
            if job.standing && !job.settled && !job.deleted {
                held = true;
                return None;
            }
            // A job that was only queued, and never ran, does not count as requeued.
            (!job.settled).then(|| lifecycle::node_request(job, job.started.is_some()))
        });
        match continued.flatten() {
            None if held => state.spawn(lifecycle::hold(Arc::clone(state), id)),
            Some(request) => lifecycle::start(state, request),
            None if state.store.read(&id, |job| job.deleted) == Some(true) => {
                state.spawn(finish::remove_deleted(Arc::clone(state), id));
            }
            None => {}
        }
    }
    Ok(())
}
