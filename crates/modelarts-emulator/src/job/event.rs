//! The one catalogue of event texts.
//!
//! Thirty kinds of the events guide, four Kubernetes texts that only
//! the events API shows. Six kinds have a second wording, seen in the API; [`Wording`] chooses.

use serde::{Deserialize, Serialize};

use crate::clock::timestamp::Timestamp;

/// Which of two documented texts an event gets where the documents disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// The text seen in the events API (`Training job is running.`), where one was seen.
    #[default]
    Api,
    /// The text of the events guide (`The training job starts to run.`), always.
    Guide,
}

/// `level` of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// Nothing to do.
    #[default]
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
}

impl Level {
    /// The text on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// `source` of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The cluster.
    K8S,
    /// The job.
    #[default]
    Job,
    /// One of its tasks.
    Task,
}

/// One kind of event with the values its text carries.
///
/// `task` is a task name (`worker-0`), `pod` and `job` are Kubernetes names, `seconds` are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields are explained above, the texts stand in `message`"
)]
pub enum EventKind {
    /// The job was accepted.
    Created,
    /// The job could not be created; the cause follows the colon.
    CreateFailed { cause: String },
    /// Preparations took too long.
    PrepareTimedOut,
    /// The job waits for resources.
    Queuing,
    /// The job could not wait for resources.
    QueueFailed,
    /// The nodes are up.
    Running,
    /// The code ended with 0.
    Completed,
    /// The code ended with something else.
    Failed,
    /// A preemptible job lost its nodes.
    Preempted,
    /// Hang detection struck.
    MaybeHanging,
    /// A retry or a reschedule.
    Restarted,
    /// Terminated by a user.
    StoppedByUser,
    /// Stopped after its maximum running duration.
    AutoStopped { hours: u32 },
    /// Deleted by a user.
    Deleted,
    /// Billing caught up; may come after the final event.
    Billed,
    /// Environment pre-check began.
    PreCheckStarted { task: String },
    /// Environment pre-check passed.
    PreCheckDone { task: String, seconds: f64 },
    /// Environment pre-check failed.
    PreCheckFailed {
        task: String,
        seconds: f64,
        error: String,
    },
    /// The code is on its way.
    CodeDownloading { task: String },
    /// The code has arrived.
    CodeDownloaded { task: String, seconds: f64 },
    /// The code could not be fetched.
    CodeDownloadFailed {
        task: String,
        seconds: f64,
        cause: String,
    },
    /// An input is on its way.
    InputDownloading { task: String },
    /// An input has arrived.
    InputDownloaded {
        task: String,
        seconds: f64,
        parameter: String,
    },
    /// An input could not be fetched.
    InputDownloadFailed {
        task: String,
        seconds: f64,
        parameter: String,
        cause: String,
    },
    /// Packages are being installed.
    DependenciesInstalling { task: String, files: String },
    /// Packages are installed.
    DependenciesInstalled {
        task: String,
        seconds: f64,
        files: String,
    },
    /// Packages could not be installed. No document has a text for it: this one is ours.
    DependenciesFailed {
        task: String,
        seconds: f64,
        files: String,
        cause: String,
    },
    /// The code started.
    TaskStarted { task: String },
    /// The code ended.
    TaskFinished { task: String, exit_code: i32 },
    /// An output is on its way. The guide's text says "input"; the document means output.
    OutputUploading { task: String, parameter: String },
    /// An output has arrived.
    OutputUploaded {
        task: String,
        seconds: f64,
        parameter: String,
    },
    /// Kubernetes has the image.
    PodPulled { pod: String, image: String },
    /// Kubernetes made the container.
    PodCreated { pod: String },
    /// Kubernetes started the container.
    PodStarted { pod: String },
    /// The containers are being ended.
    TerminateJob { job: String },
    /// None of the catalogue: put there with a job.
    Given {
        message: String,
        level: Level,
        source: Source,
    },
}

