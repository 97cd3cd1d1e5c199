//! `Diagnosis`: the result of `explain`, as a value, as text and as JSON.

use std::fmt;

use modelarts_api::{
    Cause,
    diagnosis::{Confidence, Link},
    types::{EventLevel, Phase},
};
use serde::Serialize;

use crate::timestamp::Timestamp;

/// Diagnosis of a job, from [`JobHandle::explain`](crate::JobHandle::explain).
///
/// It is printed in several lines, and serialized as an object:
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
    /// Exit code of this task, if the evidence shows one.
    pub exit_code: Option<i64>,
    /// Cause of the state of the job.
    pub cause: Cause,
    /// Confidence in the cause.
    pub confidence: Confidence,
    /// Cause as a clause, such as `worker-0 ran out of memory (exit code 137)`.
    pub summary: String,
    /// Facts that the diagnosis is based on, and those that could not be read.
    pub evidence: Vec<Evidence>,
    /// Next steps, a sentence each.
    pub advice: Vec<String>,
    /// Documents about the cause.
    pub links: Vec<Link>,
}

/// Fact that a diagnosis is based on, with its time and its task if it has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// Time of the fact.
    pub time: Option<Timestamp>,
    /// Task, such as `worker-0`.
    pub task: Option<String>,
    /// Fact itself. As JSON, its fields are fields of the evidence.
    #[serde(flatten)]
    pub fact: Fact,
}

/// Fact of an [`Evidence`]. As JSON, an object with the name of the source and its fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// Statement of the details of the job.
    Status {
        /// Statement, such as the detailed phase.
        text: String,
    },
    /// Exit code of the task.
    ExitCode {
        /// Exit code of the task.
        exit_code: i64,
        /// Signal of the exit code with its usual reason, if it has one.
        meaning: Option<String>,
    },
    /// Event of the job.
    Event {
        /// Severity of the event.
        level: EventLevel,
        /// Message of the event.
        message: String,
    },
    /// Line of the log of the task, without control characters and cut to 300 characters.
    Log {
        /// Number of the line, from 1 on; `None` if only the end of the log was read.
        line: Option<u64>,
        /// Text of the line.
        text: String,
    },
    /// Usage of the machine of the task shortly before its end.
    Metric {
        /// Name of the metric, such as `memUsage`.
        metric: String,
        /// Largest of the last values, in percent.
        percent: f64,
    },
    /// Earlier or last run of a job that was restarted.
    Run {
        /// Number of the run, from 1 on.
        run: usize,
        /// Number of runs.
        runs: usize,
        /// Reason for the end of the run.
        reason: String,
    },
    /// Queue of a dedicated pool, as far as the jobs of this project show it.
    Queue {
        /// Id of the pool.
        pool: String,
        /// Number of earlier jobs of the project in the pool, among its 50 oldest pending ones.
        jobs_before: usize,
        /// Names of the first of these jobs.
        names: Vec<String>,
    },
    /// Information that could not be read, so that the diagnosis lacks it.
    Unavailable {
        /// Information, such as `events`.
        what: String,
        /// Error of the call.
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
            Self::Log { line: Some(line), text } => write!(f, "log line {line}: {text}"),
            Self::Log { line: None, text } => write!(f, "log: {text}"),
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
