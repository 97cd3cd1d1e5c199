//! `Diagnosis`: the result of `explain`, as a value, as text and as JSON.

use std::fmt;

use modelarts_api::{
    Cause,
    diagnosis::{Confidence, Link},
    types::{EventLevel, Phase},
};
use serde::Serialize;

use crate::{jobs::logs::repeats::grouped, timestamp::Timestamp};

/// Diagnosis of a job, from [`JobHandle::explain`](crate::JobHandle::explain).
///
/// The display form has several lines, and the JSON form is an object:
///
/// ```text
/// leaves-6 Failed: worker-0 ran out of memory (exit code 137).
/// Confidence: certain
/// Evidence:
///   2026-01-15T08:31:05Z worker-0 exit code 137 (128 + SIGKILL, often out of memory)
///   2026-01-15T08:30:45Z worker-0 memUsage: 99 %
/// Advice:
///   Choose a flavor with more memory than modelarts.vm.cpu.8u (32 GB), or lower the batch size and
///   the number of data loader processes. See: Training Job Process Exits Unexpectedly:
///   https://support.huaweicloud.com/intl/en-us/trouble-modelarts/modelarts_13_0074.html
/// ```
///
/// ```json
/// {"id": "cf63aba9-63b1-4219-b717-708a2665100b", "name": "leaves-6", "phase": "Failed",
///  "task": "worker-0", "exit_code": 137, "cause": "out_of_memory", "confidence": "certain",
///  "summary": "worker-0 ran out of memory (exit code 137)",
///  "evidence": [{"time": "2026-01-15T08:31:05Z", "task": "worker-0", "source": "exit_code",
///                "exit_code": 137, "meaning": "128 + SIGKILL, often out of memory"}],
///  "advice": ["Choose a flavor with more memory."],
///  "links": [{"title": "Training Job Process Exits Unexpectedly", "url": "https://..."}]}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Id of the job.
    pub id: String,
    /// Name of the job.
    pub name: String,
    /// Phase of the job.
    pub phase: Phase,
    /// Task that failed, such as `worker-0`, if the evidence shows one.
    pub task: Option<String>,
    /// Exit code of the failed task, if the evidence shows one.
    pub exit_code: Option<i64>,
    /// Cause of the state of the job.
    pub cause: Cause,
    /// Confidence in the cause.
    pub confidence: Confidence,
    /// Cause as a clause, such as `worker-0 ran out of memory (exit code 137)`.
    pub summary: String,
    /// Facts that the diagnosis is based on, and those that could not be read.
    pub evidence: Vec<Evidence>,
    /// Recommended next steps, one sentence each.
    pub advice: Vec<String>,
    /// Links to documents about the cause.
    pub links: Vec<Link>,
}

/// Fact that a diagnosis is based on, with its time and its task, if known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// Time of the fact, if known.
    pub time: Option<Timestamp>,
    /// Task of the fact, such as `worker-0`, if the fact concerns a task.
    pub task: Option<String>,
    /// Kind and values of the fact. As JSON, they are fields of the evidence.
    #[serde(flatten)]
    pub fact: Fact,
}

/// Fact of an [`Evidence`]. As JSON, an object with the kind of the fact (`source`) and its fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// Status in the details of the job.
    Status {
        /// Text of the status, such as the detailed phase.
        text: String,
    },
    /// Exit code of the task.
    ExitCode {
        /// Exit code of the task.
        exit_code: i64,
        /// Meaning of the exit code, such as its signal with the usual reason, if known.
        meaning: Option<String>,
    },
    /// Event of the job.
    Event {
        /// Severity of the event.
        level: EventLevel,
        /// Message of the event.
        message: String,
    },
    /// Line of the log of the task, without control characters, truncated to 300 characters.
    Log {
        /// Number of the line, counted from 1. `None` if only the end of the log was read.
        line: Option<u64>,
        /// Text of the line.
        text: String,
        /// Number of lines with this text from this line on, apart from their times. A lower limit
        /// if the number of the line is not known.
        times: u64,
    },
    /// Cause in the service's own diagnosis of the job.
    Platform {
        /// Code of the cause, such as `MDC.300710`.
        code: String,
        /// Other texts of the entry; empty if it has none.
        text: String,
    },
    /// Resource usage of the machine of the task shortly before the end of the task.
    Metric {
        /// Name of the metric, such as `memUsage`.
        metric: String,
        /// Highest of the last values, in percent.
        percent: f64,
    },
    /// Run of a job that was restarted.
    Run {
        /// Number of the run, starting at 1.
        run: usize,
        /// Total number of runs.
        runs: usize,
        /// Reason for the end of the run.
        reason: String,
    },
    /// Queue of a dedicated pool, as visible from the jobs of this project.
    Queue {
        /// Id of the pool.
        pool: String,
        /// Number of earlier jobs in the pool, among the 50 oldest pending jobs of the project.
        jobs_before: usize,
        /// Names of up to five of the earlier jobs.
        names: Vec<String>,
    },
    /// Information that the diagnosis lacks, because it could not be read.
    Unavailable {
        /// Name of the information, such as `events`.
        what: String,
        /// Message of the error.
        error: String,
    },
}

impl Evidence {
    pub(super) fn new(task: Option<&str>, fact: Fact) -> Self {
        Self { time: None, task: task.map(str::to_owned), fact }
    }

    pub(super) fn at(mut self, time: Option<Timestamp>) -> Self {
        self.time = time;
        self
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.name.as_str() {
            "" => &self.id,
            name => name,
        };
        write!(f, "{name} {}: {}.", self.phase, self.summary)?;
        write!(f, "\nConfidence: {}", self.confidence)?;
        section(f, "Evidence", &self.evidence)?;
        section(f, "Advice", &self.advice)?;
        section(f, "See", &self.links)
    }
}

fn section(f: &mut fmt::Formatter<'_>, title: &str, lines: &[impl fmt::Display]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    write!(f, "\n{title}:")?;
    lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(time) = self.time {
            write!(f, "{time} ")?;
        }
        // The message of an event contains its task.
        if let (Some(task), false) = (&self.task, matches!(self.fact, Fact::Event { .. })) {
            write!(f, "{task} ")?;
        }
        self.fact.fmt(f)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { text } => write!(f, "status: {text}"),
            Self::ExitCode { exit_code, meaning } => {
                write!(f, "exit code {exit_code}")?;
                match meaning {
                    Some(meaning) => write!(f, " ({meaning})"),
                    None => Ok(()),
                }
            }
            Self::Event { message, .. } => write!(f, "event: {message}"),
            Self::Log { line, text, times } => {
                match line {
                    Some(line) => write!(f, "log line {line}: {text}")?,
                    None => write!(f, "log: {text}")?,
                }
                match (times, line) {
                    (0 | 1, _) => Ok(()),
                    (times, Some(_)) => write!(f, " ({} times)", grouped(*times)),
                    (times, None) => write!(f, " (at least {} times)", grouped(*times)),
                }
            }
            Self::Platform { code, text } if text.is_empty() => write!(f, "diagnosis: {code}"),
            Self::Platform { code, text } => write!(f, "diagnosis: {code}: {text}"),
            Self::Metric { metric, percent } => write!(f, "{metric}: {percent:.0} %"),
            Self::Run { run, runs, reason } => write!(f, "run {run} of {runs}: {reason}"),
            Self::Queue { pool, jobs_before, names } => {
                write!(f, "queue: {jobs_before} earlier pending jobs of this project in {pool}")?;
                match names.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {}", names.join(", ")),
                }
            }
            Self::Unavailable { what, error } => write!(f, "{what} not available: {error}"),
        }
    }
}
