//! The life of a job: from Creating through the queue and its runs to the end.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    catalog::quirks::Preempted,
    execution::{
        driver::{Driver, Ending, asked_to_stop},
        finish::record_end,
    },
    job::{
        event::EventKind,
        request::JobRequest,
        state::{RestartOn, State, StopReason},
    },
    scheduler::{NodeRequest, QueueSlot},
    state::EmulatorState,
    store::{Job, RecordEnd},
};

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
        new: state == State::Creating,
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

impl Driver {
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
            self.advance(State::Queuing, EventKind::Queuing)?;
        }
        self.pause(timing.queuing).await?;
        if !self.nodes(round.again).await? {
            return Ok(Ending::NoNodes);
        }
        if let Err(ending) = self.prepare(round.new).await {
            return Ok(ending);
        }
        self.pause(timing.starting).await?;
        self.advance(State::Running, EventKind::Running)?;
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
            let queued = job.state == State::Queuing || job.advance(State::Queuing, now);
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
}
