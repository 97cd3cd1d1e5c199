//! Nodes of a job in a Slurm cluster, and the wait for the nodes in the queue.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;

use crate::{
    job::worker::Worker,
    runner::{
        launcher::{Allocation, Progress},
        launcher::{Exit, Loss},
        slurm::{
            commands::{self, QUEUE_PERIOD},
            connection::{Connection, State},
            launcher::SlurmLauncher,
        },
    },
};

pub(super) struct SlurmAllocation {
    pub(super) launcher: Arc<SlurmLauncher>,
    pub(super) workers: Vec<Worker>,
    pub(super) priority: i64,
    /// Priority that the job currently has in Slurm.
    pub(super) applied: i64,
    /// Connection to the workers, or the reason why `srun` was not started.
    pub(super) connection: Result<Arc<Connection>, String>,
    pub(super) reason: String,
}

/// Time after which the reason for the wait of a job is read for the first time.
const FIRST_LOOK: Duration = Duration::from_secs(1);

impl SlurmAllocation {
    /// Waits until Slurm responds again, and submits the job again.
    async fn connect_again(&mut self) {
        loop {
            tokio::time::sleep(QUEUE_PERIOD).await;
            let Ok(queue) = self.launcher.cluster.queue.read_recent().await else {
                continue;
            };
            // Slurm may have accepted the job although its response was lost.
            let job = self.connection.as_ref().ok().and_then(|run| run.find(&queue));
            let Some(job) = job.filter(|job| job.is_live()) else {
                break;
            };
            if let Err(error) = commands::cancel(&[&job.id]).await {
                tracing::warn!(job = job.name, %error, "a lost job of Slurm is not cancelled yet");
            }
        }
        self.applied = self.priority;
        let connection = self.launcher.connect(&self.workers, self.priority);
        self.connection = connection.map_err(|error| error.to_string());
    }

    /// Returns the reason for the wait if it has changed, and applies a change of the priority.
    async fn new_reason(&mut self, connection: &Connection) -> Option<String> {
        let reason = match self.launcher.cluster.queue.read_recent().await {
            Err(error) => unavailable(&error),
            Ok(queue) => {
                let job = connection.find(&queue).filter(|job| job.is_live())?;
                if self.applied != self.priority {
                    self.apply_priority(&job.id).await;
                }
                job.reason()
            }
        };
        (reason != self.reason).then(|| {
            self.reason.clone_from(&reason);
            reason
        })
    }

    async fn apply_priority(&mut self, id: &str) {
        let config = &self.launcher.config;
        let changes = config.changes(&self.workers[0].request, self.priority);
        // Without such options, the order of the job does not depend on its priority.
        let applied = match changes.is_empty() {
            true => Ok(()),
            false => commands::update(id, &changes).await,
        };
        match applied {
            Ok(()) => self.applied = self.priority,
            Err(error) => tracing::warn!(id, %error, "the priority does not change in Slurm"),
        }
    }
}

fn unavailable(error: &str) -> String {
    format!("Slurm does not respond, and the job waits until it does: {error}")
}

impl Allocation for SlurmAllocation {
    fn next_change(&mut self) -> BoxFuture<'_, Progress> {
        Box::pin(async move {
            let mut pause = FIRST_LOOK;
            loop {
                let connection = match &self.connection {
                    Ok(connection) => Arc::clone(connection),
                    Err(error) => {
                        return Progress::Rejected(format!(
                            "the job was not sent to Slurm: {error}"
                        ));
                    }
                };
                let mut state = connection.state();
                let changed = state.wait_for(|state| *state != State::Waiting);
                let changed = tokio::time::timeout(pause, changed).await;
                pause = QUEUE_PERIOD;
                // The connection outlives the wait, so the wait does not fail.
                let state = changed.ok().and_then(Result::ok).map(|state| state.clone());
                match state {
                    Some(State::Ready) => return Progress::Ready,
                    Some(State::Rejected(message)) => {
                        return Progress::Rejected(format!("Slurm rejected the job: {message}"));
                    }
                    Some(State::Ended { exit: Exit::Lost(loss), .. }) => {
                        return Progress::Lost(loss);
                    }
                    Some(State::Ended { cause, .. }) => {
                        let cause = format!("Slurm ended the job before its code started: {cause}");
                        return Progress::Rejected(cause);
                    }
                    Some(State::Unavailable(error)) => {
                        let reason = unavailable(&error);
                        if reason != self.reason {
                            self.reason.clone_from(&reason);
                            return Progress::Waiting(reason);
                        }
                        self.connect_again().await;
                    }
                    Some(State::Waiting) | None => {
                        if let Some(reason) = self.new_reason(&connection).await {
                            return Progress::Waiting(reason);
                        }
                    }
                }
            }
        })
    }

    fn set_priority(&mut self, priority: i64) {
        self.priority = priority;
    }

    fn loss(&self) -> Option<Loss> {
        let connection = self.connection.as_ref().ok()?;
        match &*connection.state().borrow() {
            State::Ended { exit: Exit::Lost(loss), .. } => Some(*loss),
            _ => None,
        }
    }
}

impl Drop for SlurmAllocation {
    fn drop(&mut self) {
        let Ok(connection) = &self.connection else {
            return;
        };
        connection.release();
        if let Some(worker) = self.workers.first() {
            self.launcher.connections.lock().remove(&worker.job_id);
        }
    }
}
