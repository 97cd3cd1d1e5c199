//! Nodes that a launcher with a queue of its own assigns to a job.

use crate::{
    execution::driver::{Driver, Ending},
    job::{
        Job,
        event::{EventKind, Level, Source},
        state::StopReason,
    },
    runner::launcher::Progress,
};

impl Driver {
    /// Waits until the launcher assigns nodes, if it has a queue. Events state why the job waits.
    pub(super) async fn allocate(&mut self) -> Result<(), Ending> {
        let (store, runner) = (&self.state.store, &self.state.work.runner);
        let priority = store.read(&self.id, |job| job.settings.priority);
        let mut priority = priority.ok_or(StopReason::Deleted)?;
        let Some(mut allocation) = runner.allocate(&self.workers, priority) else {
            return Ok(());
        };
        loop {
            let changed = |job: Option<&Job>| {
                let changed = job.map(|job| job.settings.priority);
                changed.filter(|changed| *changed != priority)
            };
            let progress = tokio::select! {
                biased;
                stop = self.stop_request() => return Err(stop.into()),
                changed = store.wait(&self.id, changed) => {
                    priority = changed;
                    allocation.set_priority(changed);
                    continue;
                }
                progress = allocation.next_change() => progress,
            };
            match progress {
                Progress::Ready => break,
                Progress::Waiting(reason) => self.note(EventKind::Given {
                    message: format!("[Pod: {}] FailedScheduling: {reason}", self.workers[0].pod()),
                    level: Level::Warning,
                    source: Source::K8S,
                }),
                Progress::Rejected(cause) => return Err(Ending::Unprepared(cause)),
                Progress::Lost(loss) => return Err(Ending::of_loss(loss, self.workers[0].task())),
            }
        }
        self.allocation = Some(allocation);
        Ok(())
    }

    /// Returns the loss of the nodes if it caused the failure; otherwise returns `ending`.
    pub(super) fn cause_of_failure(&self, ending: Ending) -> Ending {
        let loss = self.allocation.as_ref().and_then(|nodes| nodes.loss());
        match (&ending, loss) {
            (Ending::Unprepared(_) | Ending::PreCheckFailed(_), Some(loss)) => {
                Ending::of_loss(loss, self.workers[0].task())
            }
            _ => ending,
        }
    }
}
