//! Reading of the facts about a job that its details do not contain.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use modelarts_api::types::Phase;

use crate::{
    error::Error,
    jobs::{
        diagnosis::{
            facts::{Facts, TaskLog},
            report::{Evidence, Fact},
        },
        exit_code::signal_name,
        filter::Filter,
        job::Job,
    },
    transport::deadline::Deadline,
};

const EVENTS: u8 = 100;
const MAX_LOGS: usize = 4;
const LOG_TAIL: usize = 256 << 10;
const QUEUE: usize = 50;
const QUEUE_NAMES: usize = 5;
/// Number of values of the memory usage that count as the end of a run: one a minute.
const LAST_MINUTES: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(60);
/// Number of calls whose pauses of a rate limit the time limit does not include.
const CALLS: u32 = 3;

/// Reads what the phase needs until the deadline. Failures are part of the facts.
pub(super) async fn facts(job: &Job, deadline: &Deadline) -> Facts {
    let mut facts = Facts::of(job);
    let client = job.client();
    let clock = &*Arc::clone(client.clock());
    let rate_limit = client.transport().rate_limit.as_ref();
    let turns = rate_limit.map_or(Duration::ZERO, |limit| limit.spacing() * CALLS);
    let limit = Deadline::new(clock, Some(TIMEOUT + turns));
    let work = limit.run(clock, read(job, &mut facts));
    if deadline.run(clock, work).await.flatten().is_none() {
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
        _ => read_events(job, facts).await,
    }
}

async fn read_events(job: &Job, facts: &mut Facts) {
    let events = job.events().newest_first().in_english();
    let events = events.page_size(EVENTS.into()).collect(EVENTS.into()).await;
    match events {
        Ok(events) => facts.events = events,
        Err(error) => facts.lack("events", &error),
    }
}

/// Reads the end of the logs of the tasks that failed, or else of the first task.
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
    if tasks.is_empty() {
        tasks.extend(facts.tasks.first().cloned());
    }
    tasks.truncate(MAX_LOGS);
    let reads = tasks.into_iter().map(|task| async move {
        let tail = job.logs(task.as_str()).tail(LOG_TAIL).await;
        (task, tail)
    });
    for (task, tail) in join_all(reads).await {
        match tail {
            Ok(tail) => facts.logs.push(TaskLog { task, tail }),
            Err(error) => facts.lack(&format!("log of {task}"), &error),
        }
    }
}

/// Reads the memory usage of a task that SIGKILL ended, or whose exit code is not known.
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

/// Reads the earlier pending jobs of a dedicated pool, as far as the project sees them. Every
/// release documents the condition on the phase.
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
