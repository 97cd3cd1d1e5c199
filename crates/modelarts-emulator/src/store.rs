//! All jobs, in memory and, where that is wanted, on disk, and a bell that rings at every change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use tokio::sync::watch;

use crate::clock::Moment;
use crate::database::Database;
use crate::error::ApiError;
use crate::events::{Event, EventKind};
use crate::lifecycle::{State, Stop};
use crate::request::JobRequest;
use crate::tuning::Trial;

/// One job: what was asked, and what has become of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) user_id: String,
    pub(crate) user_name: String,
    pub(crate) tags: BTreeMap<String, String>,
    #[serde(serialize_with = "write_request", deserialize_with = "read_request")]
    pub(crate) request: Arc<JobRequest>,
    /// May be changed afterwards.
    pub(crate) description: String,
    /// 1 to 3; may be changed while it waits.
    pub(crate) priority: i64,
    pub(crate) preemptible: bool,
    /// How often it has been scheduled.
    pub(crate) schedule_count: u32,
    pub(crate) created: Moment,
    pub(crate) state: State,
    /// The whole second in which it began to run.
    pub(crate) started: Option<Moment>,
    /// The whole second in which it reached its final phase.
    pub(crate) ended: Option<Moment>,
    /// Points of `node_count_metrics`; the latest sample is added when it is shown.
    pub(crate) nodes: Vec<(Moment, u32)>,
    pub(crate) failure: Option<TaskFailure>,
    pub(crate) records: Vec<RunningRecord>,
    pub(crate) events: Vec<Event>,
    /// Of a search.
    #[serde(default)]
    pub(crate) trials: Vec<Trial>,
    /// Nothing will happen to it any more: its processes have gone, its last event is written.
    pub(crate) settled: bool,
    /// Its deletion has been acknowledged.
    pub(crate) deleted: bool,
    #[serde(skip)]
    stop: watch::Sender<Option<Stop>>,
}

/// The first task that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskFailure {
    pub(crate) task: String,
    pub(crate) exit_code: i32,
}

/// One run of the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunningRecord {
    pub(crate) start: Moment,
    /// Started again where it was, without being scheduled again.
    pub(crate) restarted: bool,
    pub(crate) end: Option<RecordEnd>,
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordEnd {
    pub(crate) at: Moment,
    pub(crate) reason: String,
    pub(crate) task: Option<String>,
    /// How it goes on, if it does: `end_recover`.
    pub(crate) recover: Option<String>,
}

impl Job {
    pub(crate) fn new(id: String, request: JobRequest, created: Moment) -> Self {
        Self {
            id,
            project: String::new(),
            user_id: String::new(),
            user_name: String::new(),
            tags: BTreeMap::new(),
            description: request.text("/metadata/description").to_owned(),
            priority: request.priority(),
            preemptible: request.given.pointer("/spec/schedule_policy/preemptible")
                == Some(&true.into()),
            schedule_count: 1,
            request: Arc::new(request),
            created,
            state: State::Creating,
            started: None,
            ended: None,
            nodes: Vec::new(),
            failure: None,
            records: Vec::new(),
            events: vec![Event {
                time: created,
                kind: EventKind::Created,
            }],
            trials: Vec::new(),
            settled: false,
            deleted: false,
            stop: watch::Sender::new(None),
        }
    }

    /// `worker-0` and so on.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.request.node_count).map(task_name)
    }

    /// Moves to `next` and notes what the phase brings with it. False if no way leads there,
    /// because somebody else was faster.
    pub(crate) fn advance(&mut self, next: State, now: Moment) -> bool {
        if !self.state.may_become(next) {
            return false;
        }
        self.state = next;
        let now = now.whole_second();
        match next {
            State::Queuing => self.point(now, 0),
            State::Running => {
                self.point(now, self.request.node_count);
                self.started.get_or_insert(now);
                self.records.push(RunningRecord {
                    start: now,
                    restarted: false,
                    end: None,
                });
            }
            _ if next.is_final() => {
                self.ended = Some(now);
                if let Some((at, nodes)) = self.nodes.last().copied()
                    && at < now
                {
                    self.nodes.push((now, nodes));
                }
            }
            _ => {}
        }
        true
    }

    /// Points bracket each change: the last old value, then the first new one.
    fn point(&mut self, now: Moment, count: u32) {
        let before = Moment::from_millis(now.millis() - 1000);
        if let Some((at, earlier)) = self.nodes.last().copied()
            && at < before
        {
            self.nodes.push((before, earlier));
        }
        self.nodes.push((now, count));
    }

    pub(crate) fn note(&mut self, kind: EventKind, time: Moment) {
        self.events.push(Event { time, kind });
    }

    /// Asks the driver to end the job. A later reason replaces an earlier one only if it is
    /// more urgent.
    pub(crate) fn ask_to_stop(&self, why: Stop) {
        self.stop.send_if_modified(|current| {
            let replace = current.is_none_or(|current| !current.in_a_hurry() && why.in_a_hurry());
            if replace {
                *current = Some(why);
            }
            replace
        });
    }

    pub(crate) fn stop_requests(&self) -> watch::Receiver<Option<Stop>> {
        self.stop.subscribe()
    }

    pub(crate) fn stop_reason(&self) -> Option<Stop> {
        *self.stop.borrow()
    }
}

