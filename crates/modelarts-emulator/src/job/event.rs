//! Kinds of events. Their texts, levels and sources are those of `x-events` in the OpenAPI
//! description; six kinds have two wordings, of which [`Wording`] selects one.

use modelarts_api::{EVENTS, EventRow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::timestamp::Timestamp;

/// Wording of events for which the guide (F1) and the API (F2) have different texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Wording {
    /// Text of the events API, or text of the guide if the text of the API is not known.
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

impl Source {
    const fn as_str(self) -> &'static str {
        match self {
            Self::K8S => "K8S",
            Self::Job => "Job",
            Self::Task => "Task",
        }
    }
}

/// Kind of an event, with the values that its text contains.
///
/// `task` is a task name (`worker-0`), `pod` and `job` are Kubernetes names, and `seconds` is a
/// duration in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are explained above, the texts stand in `message`")]
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
    /// All containers have started, and the job enters the phase Running.
    Running,
    /// The code exited with code 0.
    Completed,
    /// The code exited with a code other than 0, or a node failed.
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
    PreCheckFailed { task: String, seconds: f64, error: String },
    /// The code is being downloaded.
    CodeDownloading { task: String },
    /// The code is downloaded.
    CodeDownloaded { task: String, seconds: f64 },
    /// The code could not be downloaded.
    CodeDownloadFailed { task: String, seconds: f64, cause: String },
    /// An input is being downloaded.
    InputDownloading { task: String },
    /// An input is downloaded.
    InputDownloaded { task: String, seconds: f64, parameter: String },
    /// An input could not be downloaded.
    InputDownloadFailed { task: String, seconds: f64, parameter: String, cause: String },
    /// Packages are being installed.
    DependenciesInstalling { task: String, files: String },
    /// Packages are installed.
    DependenciesInstalled { task: String, seconds: f64, files: String },
    /// Packages could not be installed. The text is the emulator's own.
    DependenciesFailed { task: String, seconds: f64, files: String, cause: String },
    /// The code started.
    TaskStarted { task: String },
    /// The code ended.
    TaskFinished { task: String, exit_code: i32 },
    /// An output is being uploaded. The text of the guide incorrectly says "input" (D-145).
    OutputUploading { task: String, parameter: String },
    /// An output is uploaded.
    OutputUploaded { task: String, seconds: f64, parameter: String },
    /// Kubernetes pulled the image.
    PodPulled { pod: String, image: String },
    /// Kubernetes created the container.
    PodCreated { pod: String },
    /// Kubernetes started the container.
    PodStarted { pod: String },
    /// The containers are being ended.
    TerminateJob { job: String },
    /// Event with an arbitrary text: from a seed, or reported by the code of a task.
    Given { message: String, level: Level, source: Source },
}

/// Text for a failed installation of packages, for which the documents have none.
const DEPENDENCIES_FAILED: &str = "[{task}] [Duration: {seconds}] Failed to install Python \
     dependency packages. Import the following files: {files}. Failure cause: {cause}";

impl EventKind {
    /// Returns the text of the event in English.
    #[must_use]
    pub fn message(&self, wording: Wording) -> String {
        let cluster = |object: &str, name: &str, reason: &str, text: &str| {
            format!("[{object}: {name}] {reason}: {text}")
        };
        match self {
            Self::Given { message, .. } => return message.clone(),
            Self::PodPulled { pod, image } => {
                let text = format!("Successfully pulled image \"{image}\"");
                return cluster("Pod", pod, "Pulled", &text);
            }
            Self::PodCreated { pod } => {
                return cluster("Pod", pod, "SuccessfulCreate", "Created container");
            }
            Self::PodStarted { pod } => {
                return cluster("Pod", pod, "Started", "Started container");
            }
            Self::TerminateJob { job } => {
                let text = "Start to execute action TerminateJob";
                return cluster("Job", job, "ExecuteAction", text);
            }
            _ => {}
        }
        let row = self.row();
        let api = row.and_then(|row| row.api).filter(|_| wording == Wording::Api);
        let guide = row.and_then(|row| row.guide);
        self.fill(api.or(guide).unwrap_or(DEPENDENCIES_FAILED))
    }

