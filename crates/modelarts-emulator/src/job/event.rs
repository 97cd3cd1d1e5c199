//! Texts of events. Tests compare them with `x-events` in the OpenAPI description.
//!
//! Six kinds have two wordings: that of the user guide (`openapi/SOURCES.md`, F1) and that of the
//! API (F2). [`Wording`] selects one of the two.

use serde::{Deserialize, Serialize};

use crate::clock::timestamp::Timestamp;

/// Wording of events for which the guide (F1) and the API (F2) have different texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// Text of the events API (`Training job is running.`). Kinds whose text in the API is not
    /// known have that of the guide.
    #[default]
    Api,
    /// Text of the events guide (`The training job starts to run.`).
    Guide,
}

/// Severity of an event: its field `level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// A step of an ordinary run.
    #[default]
    Info,
    /// A condition that may need attention.
    Warning,
    /// A failure.
    Error,
}

impl Level {
    /// Returns the value of `level` in responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// Origin of an event: its field `source`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The Kubernetes cluster.
    K8S,
    /// The job.
    #[default]
    Job,
    /// One of the tasks of the job.
    Task,
}

/// Kind of an event, with the values that its text contains.
///
/// `task` is a task name (`worker-0`), `pod` and `job` are Kubernetes names, and `seconds` is a
/// duration in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields are explained above, the texts stand in `message`"
)]
pub enum EventKind {
    /// The job was accepted.
    Created,
    /// The job could not be created. `cause` follows the colon in the text.
    CreateFailed { cause: String },
    /// The preparation exceeded its time limit.
    PrepareTimedOut,
    /// The job waits for resources.
    Queuing,
    /// The job could not be queued.
    QueueFailed,
    /// The nodes of the job are up.
    Running,
    /// The code exited with code 0.
    Completed,
    /// The code exited with a code other than 0.
    Failed,
    /// A preemptible job lost its nodes.
    Preempted,
    /// Hang detection found no progress.
    MaybeHanging,
    /// The job was started again: a retry or a rescheduling.
    Restarted,
    /// A user stopped the job.
    StoppedByUser,
    /// The job reached its maximum running duration.
    AutoStopped { hours: u32 },
    /// A user deleted the job.
    Deleted,
    /// The job was billed. This event follows the final event.
    Billed,
    /// The environment pre-check began.
    PreCheckStarted { task: String },
    /// The environment pre-check passed.
    PreCheckDone { task: String, seconds: f64 },
    /// The environment pre-check failed.
    PreCheckFailed {
        task: String,
        seconds: f64,
        error: String,
    },
    /// The code is being downloaded.
    CodeDownloading { task: String },
    /// The code is downloaded.
    CodeDownloaded { task: String, seconds: f64 },
    /// The code could not be downloaded.
    CodeDownloadFailed {
        task: String,
        seconds: f64,
        cause: String,
    },
    /// An input is being downloaded.
    InputDownloading { task: String },
    /// An input is downloaded.
    InputDownloaded {
        task: String,
        seconds: f64,
        parameter: String,
    },
    /// An input could not be downloaded.
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
    /// Packages could not be installed. The documents contain no text for this event, so the
    /// emulator uses its own.
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
    /// An output is being uploaded. The text of the guide incorrectly says "input" (D-145).
    OutputUploading { task: String, parameter: String },
    /// An output is uploaded.
    OutputUploaded {
        task: String,
        seconds: f64,
        parameter: String,
    },
    /// Kubernetes pulled the image.
    PodPulled { pod: String, image: String },
    /// Kubernetes created the container.
    PodCreated { pod: String },
    /// Kubernetes started the container.
    PodStarted { pod: String },
    /// The containers are being ended.
    TerminateJob { job: String },
    /// Event with an arbitrary text: from a seed, or reported by the code of a task.
    Given {
        message: String,
        level: Level,
        source: Source,
    },
}

impl EventKind {
    /// Returns the text in English.
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

    /// Returns the text of the API, for the six kinds whose text differs from that in the guide.
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

    /// Returns the level. A task that ends with an exit code other than 0 still has the level
    /// `Info`, because only the job's last event is `Error`.
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