/// A request is kept as it came.
fn write_request<S: Serializer>(request: &JobRequest, to: S) -> Result<S::Ok, S::Error> {
    request.given.serialize(to)
}

fn read_request<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<JobRequest>, D::Error> {
    let given = Value::deserialize(from)?;
    let request = JobRequest::read(given);
    request
        .map(Arc::new)
        .map_err(|error| serde::de::Error::custom(format!("{error:?}")))
}

/// The name of a task by its index.
pub(crate) fn task_name(index: u32) -> String {
    format!("worker-{index}")
}

#[derive(Debug, Default)]
struct Jobs {
    /// In the order of creation.
    by_number: BTreeMap<u64, Job>,
    numbers: HashMap<String, u64>,
    created: u64,
}

/// All jobs of the one project.
#[derive(Debug)]
pub(crate) struct Store {
    jobs: Mutex<Jobs>,
    changes: watch::Sender<()>,
    /// Nothing: jobs are in memory only.
    database: Option<Database>,
}

impl Store {
    /// With the jobs of the database, if there is one.
    pub(crate) fn new(database: Option<Database>) -> rusqlite::Result<Self> {
        let mut jobs = Jobs::default();
        if let Some(database) = &database {
            for (number, job) in database.jobs()? {
                jobs.created = number + 1;
                jobs.numbers.insert(job.id.clone(), number);
                jobs.by_number.insert(number, job);
            }
        }
        Ok(Self {
            jobs: Mutex::new(jobs),
            changes: watch::Sender::new(()),
            database,
        })
    }

    /// Writes a job down, if jobs are.
    fn save(&self, number: u64, job: &Job) -> Result<(), String> {
        match &self.database {
            None => Ok(()),
            Some(database) => database.save(number, job),
        }
    }

    /// Adds a job, unless its project has one of this name, or has `quota` jobs already, or,
    /// where that matters, an active job that writes to the same place.
    pub(crate) fn insert(
        &self,
        job: Job,
        quota: usize,
        one_job_per_output: bool,
    ) -> Result<(), ApiError> {
        let mut jobs = self.jobs.lock();
        let mut count = 0;
        for other in jobs.by_number.values() {
            if other.project != job.project {
                continue;
            }
            count += 1;
            if other.request.name == job.request.name {
                return Err(ApiError::duplicate_name(&job.request.name));
            }
            if one_job_per_output && !other.state.is_final() {
                let taken = job
                    .request
                    .outputs
                    .iter()
                    .any(|own| other.request.outputs.iter().any(|o| o.place == own.place));
                if taken {
                    return Err(ApiError::invalid_parameter(
                        "Other running job contain train_url",
                    ));
                }
            }
        }
        if count >= quota {
            return Err(ApiError::of(2815, &["job-num"]));
        }
        let number = jobs.created;
        self.save(number, &job)
            .map_err(|error| ApiError::internal(format!("The job cannot be stored: {error}.")))?;
        jobs.created += 1;
        jobs.numbers.insert(job.id.clone(), number);
        jobs.by_number.insert(number, job);
        drop(jobs);
        self.changes.send_replace(());
        Ok(())
    }

    /// Looks at a job.
    pub(crate) fn read<R>(&self, id: &str, look: impl FnOnce(&Job) -> R) -> Option<R> {
        let jobs = self.jobs.lock();
        let number = jobs.numbers.get(id)?;
        jobs.by_number.get(number).map(look)
    }

    /// Changes a job and rings the bell.
    pub(crate) fn update<R>(&self, id: &str, change: impl FnOnce(&mut Job) -> R) -> Option<R> {
        let mut jobs = self.jobs.lock();
        let number = *jobs.numbers.get(id)?;
        let result = jobs.by_number.get_mut(&number).map(change);
        if let Some(job) = jobs.by_number.get(&number)
            && let Err(error) = self.save(number, job)
        {
            tracing::error!(job = id, error, "a change is not stored");
        }
        drop(jobs);
        self.changes.send_replace(());
        result
    }

    pub(crate) fn remove(&self, id: &str) {
        let mut jobs = self.jobs.lock();
        if let Some(number) = jobs.numbers.remove(id) {
            jobs.by_number.remove(&number);
            if let Some(database) = &self.database
                && let Err(error) = database.remove(number)
            {
                tracing::error!(job = id, %error, "a deletion is not stored");
            }
        }
        drop(jobs);
        self.changes.send_replace(());
    }

    /// Looks at all jobs, the oldest first.
    pub(crate) fn all<R>(
        &self,
        look: impl FnOnce(&mut dyn DoubleEndedIterator<Item = &Job>) -> R,
    ) -> R {
        look(&mut self.jobs.lock().by_number.values())
    }

    /// Waits until `look` sees what it waits for; it is asked at every change, with `None` when
    /// there is no such job.
    pub(crate) async fn wait<R>(
        &self,
        id: &str,
        mut look: impl FnMut(Option<&Job>) -> Option<R>,
    ) -> R {
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let seen = {
                let jobs = self.jobs.lock();
                let number = jobs.numbers.get(id);
                look(number.and_then(|number| jobs.by_number.get(number)))
            };
            if let Some(seen) = seen {
                return seen;
            }
            // The sender lives as long as `self`, so this cannot fail.
            let _ = changes.changed().await;
        }
    }
}
