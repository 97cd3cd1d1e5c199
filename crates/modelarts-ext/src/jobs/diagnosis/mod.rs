//! Diagnosis of a job: the cause of its failure, its stop or its wait, with evidence and advice.
//!
//! [`JobHandle::explain`] reads the details of a job and, depending on its phase, the events, the
//! ends of logs, the memory usage and the queue. Rules determine the cause. If no rule applies, the
//! cause is [`Unknown`](Cause::Unknown), with the last lines of the log as evidence.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # let job = hello(&emulator, &client, "explained")?;
//! # emulator.put("bucket/code/train.py", "import apexx\n")?;
//! # let job = job.submit().await?;
//! use modelarts_ext::jobs::diagnosis::{Cause, Confidence};
//!
//! if !job.wait().await?.is_completed() {
//!     let diagnosis = job.explain().await?;
//!     println!("{diagnosis}");
//!     if diagnosis.cause == Cause::MissingModule {
//!         println!("the image lacks a package: {}", diagnosis.advice.join(" "));
//!     }
//! #   assert_eq!(diagnosis.cause, Cause::MissingModule);
//! #   assert_eq!(diagnosis.confidence, Confidence::Certain);
//! }
//! # Ok(()) }) }
//! ```
//!
//! A job can be diagnosed in every phase. [`Job::status_reason`](crate::Job::status_reason) applies
//! the rules to the row of a list, without a call.
//!
//! The names of the causes in [`Cause::ALL`] are stable. Texts are for people, and may change.

// `rules` determine a finding from the `facts`; `search` finds the cause in a log. Causes, texts
// and signatures are generated from `openapi/causes.yaml`.

mod facts;
mod platform;
mod report;
mod rules;
mod search;
#[cfg(test)]
mod tests;
mod texts;

pub use modelarts_api::{
    Cause,
    diagnosis::{Confidence, Link},
};
pub use platform::PlatformDiagnosis;
pub use report::{Diagnosis, Evidence, Fact};

use std::time::Duration;

use futures::future::join_all;
use modelarts_api::types::{Language, Phase};

use crate::{
    error::Error,
    jobs::{
        diagnosis::{
            facts::{Facts, TaskLog},
            rules::diagnose,
        },
        exit_code::signal_name,
        filter::Filter,
        job::{Job, JobHandle},
    },
    transport::deadline::Deadline,
};

impl JobHandle {
    /// Determines why the job failed, was stopped, or waits; see the [module](self).
    ///
    /// Makes one call for the details, and more as the phase requires: for a failed job, for
    /// events, up to four logs of at most 5 MB, and memory usage, and for a running job, for events
    /// and the log of its first task, within
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout).
    /// [`Fact::Unavailable`] names missing information. A later diagnosis may have more evidence.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// if !job.wait().await?.is_completed() {
    ///     // Cause, evidence and advice.
    ///     println!("{}", job.explain().await?);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the error of the call for the details.
    pub async fn explain(&self) -> Result<Diagnosis, Error> {
        self.explain_with(&PlatformDiagnosis::default()).await
    }

    /// As [`explain`](Self::explain), with the service's own diagnosis as further evidence, which
    /// the caller has read from the logs of the job in OBS.
    ///
    /// # Errors
    /// Returns the error of the call for the details.
    pub async fn explain_with(&self, platform: &PlatformDiagnosis) -> Result<Diagnosis, Error> {
        let deadline = self.client().deadline();
        let job = deadline.limit("the job was being read", self.get()).await?;
        let mut facts = read_facts(&job, &deadline).await;
        facts.platform.clone_from(&platform.0);
        Ok(Diagnosis::of(&job, &facts))
    }
}

impl Job {
    /// Returns what the log of a running job shows although the job did not fail yet, in a few
    /// words, such as `OBS has refused writes since 2026-01-03 18:19:40`. Returns `None` for a job that
    /// does not run, without a call; otherwise reads the log of the first task with one call.
    ///
    /// # Errors
    /// Returns the error of the call. A log that does not exist yet is no error.
    pub async fn running_problem(&self) -> Result<Option<String>, Error> {
        let mut facts = Facts::of(self);
        let (Phase::Running, Some(task)) = (self.phase(), facts.tasks.first().cloned()) else {
            return Ok(None);
        };
        match JobHandle::from(self).logs(task.as_str()).tail(RUNNING_LOG_TAIL).await {
            Ok(tail) => facts.logs.push(TaskLog { task, tail }),
            Err(error) if error.is_not_ready() => return Ok(None),
            Err(error) => return Err(error),
        }
        let finding = diagnose(&facts);
        Ok(texts::reason(&facts, &finding).filter(|_| finding.cause != Cause::Running))
    }
}

impl Diagnosis {
    fn of(job: &Job, facts: &Facts) -> Self {
        let finding = diagnose(facts);
        let (summary, advice, links) = texts::texts(facts, &finding);
        Self {
            id: job.id().to_owned(),
            name: job.name().to_owned(),
            phase: job.phase(),
            summary,
            advice,
            links,
            cause: finding.cause,
            confidence: finding.confidence,
            task: finding.task,
            exit_code: finding.exit_code,
            evidence: finding.evidence,
        }
    }
}