    /// Returns true if no event except the billing event follows this one.
    pub(crate) const fn is_final(&self) -> bool {
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

    /// Returns the source, in the spelling of F2 in `openapi/SOURCES.md`: `K8s` for `Pulled`, `K8S`
    /// for the other events of the cluster (D-54).
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
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;

    /// Kinds that the catalogue does not contain, or that it combines into the kind `Cluster`.
    const NOT_IN_CATALOGUE: [&str; 6] = [
        "DependenciesFailed",
        "Given",
        "PodPulled",
        "PodCreated",
        "PodStarted",
        "TerminateJob",
    ];

    /// Reads `x-events` of the OpenAPI description.
    fn catalogue() -> Value {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/modelarts.yaml");
        let description = std::fs::read_to_string(file).unwrap();
        let description: Value = serde_saphyr::from_str(&description).unwrap();
        description["x-events"].clone()
    }

    /// Builds a kind from its name and, if it has fields, from their values in `fields`.
    fn kind(name: &str, fields: &Value) -> EventKind {
        let with_fields = serde_json::from_value(json!({ name: fields }));
        with_fields.unwrap_or_else(|_| serde_json::from_value(json!(name)).unwrap())
    }

    /// Fills in a template with the values of these fields.
    fn fill(template: &str, fields: &Value) -> String {
        let hours = match fields["hours"].as_u64().unwrap() {
            1 => "1 hour".to_owned(),
            hours => format!("{hours} hours"),
        };
        let seconds = format!("{:.3}", fields["seconds"].as_f64().unwrap());
        let mut text = template
            .replace("{limit}", &hours)
            .replace("{seconds}", &seconds);
        for (name, value) in fields.as_object().unwrap() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        text
    }

    #[test]
    fn texts_levels_and_sources_are_those_of_the_description() {
        let values = [
            json!({
                "task": "worker-0", "seconds": 1.5, "cause": "no flavor", "error": "dns",
                "files": "requirements.txt", "parameter": "data_url", "hours": 1, "exit_code": 0,
            }),
            json!({
                "task": "worker-12", "seconds": 0.296, "cause": "", "error": "a: b",
                "files": "a.txt, b.txt", "parameter": "train_url", "hours": 72, "exit_code": 137,
            }),
        ];
        for row in catalogue()["kinds"].as_array().unwrap() {
            let name = row["kind"].as_str().unwrap();
            if name == "Cluster" {
                continue;
            }
            let guide = row["texts"]["guide"][0].as_str().unwrap();
            let api = row["texts"]["api"][0].as_str().unwrap_or(guide);
            for fields in &values {
                let kind = kind(name, fields);
                assert_eq!(kind.message(Wording::Guide), fill(guide, fields));
                assert_eq!(kind.message(Wording::Api), fill(api, fields));
                assert_eq!(kind.level().as_str(), row["level"], "{name}");
                assert_eq!(kind.source(), row["source"], "{name}");
                assert_eq!(kind.is_final(), row["final"] == true, "{name}");
            }
        }
    }

    #[test]
    fn events_of_the_cluster_are_those_of_the_description() {
        let job = "modelarts-job-c1b7e5de-0f43-4a57-9d0e-6a2f1f8f2b11".to_owned();
        let (pod, image) = (format!("{job}-worker-0"), "example/trainer:1.0".to_owned());
        let kinds = [
            EventKind::PodPulled {
                pod: pod.clone(),
                image,
            },
            EventKind::PodCreated { pod: pod.clone() },
            EventKind::PodStarted { pod },
            EventKind::TerminateJob { job },
        ];
        let catalogue = catalogue();
        let mut rows = catalogue["kinds"].as_array().unwrap().iter();
        let cluster = rows.find(|row| row["kind"] == "Cluster").unwrap();
        let examples = kinds.each_ref().map(|kind| {
            assert_eq!(kind.level().as_str(), cluster["level"]);
            json!({"source": kind.source(), "text": kind.message(Wording::Api)})
        });
        assert_eq!(cluster["examples"], json!(examples));
        for kind in kinds {
            assert_eq!(kind.message(Wording::Guide), kind.message(Wording::Api));
        }
    }

    #[test]
    fn the_kinds_are_those_of_the_description() {
        // For an unknown variant, the error message of serde lists all variants.
        let message = serde_json::from_value::<EventKind>(json!("?"))
            .unwrap_err()
            .to_string();
        let variants: BTreeSet<&str> = message.split('`').skip(3).step_by(2).collect();
        let catalogue = catalogue();
        let rows = catalogue["kinds"].as_array().unwrap().iter();
        let mut kinds: BTreeSet<&str> = rows.map(|row| row["kind"].as_str().unwrap()).collect();
        kinds.remove("Cluster");
        kinds.extend(NOT_IN_CATALOGUE);
        assert_eq!(variants, kinds);
    }
}