impl EventKind {
    /// The text, in English.
    #[must_use]
    pub fn message(&self, wording: Wording) -> String {
        if wording == Wording::Api
            && let Some(text) = self.api_message()
        {
            return text;
        }
        match self {
            Self::Created => "Training job created.".into(),
            Self::CreateFailed { cause } => format!("Training job failures: {cause}"),
            Self::PrepareTimedOut => "Preparations timed out. The possible cause is that the cross-region algorithm synchronization or creating shared storage timed out.".into(),
            Self::Queuing => "The training job is queuing and awaiting resource allocation.".into(),
            Self::QueueFailed => "Failed to be queued.".into(),
            Self::Running => "The training job starts to run.".into(),
            Self::Completed => "Training job executed.".into(),
            Self::Failed => "Failed to run the training job.".into(),
            Self::Preempted => "The training job is preempted.".into(),
            Self::MaybeHanging => "The system detects that your training job may be suspended. Go to the job details page to view the cause and handle the issue.".into(),
            Self::Restarted => "The training job has been restarted.".into(),
            Self::StoppedByUser => "The training job has been manually stopped.".into(),
            Self::AutoStopped { hours } => {
                let unit = if *hours == 1 { "hour" } else { "hours" };
                format!("The training job has been stopped. (Maximum running duration: {hours} {unit})")
            }
            Self::Deleted => "The training job has been manually deleted.".into(),
            Self::Billed => "Billing information synchronized.".into(),
            Self::PreCheckStarted { task } => format!("[{task}] The training environment is being pre-checked."),
            Self::PreCheckDone { task, seconds } => format!("[{task}] [Duration: {seconds:.3}] Pre-check completed."),
            Self::PreCheckFailed { task, seconds, error } => {
                format!("[{task}] [Duration: {seconds:.3}] Pre-check failed. Error: {error}")
            }
            Self::CodeDownloading { task } => format!("[{task}] The training code is being downloaded."),
            Self::CodeDownloaded { task, seconds } => {
                format!("[{task}] [Duration: {seconds:.3}] Training code downloaded.")
            }
            Self::CodeDownloadFailed { task, seconds, cause } => {
                format!("[{task}] [Duration: {seconds:.3}] Failed to download the training code. Failure cause: {cause}")
            }
            Self::InputDownloading { task } => format!("[{task}] The training input is being downloaded."),
            Self::InputDownloaded { task, seconds, parameter } => {
                format!("[{task}] [Duration: {seconds:.3}] Training input (parameter: {parameter}) downloaded.")
            }
            Self::InputDownloadFailed { task, seconds, parameter, cause } => {
                format!("[{task}] [Duration: {seconds:.3}] Failed to download the training input (parameter: {parameter}). Failure cause: {cause}")
            }
            Self::DependenciesInstalling { task, files } => {
                format!("[{task}] Python dependency packages are being installed. Import the following files: {files}")
            }
            Self::DependenciesInstalled { task, seconds, files } => {
                format!("[{task}] [Duration: {seconds:.3}] Python dependency packages installed. Import the following files: {files}")
            }
            Self::DependenciesFailed { task, seconds, files, cause } => {
                format!("[{task}] [Duration: {seconds:.3}] Failed to install Python dependency packages. Import the following files: {files}. Failure cause: {cause}")
            }
            Self::TaskStarted { task } => format!("[{task}] The training job starts to run."),
            Self::TaskFinished { task, .. } => format!("[{task}] Training job executed."),
            Self::OutputUploading { task, .. } => format!("[{task}] The training input is being uploaded."),
            Self::OutputUploaded { task, seconds, parameter } => {
                format!("[{task}] [Duration: {seconds:.3}] Training output (parameter: {parameter}) uploaded.")
            }
            Self::PodPulled { pod, image } => format!("[Pod: {pod}] Pulled: Successfully pulled image \"{image}\""),
            Self::PodCreated { pod } => format!("[Pod: {pod}] SuccessfulCreate: Created container"),
            Self::PodStarted { pod } => format!("[Pod: {pod}] Started: Started container"),
            Self::TerminateJob { job } => format!("[Job: {job}] ExecuteAction: Start to execute action TerminateJob"),
            Self::Given { message, .. } => message.clone(),
        }
    }

    /// The six kinds whose text in the API differs from the guide's (seed 001).
    fn api_message(&self) -> Option<String> {
        Some(match self {
            Self::Running => "Training job is running.".into(),
            Self::Failed => "Training job failed.".into(),
            Self::TaskStarted { task } => format!("[{task}] training started."),
            Self::TaskFinished { task, exit_code } => {
                format!("[{task}] Training finished. Exit code {exit_code}.")
            }
            Self::OutputUploading { task, parameter } => {
                format!("[{task}] Training output(parameter name: {parameter}) Uploading.")
            }
            Self::OutputUploaded {
                task,
                seconds,
                parameter,
            } => {
                format!(
                    "[{task}][time used: {seconds:.3}s] Upload training output(parameter name: {parameter}) finished."
                )
            }
            _ => return None,
        })
    }