    /// Returns the level. `TaskFinished` has the level `Info` for every exit code.
    #[must_use]
    pub fn level(&self) -> Level {
        match (self, self.row()) {
            (Self::Given { level, .. }, _) => *level,
            (Self::DependenciesFailed { .. }, _) => Level::Warning,
            (_, Some(row)) if row.level == Level::Error.as_str() => Level::Error,
            (_, Some(row)) if row.level == Level::Warning.as_str() => Level::Warning,
            _ => Level::Info,
        }
    }

    /// Returns `true` if the event is the last of a job before the billing event, on the service.
    pub(crate) fn is_final(&self) -> bool {
        self.row().is_some_and(|row| row.is_final)
    }

    /// Returns the source, in the spelling of F2 in `openapi/SOURCES.md`: `K8s` for `Pulled`, `K8S`
    /// for the other events of the cluster (D-54).
    #[must_use]
    pub fn source(&self) -> &'static str {
        match (self, self.row()) {
            (Self::Given { source, .. }, _) => source.as_str(),
            (Self::PodPulled { .. }, _) => "K8s",
            (Self::DependenciesFailed { .. }, _) => Source::Task.as_str(),
            (_, Some(row)) => row.source,
            (_, None) => Source::K8S.as_str(),
        }
    }

    /// Returns the row of the OpenAPI description, or `None` for texts of the cluster and emulator.
    fn row(&self) -> Option<&'static EventRow> {
        if matches!(self, Self::Given { .. }) {
            return None;
        }
        let (name, _) = self.name_and_fields();
        EVENTS.iter().find(|row| row.kind == name)
    }

    pub(super) fn name_and_fields(&self) -> (String, Map<String, Value>) {
        match serde_json::to_value(self) {
            Ok(Value::Object(kind)) => match kind.into_iter().next() {
                Some((name, Value::Object(fields))) => (name, fields),
                _ => (String::new(), Map::new()),
            },
            Ok(Value::String(name)) => (name, Map::new()),
            _ => (String::new(), Map::new()),
        }
    }

    pub(super) fn fill(&self, template: &str) -> String {
        let (_, fields) = self.name_and_fields();
        let value = |name: &str| match fields.get(name) {
            Some(Value::Number(seconds)) if name == "seconds" => {
                format!("{:.3}", seconds.as_f64().unwrap_or_default())
            }
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => match fields.get("hours").filter(|_| name == "limit") {
                Some(hours) if *hours == 1 => "1 hour".to_owned(),
                Some(hours) => format!("{hours} hours"),
                None => String::new(),
            },
        };
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            text.push_str(before);
            text.push_str(&value(name));
            rest = after;
        }
        text + rest
    }
}

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
    const NOT_IN_CATALOGUE: [&str; 6] =
        ["DependenciesFailed", "Given", "PodPulled", "PodCreated", "PodStarted", "TerminateJob"];

    /// Reads `x-events` of the OpenAPI description.
    fn catalogue() -> Value {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/events.yaml");
        serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
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
        let mut text = template.replace("{limit}", &hours).replace("{seconds}", &seconds);
        for (name, value) in fields.as_object().unwrap() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
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
            EventKind::PodPulled { pod: pod.clone(), image },
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
        let message = serde_json::from_value::<EventKind>(json!("?")).unwrap_err().to_string();
        let variants: BTreeSet<&str> = message.split('`').skip(3).step_by(2).collect();
        let catalogue = catalogue();
        let rows = catalogue["kinds"].as_array().unwrap().iter();
        let mut kinds: BTreeSet<&str> = rows.map(|row| row["kind"].as_str().unwrap()).collect();
        kinds.remove("Cluster");
        kinds.extend(NOT_IN_CATALOGUE);
        assert_eq!(variants, kinds);
    }
}
