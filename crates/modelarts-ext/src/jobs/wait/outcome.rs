//! `Outcome`: the end of a job, or of the wait for it.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use modelarts_api::types::{Phase, SecondaryPhase};

use crate::{
    jobs::{events::kind::EventKind, job::Job},
    transport::deadline::Deadline,
};

/// Result of a wait: the outcomes of the waiter `TrainingJobEnded` in the description, with
/// details, and the ends of the wait itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job ended with exit code 0.
    Completed,
    /// The code of the job failed.
    Failed {
        /// The exit code, if the service states it.
        exit_code: Option<i64>,
        /// The first listed task that failed, such as `worker-0`. The service is known to list only
        /// the task that failed first.
        task: Option<String>,
        /// The message of the service about the failure.
        message: Option<String>,
    },
    /// The job was stopped.
    Terminated {
        /// The cause of the stop.
        by: TerminatedBy,
    },
    /// The platform failed: it could not create the job, or lost it.
    Abnormal {
        /// The detailed phase, such as `CreateFailed`.
        secondary_phase: Option<SecondaryPhase>,
    },
    /// The job does not exist any more: it was deleted before or during the wait.
    Vanished,
    /// The condition of [`Wait::until`](crate::jobs::wait::Wait::until) holds. The job continues.
    Reached,
    /// The time limit of the wait was reached. The job continues.
    TimedOut,
}

/// Cause of the stop of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TerminatedBy {
    /// A user stopped the job.
    User,
    /// The job reached the time limit that is set in it.
    AutoStop {
        /// The time limit.
        limit: Duration,
    },
    /// The cause is unknown, because the events do not state it.
    Unknown,
}

/// Returns the outcome of a job that has ended. The events, which show who stopped the job, are
/// read until the deadline.
pub(super) async fn job_outcome(job: &Job, deadline: &Deadline) -> Option<Outcome> {
    match job.phase() {
        Phase::Completed => Some(Outcome::Completed),
        Phase::Failed => {
            // The service is known to list only the first task that failed. If it lists several, a
            // task that did not fail is not the cause.
            let statuses = job.status().map_or(&[][..], |status| &status.task_statuses);
            let first = statuses
                .iter()
                .find(|status| status.exit_code.is_some_and(|code| code != 0))
                .or(statuses.first())
                .cloned()
                .unwrap_or_default();
            Some(Outcome::Failed {
                exit_code: first.exit_code,
                task: first.task,
                message: first.message.filter(|message| !message.is_empty()),
            })
        }
        Phase::Terminated => Some(Outcome::Terminated {
            by: deadline
                .run(&**job.client().clock(), fetch_terminated_by(job))
                .await
                .unwrap_or(TerminatedBy::Unknown),
        }),
        Phase::Abnormal => Some(Outcome::Abnormal {
            secondary_phase: job.secondary_phase().cloned(),
        }),
        _ => None,
    }
}

/// Determines from the events who stopped a job, which its status does not show.
async fn fetch_terminated_by(job: &Job) -> TerminatedBy {
    let mut newest = job.events().newest_first().stream().take(100);
    // If a request fails, the cause remains unknown, but the outcome is still returned.
    while let Ok(Some(event)) = newest.try_next().await {
        match event.kind() {
            EventKind::AutoStopped { limit } => return TerminatedBy::AutoStop { limit },
            EventKind::StoppedByUser => return TerminatedBy::User,
            _ => {}
        }
    }
    TerminatedBy::Unknown
}
