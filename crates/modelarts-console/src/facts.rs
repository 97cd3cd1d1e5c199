//! `Facts`: stages, diagnoses, tags and usage of jobs, cached for all pages that show them.

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use modelarts_ext::{
    Job, JobHandle,
    jobs::{Diagnosis, MetricSeries},
    types::{Phase, StageRecord, Tag},
};
use parking_lot::Mutex;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use crate::{
    live::{curves::CurveReader, text::printable},
    problem::Problem,
};

/// Maximum number of cached values, apart from values in use.
const MAX_VALUES: usize = 256;
const MAX_STAGES: usize = 100;
/// Maximum number of tags of a job that are read. The service permits 20.
const MAX_TAGS: usize = 100;
/// Ages at which values are read again, in multiples of the poll interval. The service reports
/// events and logs late, so the diagnosis of an ended job may still change.
const WAITING_POLLS: u32 = 2;
const DIAGNOSIS_POLLS: u32 = 6;
const USAGE_POLLS: u32 = 2;
/// The log of a running job can have 5 MB.
const RUNNING_POLLS: u32 = 12;
const DETAILS_POLLS: u32 = 2;
/// The log of an ended job does not change.
const ENDED_POLLS: u32 = 60;

/// Cache of stages, diagnoses, tags and usage of jobs.
#[derive(Default)]
pub(crate) struct Facts {
    interval: Duration,
    summaries: Cache<Summary>,
    usage: Cache<Usage>,
    tags: Cache<Option<Vec<Tag>>>,
    details: Cache<Result<Job, Problem>>,
    running_problems: Cache<Option<String>>,
    printed: Cache<HashMap<String, String>>,
}

pub(crate) struct Summary {
    /// Stages of each run; empty if they cannot be read.
    pub(crate) stages: Vec<StageRecord>,
    /// Diagnosis; `None` if the phase of the job needs no diagnosis.
    pub(crate) diagnosis: Option<Result<Diagnosis, Problem>>,
}

/// Resource usage of a task; empty if the service has no values yet.
pub(crate) type Usage = Result<Vec<MetricSeries>, Problem>;

impl Facts {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Returns the details of a job, cached for the scripts of all its pages. They are read again
    /// if `version` is new, or if they are too old.
    pub(crate) async fn details(&self, job: &JobHandle, version: &str) -> Result<Job, Problem> {
        let key = (job.id().to_owned(), version.to_owned());
        let read = async { job.get().await.map_err(Problem::from) };
        let max_age = self.interval * DETAILS_POLLS;
        (*self.details.get(key, max_age, read).await).clone()
    }

    /// Returns the cached tags of a job, which its details do not contain. They are `None` if they
    /// cannot be read: Open Telekom Cloud does not list tags, and the job must be shown nevertheless.
    pub(crate) async fn tags(&self, job: &Job) -> Arc<Option<Vec<Tag>>> {
        let key = (job.id().to_owned(), String::new());
        let read = async { job.tags().collect(MAX_TAGS).await.ok() };
        self.tags.get(key, self.interval * DIAGNOSIS_POLLS, read).await
    }

    /// Forgets the tags of a job, which have changed.
    pub(crate) fn forget_tags(&self, job: &JobHandle) {
        self.tags.0.lock().remove(&(job.id().to_owned(), String::new()));
    }

    /// Returns the cached stages and diagnosis of a job. A new phase or run causes a new read.
    pub(crate) async fn summary(&self, job: &Job) -> Arc<Summary> {
        let phase = job.phase();
        let polls = match phase {
            Phase::Creating | Phase::Pending => WAITING_POLLS,
            Phase::Running => RUNNING_POLLS,
            _ => DIAGNOSIS_POLLS,
        };
        let detail = job.secondary_phase().map(ToString::to_string);
        let key = (job.id().to_owned(), format!("{phase} {detail:?} {}", job.runs().len()));
        let read = async {
            // Open Telekom Cloud does not list stages, and an error must not hide the job.
            let stages = async { job.stages().collect(MAX_STAGES).await.unwrap_or_default() };
            let diagnosis = async {
                match phase {
                    Phase::Completed | Phase::Terminating => None,
                    _ => Some(job.explain().await.map_err(Problem::from)),
                }
            };
            let (stages, diagnosis) = tokio::join!(stages, diagnosis);
            Summary { stages, diagnosis }
        };
        self.summaries.get(key, self.interval * polls, read).await
    }

