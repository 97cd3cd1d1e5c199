//! Kinds of events, with the values that a message contains.
//!
//! The user guide and the API word the sentences differently; both wordings are parsed. The kind of
//! any other message is [`EventKind::Other`].

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Kind of an event, parsed from its message: the kinds of `x-events` in the OpenAPI description.
///
/// As JSON, a kind is an object with its name and its fields. Durations are numbers of seconds:
///
/// ```json
/// {"kind": "code_downloaded", "task": "worker-0", "took_seconds": 1.5}
/// {"kind": "auto_stopped", "limit_seconds": 3600}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The job was accepted.
    Created,
    /// The job could not be created.
    CreateFailed {
        /// Cause of the failure, as free text.
        cause: String,
    },
    /// The preparation of the job took too long.
    PrepareTimedOut,
    /// The job is waiting for resources.
    Queuing,
    /// The job could not be queued.
    QueueFailed,
    /// The job is running.
    Running,
    /// The job ended with exit code 0.
    Completed,
    /// The job failed.
    Failed,
    /// Another job preempted the nodes of this job.
    Preempted,
    /// The platform suspects that the job hangs.
    MaybeHanging,
    /// The job was restarted.
    Restarted,
    /// A user stopped the job.
    StoppedByUser,
    /// The job reached its time limit.
    AutoStopped {
        /// Time limit of the job.
        #[serde(rename = "limit_seconds", serialize_with = "seconds")]
        limit: Duration,
    },
    /// A user deleted the job.
    Deleted,
    /// The costs of the job are available.
    Billed,
    /// The environment check of a task has started.
    PreCheckStarted {
        /// Task, such as `worker-0`.
        task: String,
    },
    /// The environment check of a task succeeded.
    PreCheckDone {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
    },
    /// The environment check of a task failed.
    PreCheckFailed {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Error message, as free text.
        error: String,
    },
    /// The code is being downloaded.
    CodeDownloading {
        /// Task, such as `worker-0`.
        task: String,
    },
    /// The code has been downloaded.
    CodeDownloaded {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
    },
    /// The code could not be downloaded.
    CodeDownloadFailed {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Cause of the failure, as free text.
        cause: String,
    },
    /// The inputs are being downloaded.
    InputDownloading {
        /// Task, such as `worker-0`.
        task: String,
    },
    /// An input has been downloaded.
    InputDownloaded {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Name of the input.
        parameter: String,
    },
    /// An input could not be downloaded.
    InputDownloadFailed {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Name of the input.
        parameter: String,
        /// Cause of the failure, as free text.
        cause: String,
    },
    /// Python packages are being installed.
    DependenciesInstalling {
        /// Task, such as `worker-0`.
        task: String,
        /// Files that list the packages.
        files: Vec<String>,
    },
    /// Python packages have been installed.
    DependenciesInstalled {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Files that list the packages.
        files: Vec<String>,
    },
    /// Python packages could not be installed. Only the emulator reports this event.
    DependenciesFailed {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Files that list the packages.
        files: Vec<String>,
        /// Cause of the failure, as free text.
        cause: String,
    },
    /// The code of a task is running.
    TaskStarted {
        /// Task, such as `worker-0`.
        task: String,
    },
    /// The code of a task ended.
    TaskFinished {
        /// Task, such as `worker-0`.
        task: String,
        /// Exit code of the task, if the message states it.
        exit_code: Option<i64>,
    },
    /// An output is being uploaded.
    OutputUploading {
        /// Task, such as `worker-0`.
        task: String,
        /// Name of the output, if the message states it.
        parameter: Option<String>,
    },
    /// An output has been uploaded.
    OutputUploaded {
        /// Task, such as `worker-0`.
        task: String,
        /// Duration of the step, if the message states it.
        #[serde(rename = "took_seconds", serialize_with = "optional_seconds")]
        took: Option<Duration>,
        /// Name of the output.
        parameter: String,
    },
    /// The cluster reported an event about an object of the cluster.
    Cluster {
        /// Kind of the object, such as `Pod` or `Job`.
        object: String,
        /// Name of the object in the cluster.
        name: String,
        /// Reason of the event, such as `Pulled`.
        reason: String,
        /// Message of the event.
        text: String,
    },
    /// The kind of the event is unknown.
    Other,
}

impl EventKind {
    /// Returns the task of the event, such as `worker-0`, or `None` if the event concerns no task.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        match self {
            Self::PreCheckStarted { task }
            | Self::PreCheckDone { task, .. }
            | Self::PreCheckFailed { task, .. }
            | Self::CodeDownloading { task }
            | Self::CodeDownloaded { task, .. }
            | Self::CodeDownloadFailed { task, .. }
            | Self::InputDownloading { task }
            | Self::InputDownloaded { task, .. }
            | Self::InputDownloadFailed { task, .. }
            | Self::DependenciesInstalling { task, .. }
            | Self::DependenciesInstalled { task, .. }
            | Self::DependenciesFailed { task, .. }
            | Self::TaskStarted { task }
            | Self::TaskFinished { task, .. }
            | Self::OutputUploading { task, .. }
            | Self::OutputUploaded { task, .. } => Some(task),
            _ => None,
        }
    }

    /// Returns `true` if only the billing event can follow this event, unless the job is restarted.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::CreateFailed { .. }
                | Self::PrepareTimedOut
                | Self::QueueFailed
                | Self::Completed
                | Self::Failed
                | Self::StoppedByUser
                | Self::AutoStopped { .. }
                | Self::Deleted
        )
    }
}

/// Serializes a duration as a number of seconds: an integer if the duration has whole seconds.
pub(in crate::jobs) fn seconds<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if duration.subsec_nanos() == 0 {
        serializer.serialize_u64(duration.as_secs())
    } else {
        serializer.serialize_f64(duration.as_secs_f64())
    }
}

#[allow(clippy::ref_option, reason = "serde passes a reference to the field")]
fn optional_seconds<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => seconds(duration, serializer),
        None => serializer.serialize_none(),
    }
}
