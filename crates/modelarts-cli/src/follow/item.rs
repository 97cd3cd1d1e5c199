//! `Item`: the items of the format `ndjson` for a followed job.

use std::{collections::BTreeMap, time::SystemTime};

use modelarts_ext::{Event, Job, Outcome, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::output::obs_address;

/// Item of a followed job in the format `ndjson`; `type` names its kind.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Item {
    /// The job was created.
    Submitted {
        /// The job.
        job: JobName,
        /// `true` if the job runs on this machine.
        local: bool,
        /// Address of the code in OBS.
        code: Option<String>,
        /// Addresses of the inputs in OBS, by their names.
        inputs: BTreeMap<String, String>,
        /// Addresses of the outputs in OBS, by their names.
        outputs: BTreeMap<String, String>,
        /// Time, RFC 3339.
        time: String,
    },
    /// The phase of the job changed.
    Phase {
        /// Phase, such as `Running`.
        phase: String,
        /// Detailed phase, if the service states one.
        secondary_phase: Option<String>,
        /// Time of the observation, RFC 3339.
        time: String,
    },
    /// An event of the job.
    Event(EventItem),
    /// A line of the log of a task.
    Log {
        /// Task, such as `worker-0`.
        task: String,
        /// The line, without its line break.
        line: String,
    },
    /// Missing lines in the log of a task.
    LogGap {
        /// Task, such as `worker-0`.
        task: String,
        /// Number of missing bytes, if it is known.
        bytes: Option<u64>,
    },
    /// The job cannot be read at the moment.
    Interrupted {
        /// The error.
        error: String,
        /// Time of the observation, RFC 3339.
        time: String,
    },
    /// The job can be read again.
    Resumed {
        /// Time of the observation, RFC 3339.
        time: String,
    },
    /// The command ended.
    End {
        /// The end.
        #[serde(flatten)]
        end: JobEnd,
        /// Time, RFC 3339.
        time: String,
    },
}

/// Name and id of a job.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct JobName {
    /// Id of the job.
    pub(crate) id: String,
    /// Name of the job.
    pub(crate) name: String,
}

impl JobName {
    pub(crate) fn new(job: &Job) -> Self {
        Self { id: job.id().to_owned(), name: job.name().to_owned() }
    }
}

/// An event of a job.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct EventItem {
    /// Time of the event, RFC 3339.
    pub(crate) time: String,
    /// Severity: `Info`, `Warning`, `Error`.
    pub(crate) level: String,
    /// Source: `Job`, `Task`, `K8S` for the cluster, which the service also spells `K8s`.
    pub(crate) source: String,
    /// Message as the service states it.
    pub(crate) message: String,
    /// Kind of the event, such as `task_finished`.
    pub(crate) kind: String,
    /// Task of the event, such as `worker-0`.
    #[serde(default)]
    pub(crate) task: Option<String>,
    /// Number of the task among those of its role, such as 0.
    #[serde(default)]
    pub(crate) worker: Option<u64>,
    /// Exit code of a task that finished.
    #[serde(default)]
    pub(crate) exit_code: Option<i64>,
    /// Seconds that a step took.
    #[serde(default, alias = "took_seconds")]
    pub(crate) seconds: Option<f64>,
    /// Other values of the message, such as `parameter` and `cause`.
    #[serde(flatten)]
    pub(crate) values: Map<String, Value>,
}

impl EventItem {
    /// Converts an event. Returns `None` if it has no JSON form, which does not occur.
    pub(crate) fn new(event: &Event) -> Option<Self> {
        let mut item: Self = serde_json::from_value(serde_json::to_value(event).ok()?).ok()?;
        let task = item.task.as_deref().and_then(|task| task.rsplit_once('-'));
        item.worker = task.and_then(|(_, number)| number.parse().ok());
        Some(item)
    }
}

/// The end of a job, or of the command that followed it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct JobEnd {
    /// The job.
    pub(crate) job: JobName,
    /// `completed`, `failed`, `terminated`, `abnormal`, `vanished`; `timed_out` or `interrupted` if
    /// it was not waited for until its end; null if it was not waited for.
    pub(crate) outcome: Option<String>,
    /// The outcome as a clause.
    pub(crate) summary: Option<String>,
    /// Exit code of the task that failed, or 0.
    pub(crate) exit_code: Option<i64>,
    /// The task that failed.
    pub(crate) task: Option<String>,
    /// Cause of a failure, as in `modelarts explain`; null if it is unknown.
    pub(crate) cause: Option<String>,
    /// Seconds for which the job ran.
    pub(crate) seconds: Option<f64>,
    /// Addresses of the outputs in OBS, by their names.
    pub(crate) outputs: BTreeMap<String, String>,
    /// Directories of downloaded outputs, by their names.
    pub(crate) downloaded: BTreeMap<String, String>,
}

impl JobEnd {
    /// Creates the end of a job for which the command did not wait, or which continues.
    pub(crate) fn new(job: &Job) -> Self {
        let outputs = job.outputs();
        Self {
            job: JobName::new(job),
            outcome: None,
            summary: None,
            exit_code: None,
            task: None,
            cause: None,
            seconds: job.time_run().map(|time| time.as_secs_f64()),
            outputs: outputs.map(|(name, url)| (name.to_owned(), obs_address(url))).collect(),
            downloaded: BTreeMap::new(),
        }
    }

    pub(crate) fn outcome(mut self, outcome: &Outcome) -> Self {
        self.outcome = outcome_name(outcome);
        self.summary = Some(outcome.to_string());
        match outcome {
            Outcome::Completed => self.exit_code = Some(0),
            Outcome::Failed { exit_code, task, .. } => {
                (self.exit_code, self.task) = (*exit_code, task.clone())
            }
            _ => {}
        }
        self
    }

    /// Sets the outcome of a command that ended before the job.
    pub(crate) fn ended_early(mut self, outcome: &str, summary: &str) -> Self {
        self.outcome = Some(outcome.to_owned());
        self.summary = Some(summary.to_owned());
        self
    }
}

/// Returns the name of an outcome, such as `completed`.
pub(crate) fn outcome_name(outcome: &Outcome) -> Option<String> {
    // The outcome is serialized as an object with its name.
    let json = serde_json::to_value(outcome).ok()?;
    json["outcome"].as_str().map(str::to_owned)
}

/// Returns the current time in the format of RFC 3339, with milliseconds.
pub(crate) fn now() -> String {
    let now = Timestamp::from(SystemTime::now()).as_epoch_millis();
    Timestamp::from_epoch_millis(now).to_string()
}