    /// The level. An exit code other than 0 is still `Info`: only the job's last event is `Error`.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::Given { level, .. } => *level,
            Self::CreateFailed { .. }
            | Self::PrepareTimedOut
            | Self::QueueFailed
            | Self::Failed
            | Self::PreCheckFailed { .. }
            | Self::CodeDownloadFailed { .. }
            | Self::InputDownloadFailed { .. } => Level::Error,
            Self::Preempted | Self::MaybeHanging | Self::DependenciesFailed { .. } => {
                Level::Warning
            }
            _ => Level::Info,
        }
    }

    /// The source, spelled as seen: `Pulled` says `K8s` where the other Kubernetes texts say `K8S`.
    #[must_use]
    pub const fn source(&self) -> &'static str {
        match self {
            Self::Given { source, .. } => match source {
                Source::K8S => "K8S",
                Source::Job => "Job",
                Source::Task => "Task",
            },
            Self::PodPulled { .. } => "K8s",
            Self::PodCreated { .. } | Self::PodStarted { .. } | Self::TerminateJob { .. } => "K8S",
            Self::PreCheckStarted { .. }
            | Self::PreCheckDone { .. }
            | Self::PreCheckFailed { .. }
            | Self::CodeDownloading { .. }
            | Self::CodeDownloaded { .. }
            | Self::CodeDownloadFailed { .. }
            | Self::InputDownloading { .. }
            | Self::InputDownloaded { .. }
            | Self::InputDownloadFailed { .. }
            | Self::DependenciesInstalling { .. }
            | Self::DependenciesInstalled { .. }
            | Self::DependenciesFailed { .. }
            | Self::TaskStarted { .. }
            | Self::TaskFinished { .. }
            | Self::OutputUploading { .. }
            | Self::OutputUploaded { .. } => "Task",
            _ => "Job",
        }
    }
}

