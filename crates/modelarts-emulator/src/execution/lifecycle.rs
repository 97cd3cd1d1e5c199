//! The life cycle of a job: from Creating through the queue and its runs to the end.

use std::sync::Arc;

use futures::FutureExt;

use crate::{
    api::error::ApiError,
    catalog::quirks::PreemptionPhase,
    clock::timestamp::Timestamp,
    execution::{
        driver::{Driver, Ending},
        finish::{record_end, remove_deleted},
    },
    job::{
        Job, RecordEnd,
        event::EventKind,
        state::{JobState, RestartOn, StopReason},
    },
    scheduler::{NodeRequest, QueueSlot},
    state::EmulatorState,
};

/// Maximum number of unconditional restarts of a job, in total (SOURCES D-158).
const UNCONDITIONAL_RESTARTS: u32 = 3;

pub(super) fn node_request(job: &Job, requeued: bool) -> NodeRequest {
    NodeRequest {
        job: job.id.clone(),
        pool: job.request.pool_id.clone().unwrap_or_default(),
        nodes: job.request.node_count,
        priority: job.settings.priority,
        preemptible: job.settings.preemptible,
        requeued,
    }
}

/// Continues the unsettled jobs of an earlier emulator, whose processes have already been ended.
pub(crate) fn resume(state: &Arc<EmulatorState>) -> rusqlite::Result<()> {
    let now = Timestamp::now(state.clock.as_ref());
    for id in state.store.open_ids()? {
        #[cfg(feature = "slurm")]
        if follow_again(state, &id) {
            continue;
        }
        let mut held = false;
        let continued = state.store.update(&id, |job| {
            match job.state {
                // The end of the earlier process is a fault of the machine, not of the code.
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
            (!job.lifecycle.settled).then(|| node_request(job, job.history.started.is_some()))
        });
        match continued.flatten() {
            None if held => state.spawn(wait_for_stop(Arc::clone(state), id)),
            Some(request) => start(state, request),
            None if state.store.read(&id, |job| job.lifecycle.deleted) == Some(true) => {
                state.spawn(remove_deleted(Arc::clone(state), id));
            }
            None => {}
        }
    }
    Ok(())
}

/// Follows a job that an earlier emulator has submitted to a batch system. Returns `false` for
/// other jobs.
#[cfg(feature = "slurm")]
fn follow_again(state: &Arc<EmulatorState>, id: &str) -> bool {
    let Some(batch_system) = &state.work.batch_system else {
        return false;
    };
    let submitted = state.store.update(id, |job| {
        if job.state == JobState::Terminating {
            let deleted = job.lifecycle.deleted;
            job.ask_to_stop(if deleted { StopReason::Deleted } else { StopReason::ByUser });
        }
        let has_ended = job.lifecycle.settled && job.state.is_final();
        if job.submission.is_none() || has_ended {
            return None;
        }
        // The end of the earlier emulator may have interrupted the last copies.
        job.lifecycle.settled = false;
        Some(job.lifecycle.deleted)
    });
    let Some(deleted) = submitted.flatten() else {
        return false;
    };
    state.spawn(Arc::clone(batch_system).follow(Arc::clone(state), id.to_owned()));
    if deleted {
        state.spawn(remove_deleted(Arc::clone(state), id.to_owned()));
    }
    true
}

/// Stores and starts a new job. Returns an error if a limit or another job prevents this.
pub(crate) fn submit(state: &Arc<EmulatorState>, job: Job, quota: usize) -> Result<(), ApiError> {
    let request = node_request(&job, false);
    state.store.insert(job, quota, state.settings.one_job_per_output)?;
    start(state, request);
    Ok(())
}

pub(super) fn start(state: &Arc<EmulatorState>, request: NodeRequest) {
    let id = request.job.clone();
    #[cfg(feature = "slurm")]
    if let Some(batch_system) = &state.work.batch_system {
        return state.spawn(Arc::clone(batch_system).follow(Arc::clone(state), id));
    }
    let slot = state.work.scheduler.enqueue(request);
    state.spawn(drive(Arc::clone(state), id, Some(slot)));
}

/// Drives a job from its queue to its end.
pub(crate) async fn drive(state: Arc<EmulatorState>, id: String, slot: Option<QueueSlot>) {
    // An earlier process may have left the job in the queue, before or between its runs.
    let look = |job: &Job| {
        let (first, requeued) = (job.state == JobState::Creating, job.history.started.is_some());
        (Driver::new(&state, job, slot), first, requeued)
    };
    let Some((mut driver, mut first, mut requeued)) = state.store.read(&id, look) else {
        return;
    };
    let ending = loop {
        let ended = driver.run_round(first, requeued).await;
        let ending = ended.unwrap_or_else(|ending| ending);
        if !driver.requeue(&ending).await {
            break ending;
        }
        (first, requeued) = (false, true);
    };
    driver.settle(ending).await;
}

/// Holds a seeded job in its state until a request stops or deletes it.
pub(crate) async fn wait_for_stop(state: Arc<EmulatorState>, id: String) {
    let look = |job: &Job| Driver::new(&state, job, None);
    let Some(mut driver) = state.store.read(&id, look) else {
        return;
    };
    let why = driver.stop_request().await;
    driver.settle(why.into()).await;
}

impl Driver {
    pub(crate) async fn settle(&mut self, ending: Ending) {
        self.finish(ending).await;
        self.state.store.update(&self.id, |job| job.lifecycle.settled = true);
    }

    /// Runs the job to the end of its code, or returns an earlier end as an error. The `first`
    /// round begins in Creating, others in the queue. The wait of a `requeued` job is limited.
    async fn run_round(&mut self, first: bool, requeued: bool) -> Result<Ending, Ending> {
        let timing = self.state.settings.timing.clone();
        self.enter_queue(first).await?;
        self.wait_for_nodes(requeued).await?;
        self.prepare(first).await?;
        self.pause(timing.starting).await?;
        self.advance(JobState::Running, EventKind::Running)?;
        if let Some(limit) = self.request.auto_stop() {
            self.time_limit.get_or_init(|| {
                // A job that was started by an earlier process has already used part of the limit.
                let started = self.state.store.read(&self.id, |job| job.history.started).flatten();
                let ran = started.filter(|_| requeued);
                let ran = ran.map(|started| self.now().since(started));
                let rest = limit.saturating_sub(ran.unwrap_or_default());
                self.state.clock.sleep(rest).shared()
            });
        }
        self.pause(timing.first_step).await?;
        Ok(match &self.request.tuning {
            Some(tuning) => self.run_search(tuning).await,
            None => self.run_code().await,
        })
    }

    /// Moves the job to the queue, in its `first` round from Creating.
    pub(crate) async fn enter_queue(&self, first: bool) -> Result<(), Ending> {
        let timing = &self.state.settings.timing;
        if first {
            self.pause(timing.creating).await?;
            let runner = &self.state.work.runner;
            if !self.workers.iter().all(|worker| runner.is_prepared(worker)) {
                return Err(Ending::PrepareTimedOut);
            }
            self.advance(JobState::Queuing, EventKind::Queuing)?;
        }
        self.pause(timing.queuing).await?;
        let pool = self.request.pool_id.as_deref().unwrap_or_default();
        if !self.state.work.scheduler.has_pool(pool) {
            tracing::warn!(job = self.id, pool, "its pool no longer exists");
            return Err(Ending::NoNodes);
        }
        Ok(())
    }

    /// Waits for nodes. Returns an error after a stop, or if a restart times out.
    async fn wait_for_nodes(&mut self, requeued: bool) -> Result<(), Ending> {
        let stop = self.stop_request();
        let slot = match &mut self.slot {
            Some(slot) => slot,
            none => {
                let look = |job: &Job| node_request(job, requeued);
                let request = self.state.store.read(&self.id, look);
                let request = request.ok_or(StopReason::Deleted)?;
                none.insert(self.state.work.scheduler.enqueue(request))
            }
        };
        if slot.has_nodes() {
            return Ok(());
        }
        let limit = if requeued {
            self.state.clock.sleep(self.state.settings.timing.requeue)
        } else {
            Box::pin(std::future::pending())
        };
        tokio::select! {
            biased;
            stop = stop => Err(stop.into()),
            () = slot.wait_for_nodes() => Ok(()),
            () = limit => Err(Ending::NoNodes),
        }
    }

    /// Uploads the outputs and requeues the job, if it may be restarted. Otherwise returns `false`.
    pub(crate) async fn requeue(&mut self, ending: &Ending) -> bool {
        let retry = self.request.retry;
        let allowed = match (retry.unconditional, retry.times) {
            (true, 0) => UNCONDITIONAL_RESTARTS,
            (true, times) => times.min(UNCONDITIONAL_RESTARTS),
            (false, times) => times,
        };
        let used = self.state.store.read(&self.id, |job| job.history.restarts);
        let may_restart = used.is_some_and(|used| used < allowed);
        let after_exit =
            retry.unconditional || self.state.settings.restart_on == RestartOn::AnyFailure;
        let preempted = match ending {
            Ending::Exited(Some(_)) if may_restart && after_exit => false,
            Ending::NodeFault(_) | Ending::Evicted(_) | Ending::PreCheckFailed(_)
                if may_restart =>
            {
                false
            }
            Ending::Preempted
                if self.state.settings.quirks.preempted == PreemptionPhase::Pending =>
            {
                true
            }
            _ => return false,
        };
        // A job whose pre-check failed has not run and has no outputs.
        if !matches!(ending, Ending::PreCheckFailed(_)) {
            if !preempted {
                let delay = self.state.settings.timing.before_upload;
                self.wait_unless_hurried(delay).await;
            }
            if !self.upload().await {
                return false;
            }
        }
        let now = self.now();
        let requeued = self.state.store.update(&self.id, |job| {
            let queued = job.state == JobState::Queuing || job.advance(JobState::Queuing, now);
            if job.stop_reason().is_some() || !queued {
                return None;
            }
            let mut end = record_end(ending, now);
            end.recover = Some(match ending {
                Ending::NodeFault(_) => "job_reschedule_with_taint".to_owned(),
                _ => "job_reschedule".to_owned(),
            });
            job.end_record(end);
            job.note(if preempted { EventKind::Preempted } else { EventKind::Restarted }, now);
            job.note(EventKind::Queuing, now);
            job.history.schedule_count += 1;
            job.history.restarts += u32::from(!preempted);
            Some(job.history.records.len())
        });
        let Some(run) = requeued.flatten() else {
            return false;
        };
        for worker in &mut self.workers {
            worker.run = run;
        }
        // Other jobs may take the nodes in the meantime.
        self.release_nodes();
        true
    }
}
