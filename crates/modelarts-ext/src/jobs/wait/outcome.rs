//! `Outcome`: how a job, or the wait for it, ended.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use modelarts_api::types::{Phase, SecondaryPhase};

use crate::{
    jobs::{events::kind::EventKind, job::Job},
    transport::deadline::Deadline,
};

/// Result of a wait: the outcomes of the waiter `TrainingJobEnded` in the description, with details,
/// and the ends of the wait itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job ended with exit code 0.
    Completed,
    /// The job's code failed.
    Failed {
        /// The exit code, if the service says it.
        exit_code: Option<i64>,
        /// The task that failed first, such as `worker-0`.
        task: Option<String>,
        /// The message of the service about it.
        message: Option<String>,
    },
    /// The job was stopped.
    Terminated {
        /// The user or the limit that stopped it.
        by: TerminatedBy,
    },
    /// The platform failed: the job could not be made, or was lost.
    Abnormal {
        /// The finer state, such as `CreateFailed`.
        secondary_phase: Option<SecondaryPhase>,
    },
    /// The job does not exist any more: it was deleted, while it was waited for or before.
    Vanished,
    /// The job is as [`Wait::until`](crate::jobs::wait::Wait::until) asked for. It goes on.
    Reached,
    /// The time limit of the wait was reached. The job goes on.
    TimedOut,
}

/// Cause of the stop of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TerminatedBy {
    /// A user.
    User,
    /// The limit that the job itself set for its duration.
    AutoStop {
        /// The limit.
        limit: Duration,
    },
    /// The events do not say.
    Unknown,
}

/// The outcome of a job that has ended. Its events, which say who stopped it, are read until the
/// deadline.
pub(super) async fn job_outcome(job: &Job, deadline: &Deadline) -> Option<Outcome> {
    match job.phase() {
        Phase::Completed => Some(Outcome::Completed),
        Phase::Failed => {
            // The service is known to list only the first task that failed; where it
            // lists more, one that did not fail is not the reason.
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

/// The status of a job does not say who stopped it; its events do.
async fn fetch_terminated_by(job: &Job) -> TerminatedBy {
    let mut newest = job.events().newest_first().stream().take(100);
    // An answer that fails costs this detail, and not the outcome.
    while let Ok(Some(event)) = newest.try_next().await {
        match event.kind() {
            EventKind::AutoStopped { limit } => return TerminatedBy::AutoStop { limit },
            EventKind::StoppedByUser => return TerminatedBy::User,
            _ => {}
        }
    }
    TerminatedBy::Unknown
}
