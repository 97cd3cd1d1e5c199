//! `Outcome`: the end of a job, or of the wait for a job.

use std::{cmp::Reverse, fmt, time::Duration};

use futures::TryStreamExt;
use modelarts_api::types::{EventLevel, Phase, SecondaryPhase};
use serde::Serialize;

use crate::{
    jobs::{
        events::{
            event::Event,
            kind::{EventKind, seconds},
        },
        exit_code::exit_code_text,
        job::Job,
    },
    transport::deadline::Deadline,
};

pub(super) const READ_EVENTS: u8 = 100;
const LAST_EVENTS: usize = 5;

/// Result of a wait: an outcome of the waiter `TrainingJobEnded`, or an end of the wait itself.
///
/// The display form is a clause such as `failed with exit code 137 (128 + SIGKILL, often out of
/// memory) in worker-0`. As JSON, an outcome is an object with its name and its fields:
///
/// ```json
/// {"outcome": "failed", "exit_code": 137, "task": "worker-0", "message": "exit with 137"}
/// {"outcome": "terminated", "by": "auto_stop", "limit_seconds": 3600}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The job ended with exit code 0.
    Completed,
    /// The code of the job failed.
    Failed {
        /// Exit code, if the service states it.
        exit_code: Option<i64>,
        /// First listed task that failed, such as `worker-0`.
        task: Option<String>,
        /// Message of the service about the failure.
        message: Option<String>,
    },
    /// The job was stopped.
    Terminated {
        /// Cause of the stop.
        #[serde(flatten)]
        by: TerminatedBy,
    },
    /// The platform could not create the job, or lost the job.
    Abnormal {
        /// Detailed phase, such as `CreateFailed`.
        secondary_phase: Option<SecondaryPhase>,
        /// Cause or message of the last error event, such as an [`EventKind::CreateFailed`].
        cause: Option<String>,
    },
    /// The job does not exist, as after a deletion before or during the wait.
    Vanished,
    /// The condition of [`Wait::until`](super::Wait::until) holds. The job may have ended.
    Reached,
    /// The time limit of the wait was reached. The job continues.
    TimedOut,
}

/// Cause of the stop of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TerminatedBy {
    /// A user stopped the job.
    User,
    /// The job reached the time limit in its settings.
    AutoStop {
        /// Time limit of the job. The name of the field in JSON is `limit_seconds`.
        #[serde(rename = "limit_seconds", serialize_with = "seconds")]
        limit: Duration,
    },
    /// The cause is unknown: the events do not state it, or could not be read.
    Unknown,
}

impl Outcome {
    /// Returns `true` if the job completed.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        *self == Self::Completed
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed { exit_code, task, message } => {
                f.write_str("failed")?;
                if let Some(code) = exit_code {
                    write!(f, " with exit code {}", exit_code_text(*code))?;
                }
                if let Some(task) = task {
                    write!(f, " in {task}")?;
                }
                let known = exit_code.map(|code| format!("exit with {code}"));
                match message {
                    Some(message) if known.as_ref() != Some(message) => write!(f, ": {message}"),
                    _ => Ok(()),
                }
            }
            Self::Terminated { by } => write!(f, "terminated by {by}"),
            Self::Abnormal { secondary_phase, cause } => {
                f.write_str("abnormal")?;
                if let Some(phase) = secondary_phase {
                    write!(f, ": {phase}")?;
                }
                match cause {
                    Some(cause) => write!(f, ": {cause}"),
                    None => Ok(()),
                }
            }
            Self::Vanished => f.write_str("vanished: the job was deleted"),
            Self::Reached => f.write_str("reached the condition of the wait"),
            Self::TimedOut => f.write_str("timed out: the job continues"),
        }
    }
}

impl fmt::Display for TerminatedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("a user"),
            Self::AutoStop { limit } => write!(f, "its time limit of {limit:?}"),
            Self::Unknown => f.write_str("an unknown cause"),
        }
    }
}

/// Returns the outcome of an ended job, with its last events if it was stopped.
pub(super) async fn job_outcome(job: &Job, deadline: &Deadline) -> (Outcome, Vec<Event>) {
    let outcome = match job.phase() {
        Phase::Completed => Outcome::Completed,
        Phase::Failed => {
            // If the service lists several tasks, a task that did not fail is not the cause.
            let statuses = job.status().map_or(&[][..], |status| &status.task_statuses);
            let first = statuses
                .iter()
                .find(|status| status.exit_code.is_some_and(|code| code != 0))
                .or(statuses.first())
                .cloned()
                .unwrap_or_default();
            Outcome::Failed {
                exit_code: first.exit_code,
                task: first.task,
                message: first.message.filter(|message| !message.is_empty()),
            }
        }
        Phase::Terminated => {
            let fetched = deadline.run(fetch_terminated_by(job)).await;
            let (by, last_events) = fetched.unwrap_or((TerminatedBy::Unknown, Vec::new()));
            return (Outcome::Terminated { by }, last_events);
        }
        _ => Outcome::Abnormal { secondary_phase: job.secondary_phase().cloned(), cause: None },
    };
    (outcome, Vec::new())
}

/// Returns the cause of the stop of a job, as its events state it, and the last events.
async fn fetch_terminated_by(job: &Job) -> (TerminatedBy, Vec<Event>) {
    let mut newest = job.events().newest_first().end_short().stream();
    let (mut by, mut events) = (TerminatedBy::Unknown, Vec::new());
    // If a request fails, the cause remains unknown, but the outcome is still returned.
    while events.len() < READ_EVENTS.into()
        && let Ok(Some(event)) = newest.try_next().await
    {
        match event.kind() {
            _ if by != TerminatedBy::Unknown => {}
            EventKind::AutoStopped { limit } => by = TerminatedBy::AutoStop { limit },
            EventKind::StoppedByUser => by = TerminatedBy::User,
            _ => {}
        }
        events.push(event);
    }
    (by, last_events(events, None))
}

/// Returns the last 5 events, oldest first. Errors and events of the failed task take precedence.
pub(super) fn last_events(mut newest: Vec<Event>, failed_task: Option<&str>) -> Vec<Event> {
    newest.retain(|event| event.kind() != EventKind::Billed);
    let is_minor = |event: &Event| {
        let is_of_failed_task = failed_task.is_some() && event.kind().task() == failed_task;
        *event.level() != EventLevel::Error && !is_of_failed_task
    };
    let mut ranked: Vec<(usize, Event)> = newest.into_iter().enumerate().collect();
    ranked.sort_by_cached_key(|(_, event)| is_minor(event));
    ranked.truncate(LAST_EVENTS);
    ranked.sort_by_key(|(age, _)| Reverse(*age));
    ranked.into_iter().map(|(_, event)| event).collect()
}
