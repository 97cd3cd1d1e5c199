//! `Waited`: the result of a wait, and the error for a job that did not complete.

use std::time::Duration;

use modelarts_api::types::EventLevel;
use serde::{Serialize, Serializer};

use crate::{
    error::{Error, ErrorKind},
    jobs::{
        events::{event::Event, kind::EventKind},
        job::{Job, JobSummary},
        logs::tail::{LAST_LINES, printable},
        polling::REQUESTS_IN_FLIGHT,
        wait::outcome::{Outcome, READ_EVENTS, TerminatedBy, last_events},
    },
    timestamp::Timestamp,
    transport::deadline::Deadline,
};

/// Maximum length of each of the last log lines, in characters. A progress bar is one long line.
const MAX_LINE: usize = 500;
const OUT_OF_MEMORY: i64 = 137;
const DETAILS_TIMEOUT: Duration = Duration::from_secs(60);
const MOST_REQUESTS: u32 = 8 * REQUESTS_IN_FLIGHT as u32;

/// Result of a wait: the outcome, and the job as it was last read.
///
/// For a job that failed, was terminated or is abnormal, the wait also reads the last events and
/// log lines, with two calls and for up to a minute. Events and lines may be incomplete, or empty.
///
/// As JSON, one object with `id`, `name`, `phase`, `created_at`, `started_at` and `run_seconds` of
/// the job, the fields of the [`Outcome`], `errors`, `last_events` and `last_lines`.
#[derive(Clone, Debug, Serialize)]
#[must_use = "a job that did not complete is not an error of the wait; see `success`"]
pub struct Waited {
    #[serde(flatten, serialize_with = "times")]
    pub(super) job: Job,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    pub(super) errors: u32,
    pub(super) last_events: Vec<Event>,
    pub(super) last_lines: Vec<String>,
}

fn times<S: Serializer>(job: &Job, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Json<'a> {
        #[serde(flatten)]
        job: JobSummary<'a>,
        created_at: Option<Timestamp>,
        started_at: Option<Timestamp>,
        run_seconds: Option<f64>,
    }
    Json {
        job: job.summary(),
        created_at: job.created_at(),
        started_at: job.started_at(),
        run_seconds: job.time_run().map(|time| time.as_secs_f64()),
    }
    .serialize(serializer)
}

impl Waited {
    pub(super) fn new(job: Job, outcome: Outcome) -> Self {
        Self { job, outcome, errors: 0, last_events: Vec::new(), last_lines: Vec::new() }
    }

    /// Returns the job if it completed, or if the condition of the wait holds.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "success")?.submit().await?;
    /// let job = job.wait().await?.success()?;
    /// println!("{} ran for {:?}", job.name(), job.time_run());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for any other outcome ([`Error::outcome`], [`Error::waited`]). The message
    /// has the job, the outcome, the last events and the last log lines; [`Error::advice`] may have
    /// a next step. The kind is [`ErrorKind::Timeout`] or [`ErrorKind::NotCompleted`].
    pub fn success(self) -> Result<Job, Error> {
        let kind = match self.outcome {
            Outcome::Completed | Outcome::Reached => return Ok(self.job),
            Outcome::TimedOut => ErrorKind::Timeout,
            _ => ErrorKind::NotCompleted,
        };
        let error = Error::new(kind, self.failure_text()).with_advice(self.advice());
        Err(error.with_detail(self))
    }

    fn advice(&self) -> Option<String> {
        let events = || "`job.events()` has all events of the job".to_owned();
        let advice = match &self.outcome {
            Outcome::Failed { exit_code, .. } => {
                let Some(task) = self.task().filter(|_| self.job.started_at().is_some()) else {
                    return Some(events());
                };
                let log = format!("save the complete log with `job.logs({task:?}).download(..)`");
                match exit_code {
                    Some(OUT_OF_MEMORY) => format!(
                        "the cause is often too little memory: choose a flavor with more, or a \
                         smaller batch; otherwise {log}"
                    ),
                    _ => log,
                }
            }
            Outcome::Terminated { by: TerminatedBy::AutoStop { .. } } => {
                "raise `auto_stop`".to_owned()
            }
            Outcome::Terminated { by: TerminatedBy::Unknown } | Outcome::Abnormal { .. } => {
                events()
            }
            Outcome::TimedOut => {
                "wait again with `job.wait()`, or stop the job with `job.terminate()`".to_owned()
            }
            _ => return None,
        };
        Some(advice)
    }