    /// Returns what the log of a running job shows, cached for all lists with the job.
    pub(crate) async fn running_problem(&self, job: &Job) -> Option<String> {
        let key = (job.id().to_owned(), String::new());
        let read = async { job.running_problem().await.unwrap_or_default() };
        let max_age = self.interval * RUNNING_POLLS;
        (*self.running_problems.get(key, max_age, read).await).clone()
    }

    /// Returns the last values that the first worker of a job has printed, by their names, from the
    /// end of its log. A log that cannot be read has none.
    pub(crate) async fn printed(&self, job: &Job) -> Arc<HashMap<String, String>> {
        let key = (job.id().to_owned(), format!("{} {}", job.phase(), job.runs().len()));
        let read = async {
            let Some(task) = job.tasks().first() else { return HashMap::new() };
            let log = job.logs(task).end().await.map(|log| log.text).unwrap_or_default();
            let mut reader = CurveReader::default();
            log.lines().for_each(|line| reader.add(&printable(line)));
            reader.last_values()
        };
        let max_age = match job.is_final() {
            // A log that could not be read is read again some time later.
            true => self.interval * ENDED_POLLS,
            false => self.interval * RUNNING_POLLS,
        };
        self.printed.get(key, max_age, read).await
    }

    pub(crate) async fn usage(&self, job: &Job, task: &str) -> Arc<Usage> {
        let key = (job.id().to_owned(), format!("{task} {}", job.phase()));
        let read = async {
            match job.metrics(task).await {
                Err(error) if error.is_not_ready() => Ok(Vec::new()),
                read => read.map_err(Problem::from),
            }
        };
        self.usage.get(key, self.interval * USAGE_POLLS, read).await
    }
}

/// Cache key: id of the job, and the version or other part on which the value depends.
type Key = (String, String);
/// A value, with the time at which it was read.
type Slot<V> = Arc<AsyncMutex<Option<(Instant, Arc<V>)>>>;

/// Cache of values. Concurrent readers of a key share one read.
struct Cache<V>(Mutex<HashMap<Key, Slot<V>>>);

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V> Cache<V> {
    /// Returns the value of a key. Reads the value if none is cached, or if it is too old.
    async fn get(&self, key: Key, max_age: Duration, read: impl Future<Output = V>) -> Arc<V> {
        let slot = {
            let mut slots = self.0.lock();
            if slots.len() >= MAX_VALUES {
                slots.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            Arc::clone(slots.entry(key).or_default())
        };
        let mut slot = slot.lock().await;
        if let Some((time, value)) = &*slot
            && time.elapsed() < max_age
        {
            return Arc::clone(value);
        }
        let value = Arc::new(read.await);
        *slot = Some((Instant::now(), Arc::clone(&value)));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> Key {
        (id.to_owned(), String::new())
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_read_once_until_it_is_too_old() {
        let cache = Cache::default();
        let age = Duration::from_secs(10);
        let reads = Mutex::new(0);
        let read = || async {
            *reads.lock() += 1;
            tokio::task::yield_now().await;
            *reads.lock()
        };
        let (one, other) =
            tokio::join!(cache.get(key("a"), age, read()), cache.get(key("a"), age, read()));
        assert_eq!((*one, *other), (1, 1));
        assert_eq!(*cache.get(key("b"), age, read()).await, 2);
        tokio::time::advance(age).await;
        assert_eq!(*cache.get(key("a"), age, read()).await, 3);
    }

    #[tokio::test]
    async fn few_values_are_kept() {
        let cache = Cache::default();
        for id in 0..3 * MAX_VALUES {
            cache.get(key(&id.to_string()), Duration::MAX, async { id }).await;
        }
        assert!(cache.0.lock().len() <= MAX_VALUES);
    }
}