const EVENTS: u8 = 100;
const MAX_LOGS: usize = 4;
const LOG_TAIL: usize = 256 << 10;
/// Part of the log of a running job, which is the whole preview: its beginning shows since when.
const RUNNING_LOG_TAIL: usize = 8 << 20;
const QUEUE: usize = 50;
const QUEUE_NAMES: usize = 5;
/// Number of memory usage values, one per minute, that count as the end of a run.
const LAST_MINUTES: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(60);
/// Number of calls whose pauses for a rate limit do not count toward the time limit.
const CALLS: u32 = 3;

/// Reads the information that the phase requires, until the deadline. Failures become facts.
async fn read_facts(job: &Job, deadline: &Deadline) -> Facts {
    let mut facts = Facts::of(job);
    let limit = job.client().deadline_of(TIMEOUT, CALLS);
    if deadline.run(limit.run(read(job, &mut facts))).await.flatten().is_none() {
        let error = limit.timeout_error("events, logs and usage were being read");
        facts.lack("further information", &error);
    }
    facts
}

async fn read(job: &Job, facts: &mut Facts) {
    match job.phase() {
        Phase::Completed | Phase::Terminating => {}
        Phase::Creating | Phase::Pending => {
            read_events(job, facts).await;
            read_queue(job, facts).await;
        }
        Phase::Failed | Phase::Abnormal => {
            read_events(job, facts).await;
            read_logs(job, facts).await;
            read_memory_usage(job, facts).await;
        }
        Phase::Running => {
            read_events(job, facts).await;
            read_logs(job, facts).await;
        }
        _ => read_events(job, facts).await,
    }
}

async fn read_events(job: &Job, facts: &mut Facts) {
    let events = job.events().newest_first().language(Language::EnUs);
    let events = events.page_size(EVENTS.into()).end_short();
    let events = events.collect(EVENTS.into()).await;
    match events {
        Ok(events) => facts.events = events,
        Err(error) => facts.lack("events", &error),
    }
}

async fn read_logs(job: &Job, facts: &mut Facts) {
    // A job that never ran has no log.
    if !facts.has_started {
        return;
    }
    let mut tasks: Vec<String> = facts.failed_task().task.into_iter().collect();
    for task in facts.failed_tasks() {
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    let is_running = job.phase() == Phase::Running;
    // The failures of a running job are those of its earlier runs.
    if tasks.is_empty() || is_running {
        tasks = facts.tasks.first().cloned().into_iter().collect();
    }
    tasks.truncate(MAX_LOGS);
    let size = if is_running { RUNNING_LOG_TAIL } else { LOG_TAIL };
    let reads = tasks.into_iter().map(|task| async move {
        let tail = job.logs(task.as_str()).tail(size).await;
        (task, tail)
    });
    for (task, tail) in join_all(reads).await {
        match tail {
            Ok(tail) => facts.logs.push(TaskLog { task, tail }),
            // The code of a running job may not have begun yet.
            Err(error) if error.is_not_ready() && is_running => {}
            Err(error) => facts.lack(&format!("log of {task}"), &error),
        }
    }
}

async fn read_memory_usage(job: &Job, facts: &mut Facts) {
    let failed = facts.failed_task();
    let may_be_memory = failed.exit_code.is_none_or(|code| signal_name(code) == Some("SIGKILL"));
    let task = failed.task.or_else(|| facts.tasks.first().cloned());
    let Some(task) = task.filter(|_| may_be_memory && facts.has_started) else {
        return;
    };
    match job.metrics(task).await {
        Ok(series) => {
            let memory = series.iter().find(|series| series.metric() == "memUsage");
            facts.memory_usage = memory.and_then(|memory| {
                let (time, _) = memory.last()?;
                let last = memory.values().rev().take(LAST_MINUTES);
                Some((time, last.map(|(_, value)| value).reduce(f64::max)?))
            });
        }
        // A short job has no metrics.
        Err(error) if error.is_not_ready() => {}
        Err(error) => facts.lack("memory usage", &error),
    }
}

/// Reads the earlier pending jobs of a dedicated pool that are visible to the project.
async fn read_queue(job: &Job, facts: &mut Facts) {
    let Some(pool) = facts.pool.clone() else {
        return;
    };
    let mut jobs = job
        .client()
        .training_jobs()
        .list()
        .filter(Filter::phase().is(Phase::Pending))
        .oldest_first();
    if let Some(workspace) = job.workspace() {
        jobs = jobs.workspace(workspace);
    }
    let jobs = match jobs.allow_early_end().collect(QUEUE).await {
        Ok(jobs) => jobs,
        Err(error) => return facts.lack("queue", &error),
    };
    let is_earlier = |other: &&Job| {
        Facts::of(other).pool.as_ref() == Some(&pool)
            && other.id() != job.id()
            && other.created_at() < job.created_at()
    };
    let earlier: Vec<_> = jobs.iter().filter(is_earlier).collect();
    let names = earlier.iter().take(QUEUE_NAMES);
    let fact = Fact::Queue {
        jobs_before: earlier.len(),
        names: names.map(|job| job.name().to_owned()).collect(),
        pool,
    };
    facts.queue = Some(Evidence::new(None, fact));
}

impl Facts {
    fn lack(&mut self, what: &str, error: &Error) {
        let fact = Fact::Unavailable { what: what.to_owned(), error: error.to_string() };
        self.unavailable.push(Evidence::new(None, fact));
    }
}