/// One event of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) time: Timestamp,
    pub(crate) kind: EventKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 32 lines of the events guide (seed 000) in its order, with the placeholders filled in.
    /// Its two lines on a failed pre-check are the same.
    #[test]
    fn the_guide_wording_is_the_guides() {
        let task = || "worker-0".to_owned();
        let seconds = 1.5;
        let pairs = [
            (EventKind::Created, "Training job created."),
            (
                EventKind::CreateFailed {
                    cause: "no flavor".into(),
                },
                "Training job failures: no flavor",
            ),
            (
                EventKind::PrepareTimedOut,
                "Preparations timed out. The possible cause is that the cross-region algorithm synchronization or creating shared storage timed out.",
            ),
            (
                EventKind::Queuing,
                "The training job is queuing and awaiting resource allocation.",
            ),
            (EventKind::QueueFailed, "Failed to be queued."),
            (EventKind::Running, "The training job starts to run."),
            (EventKind::Completed, "Training job executed."),
            (EventKind::Failed, "Failed to run the training job."),
            (EventKind::Preempted, "The training job is preempted."),
            (
                EventKind::MaybeHanging,
                "The system detects that your training job may be suspended. Go to the job details page to view the cause and handle the issue.",
            ),
            (EventKind::Restarted, "The training job has been restarted."),
            (
                EventKind::StoppedByUser,
                "The training job has been manually stopped.",
            ),
            (
                EventKind::AutoStopped { hours: 1 },
                "The training job has been stopped. (Maximum running duration: 1 hour)",
            ),
            (
                EventKind::AutoStopped { hours: 3 },
                "The training job has been stopped. (Maximum running duration: 3 hours)",
            ),
            (
                EventKind::Deleted,
                "The training job has been manually deleted.",
            ),
            (EventKind::Billed, "Billing information synchronized."),
            (
                EventKind::PreCheckStarted { task: task() },
                "[worker-0] The training environment is being pre-checked.",
            ),
            (
                EventKind::PreCheckDone {
                    task: task(),
                    seconds,
                },
                "[worker-0] [Duration: 1.500] Pre-check completed.",
            ),
            (
                EventKind::PreCheckFailed {
                    task: task(),
                    seconds,
                    error: "dns".into(),
                },
                "[worker-0] [Duration: 1.500] Pre-check failed. Error: dns",
            ),
            (
                EventKind::CodeDownloading { task: task() },
                "[worker-0] The training code is being downloaded.",
            ),
            (
                EventKind::CodeDownloaded {
                    task: task(),
                    seconds,
                },
                "[worker-0] [Duration: 1.500] Training code downloaded.",
            ),
            (
                EventKind::CodeDownloadFailed {
                    task: task(),
                    seconds,
                    cause: "gone".into(),
                },
                "[worker-0] [Duration: 1.500] Failed to download the training code. Failure cause: gone",
            ),
            (
                EventKind::InputDownloading { task: task() },
                "[worker-0] The training input is being downloaded.",
            ),
            (
                EventKind::InputDownloaded {
                    task: task(),
                    seconds,
                    parameter: "data_url".into(),
                },
                "[worker-0] [Duration: 1.500] Training input (parameter: data_url) downloaded.",
            ),
            (
                EventKind::InputDownloadFailed {
                    task: task(),
                    seconds,
                    parameter: "data_url".into(),
                    cause: "gone".into(),
                },
                "[worker-0] [Duration: 1.500] Failed to download the training input (parameter: data_url). Failure cause: gone",
            ),
            (
                EventKind::DependenciesInstalling {
                    task: task(),
                    files: "requirements.txt".into(),
                },
                "[worker-0] Python dependency packages are being installed. Import the following files: requirements.txt",
            ),
            (
                EventKind::DependenciesInstalled {
                    task: task(),
                    seconds,
                    files: "requirements.txt".into(),
                },
                "[worker-0] [Duration: 1.500] Python dependency packages installed. Import the following files: requirements.txt",
            ),
            (
                EventKind::TaskStarted { task: task() },
                "[worker-0] The training job starts to run.",
            ),
            (
                EventKind::TaskFinished {
                    task: task(),
                    exit_code: 0,
                },
                "[worker-0] Training job executed.",
            ),
            (
                EventKind::OutputUploading {
                    task: task(),
                    parameter: "train_url".into(),
                },
                "[worker-0] The training input is being uploaded.",
            ),
            (
                EventKind::OutputUploaded {
                    task: task(),
                    seconds,
                    parameter: "train_url".into(),
                },
                "[worker-0] [Duration: 1.500] Training output (parameter: train_url) uploaded.",
            ),
        ];
        assert_eq!(pairs.len(), 31, "32 lines, of which two are the same");
        for (kind, text) in pairs {
            assert_eq!(kind.message(Wording::Guide), text);
            assert_eq!(
                kind.source(),
                if text.starts_with('[') { "Task" } else { "Job" },
                "{text}"
            );
        }
    }

    /// The ten lines of the events API's example (seed 001), oldest first.
    #[test]
    fn the_api_wording_is_the_apis() {
        let pod = || "modelarts-job-5bd61eea-worker-0".to_owned();
        let task = || "worker-0".to_owned();
        let parameter = || "train_url".to_owned();
        let rows = [
            (
                EventKind::PodPulled {
                    pod: pod(),
                    image: "a/b:1".into(),
                },
                "Info",
                "K8s",
                "[Pod: modelarts-job-5bd61eea-worker-0] Pulled: Successfully pulled image \"a/b:1\"",
            ),
            (
                EventKind::PodCreated { pod: pod() },
                "Info",
                "K8S",
                "[Pod: modelarts-job-5bd61eea-worker-0] SuccessfulCreate: Created container",
            ),
            (
                EventKind::PodStarted { pod: pod() },
                "Info",
                "K8S",
                "[Pod: modelarts-job-5bd61eea-worker-0] Started: Started container",
            ),
            (
                EventKind::Running,
                "Info",
                "Job",
                "Training job is running.",
            ),
            (
                EventKind::TaskStarted { task: task() },
                "Info",
                "Task",
                "[worker-0] training started.",
            ),
            (
                EventKind::TaskFinished {
                    task: task(),
                    exit_code: 1,
                },
                "Info",
                "Task",
                "[worker-0] Training finished. Exit code 1.",
            ),
            (
                EventKind::OutputUploading {
                    task: task(),
                    parameter: parameter(),
                },
                "Info",
                "Task",
                "[worker-0] Training output(parameter name: train_url) Uploading.",
            ),
            (
                EventKind::OutputUploaded {
                    task: task(),
                    seconds: 0.296,
                    parameter: parameter(),
                },
                "Info",
                "Task",
                "[worker-0][time used: 0.296s] Upload training output(parameter name: train_url) finished.",
            ),
            (
                EventKind::TerminateJob {
                    job: "modelarts-job-5bd61eea".into(),
                },
                "Info",
                "K8S",
                "[Job: modelarts-job-5bd61eea] ExecuteAction: Start to execute action TerminateJob",
            ),
            (EventKind::Failed, "Error", "Job", "Training job failed."),
        ];
        for (kind, level, source, text) in rows {
            assert_eq!(
                (kind.level().as_str(), kind.source()),
                (level, source),
                "{text}"
            );
            assert_eq!(kind.message(Wording::Api), text);
        }
    }
}