    fn failure_text(&self) -> String {
        let job = self.job.label();
        let mut text = match self.outcome {
            Outcome::TimedOut => {
                format!("the job {job} did not end within the time limit of the wait; it continues")
            }
            _ => format!("the job {job} did not complete: {}", self.outcome),
        };
        let mut add = |line: &str| {
            text.push('\n');
            text.push_str(line);
        };
        if !self.last_events.is_empty() {
            add("last events:");
            for event in &self.last_events {
                add(&format!("  {event}"));
            }
        }
        if let (false, Some(task)) = (self.last_lines.is_empty(), self.task()) {
            add(&format!("last lines of {task}:"));
            for line in &self.last_lines {
                add(&format!("  {}", printable(line)));
            }
        }
        text
    }

    /// Returns the outcome of the wait.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns `true` if the job completed.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.outcome.is_completed()
    }

    /// Returns the job as it was last read.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Returns the number of errors that the wait has tolerated.
    #[must_use]
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// Returns the last events of a job that did not complete, oldest first, at most 5. Errors and
    /// the events of the failed task take precedence, and the billing event is omitted.
    #[must_use]
    pub fn last_events(&self) -> &[Event] {
        &self.last_events
    }

    /// Returns the last lines of the failed task, or else of the first task: at most 10 lines, with
    /// at most 500 characters each. The lines may contain control characters.
    #[must_use]
    pub fn last_lines(&self) -> &[String] {
        &self.last_lines
    }

    fn task(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Failed { task: Some(task), .. } => Some(task),
            _ => self.job.tasks().first().map(String::as_str),
        }
    }

    pub(super) fn has_details(&self) -> bool {
        matches!(
            self.outcome,
            Outcome::Failed { .. } | Outcome::Terminated { .. } | Outcome::Abnormal { .. }
        )
    }

    /// Reads the last events and lines. Returns `false` for an error of the events or a timeout.
    pub(super) async fn read_details(&mut self, deadline: &Deadline) -> bool {
        if !self.has_details() {
            return true;
        }
        let limit = self.job.client().deadline_of(DETAILS_TIMEOUT, MOST_REQUESTS);
        deadline.run(limit.run(self.fetch_details())).await.flatten().unwrap_or(false)
    }

    async fn fetch_details(&mut self) -> bool {
        if self.last_events.is_empty() {
            let events = self.job.events().newest_first();
            let events = events.page_size(READ_EVENTS.into()).end_short();
            let Ok(events) = events.collect(READ_EVENTS.into()).await else {
                return false;
            };
            let failed_task = match &mut self.outcome {
                Outcome::Failed { task, .. } => task.as_deref(),
                Outcome::Abnormal { cause, .. } => {
                    let mut errors =
                        events.iter().filter(|event| *event.level() == EventLevel::Error);
                    *cause = errors.next().map(|event| match event.kind() {
                        EventKind::CreateFailed { cause } => cause,
                        _ => event.message().to_owned(),
                    });
                    None
                }
                _ => None,
            };
            self.last_events = last_events(events, failed_task);
        }
        // A job that never ran has no log.
        if self.job.started_at().is_some()
            && let Some(task) = self.task()
        {
            let lines = self.job.logs(task).last_lines(LAST_LINES, MAX_LINE).await;
            self.last_lines = lines.unwrap_or_default();
        }
        true
    }
}

impl Error {
    /// Returns the result of the wait, if the error was returned by [`Waited::success`].
    #[must_use]
    pub fn waited(&self) -> Option<&Waited> {
        self.detail()
    }

    /// Returns the results that [`wait_all`](crate::TrainingJobs::wait_all) had before this error.
    pub fn ended(&self) -> &[Waited] {
        self.detail::<Vec<Waited>>().map_or(&[], Vec::as_slice)
    }

    /// Returns the outcome of the wait, if the error was returned by [`Waited::success`].
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        Some(self.waited()?.outcome())
    }
}
