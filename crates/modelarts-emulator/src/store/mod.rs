//! All jobs. The database has them; those that are not at their end are in memory, too.

mod change_signals;
mod count_cache;
mod creation_counts;
mod job_table;
pub(crate) mod listing;
mod scan;
pub(crate) mod tags;
mod top_n;
mod trial_table;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::{
    api::error::ApiError,
    clock::Timestamp,
    database::Database,
    job::{
        event::{Event, EventKind},
        request::JobRequest,
        state::{State, StopReason},
    },
    store::{change_signals::ChangeSignals, count_cache::CountCache, job_table::Row},
    tuning::Trial,
};

/// One job: what was asked, and what has become of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) user_id: String,
    pub(crate) user_name: String,
    pub(crate) tags: BTreeMap<String, String>,
    /// Stored once and apart: it may be large, and it never changes.
    #[serde(skip)]
    pub(crate) request: Arc<JobRequest>,
    /// May be changed afterwards.
    pub(crate) description: String,
    /// Changed members, which take the places of those of the request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    changed: Map<String, Value>,
    /// 1 to 3; may be changed while it waits.
    pub(crate) priority: i64,
    pub(crate) preemptible: bool,
    /// How often it has been scheduled.
    pub(crate) schedule_count: u32,
    /// How many of the restarts after a failure have been used.
    #[serde(default)]
    pub(crate) restarts: u32,
    pub(crate) created: Timestamp,
    pub(crate) state: State,
    /// The whole second in which it began to run.
    pub(crate) started: Option<Timestamp>,
    /// The whole second in which it reached its final phase.
    pub(crate) ended: Option<Timestamp>,
    /// Points of `node_count_metrics`; the latest sample is added when it is shown.
    pub(crate) nodes: Vec<(Timestamp, u32)>,
    pub(crate) failure: Option<TaskFailure>,
    pub(crate) records: Vec<RunningRecord>,
    /// The last saving of each task's container.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) images: BTreeMap<String, SavedImage>,
    /// Those that are not stored yet; the others are in the database.
    #[serde(skip)]
    pub(crate) events: Vec<Event>,
    /// Of a search. Not there when a job is read for a list.
    #[serde(skip)]
    pub(crate) trials: Vec<Trial>,
    /// Nothing will happen to it any more: its processes have gone, its last event is written.
    pub(crate) settled: bool,
    /// Its deletion has been acknowledged.
    pub(crate) deleted: bool,
    /// It was put there as it is, and stays so until somebody ends it.
    #[serde(default)]
    pub(crate) standing: bool,
    #[serde(skip)]
    stop: watch::Sender<Option<StopReason>>,
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
    pub(crate) start: Timestamp,
    /// Started again where it was, without being scheduled again.
    pub(crate) restarted: bool,
    pub(crate) end: Option<RecordEnd>,
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordEnd {
    pub(crate) at: Timestamp,
    pub(crate) reason: String,
    pub(crate) task: Option<String>,
    /// How it goes on, if it does: `end_recover`.
    pub(crate) recover: Option<String>,
}

/// The container of a task, saved as an image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedImage {
    pub(crate) name: String,
    /// The organization of the image registry.
    pub(crate) namespace: String,
    pub(crate) tag: String,
    pub(crate) description: String,
    pub(crate) created: Timestamp,
    /// The index of the running record in which it was asked for.
    pub(crate) run: usize,
}

impl Job {
    pub(crate) fn new(id: String, request: JobRequest, created: Timestamp) -> Self {
        Self {
            id,
            project: String::new(),
            user_id: String::new(),
            user_name: String::new(),
            tags: BTreeMap::new(),
            description: request.text("/metadata/description").to_owned(),
            changed: Map::new(),
            priority: request.priority(),
            preemptible: request.given.pointer("/spec/schedule_policy/preemptible")
                == Some(&true.into()),
            schedule_count: 1,
            restarts: 0,
            request: Arc::new(request),
            created,
            state: State::Creating,
            started: None,
            ended: None,
            nodes: Vec::new(),
            failure: None,
            records: Vec::new(),
            images: BTreeMap::new(),
            events: vec![Event {
                time: created,
                kind: EventKind::Created,
            }],
            trials: Vec::new(),
            settled: false,
            deleted: false,
            standing: false,
            stop: watch::Sender::new(None),
        }
    }

    /// The body of the request with what was changed since.
    pub(crate) fn given(&self) -> Cow<'_, Value> {
        let mut given = Cow::Borrowed(&self.request.given);
        if !self.changed.is_empty()
            && let Value::Object(given) = given.to_mut()
        {
            merge(given, &self.changed);
        }
        given
    }

    /// Notes a change of what the request says.
    pub(crate) fn change(&mut self, changed: &Map<String, Value>) {
        merge(&mut self.changed, changed);
    }

    /// Whether something is still to happen to it.
    pub(crate) fn is_open(&self) -> bool {
        !(self.settled && self.state.is_final()) || self.deleted
    }

    /// The names of its tasks by their rank: `worker-0` and so on.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = String> {
        let parts = self.request.parts().iter();
        parts.flat_map(|part| part.indexes().map(|index| task_name(part.role(), index)))
    }

    /// Whether `other` would write to a place that this job still writes to.
    fn writes_where(&self, other: &Self) -> bool {
        let mut theirs = other.request.all_outputs();
        self.project == other.project
            && !self.state.is_final()
            && theirs.any(|output| {
                let mut own = self.request.all_outputs();
                own.any(|own| own.place == output.place)
            })
    }

    /// Moves to `next` and notes what the phase brings with it. False if no way leads there,
    /// because somebody else was faster.
    pub(crate) fn advance(&mut self, next: State, now: Timestamp) -> bool {
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
    fn point(&mut self, now: Timestamp, count: u32) {
        let before = Timestamp::from_millis(now.millis() - 1000);
        if let Some((at, earlier)) = self.nodes.last().copied()
            && at < before
        {
            self.nodes.push((before, earlier));
        }
        self.nodes.push((now, count));
    }

    pub(crate) fn note(&mut self, kind: EventKind, time: Timestamp) {
        self.events.push(Event { time, kind });
    }

    /// Asks the driver to end the job. A later reason replaces an earlier one only if it is
    /// more urgent.
    pub(crate) fn ask_to_stop(&self, why: StopReason) {
        self.stop.send_if_modified(|current| {
            let replace = current.is_none_or(|current| current.urgency() < why.urgency());
            if replace {
                *current = Some(why);
            }
            replace
        });
    }

    pub(crate) fn stop_requests(&self) -> watch::Receiver<Option<StopReason>> {
        self.stop.subscribe()
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        *self.stop.borrow()
    }
}

/// Puts the members of an object, at any depth, into another one. Null counts as absent.
fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (name, member) in from {
        match (into.get_mut(name), member) {
            (_, Value::Null) => {}
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (_, Value::Object(from)) => {
                let mut below = Map::new();
                merge(&mut below, from);
                if !below.is_empty() {
                    into.insert(name.clone(), below.into());
                }
            }
            _ => {
                into.insert(name.clone(), member.clone());
            }
        }
    }
}

/// The name of a task by its role and index.
pub(crate) fn task_name(role: &str, index: u32) -> String {
    format!("{role}-{index}")
}

/// A job that is not at its end.
#[derive(Debug)]
struct Live {
    row: Row,
    job: Job,
}

/// All jobs of all projects.
#[derive(Debug)]
pub(crate) struct JobStore {
    /// By id. As many as there are jobs on their way, however many there are in all.
    live: Mutex<HashMap<String, Live>>,
    bells: ChangeSignals,
    /// Held whenever a job changes. Taken after `live` and before the database.
    pub(crate) remembered: Mutex<CountCache>,
    pub(crate) database: Arc<Database>,
}

impl JobStore {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self {
            live: Mutex::default(),
            bells: ChangeSignals::default(),
            remembered: Mutex::default(),
            database,
        }
    }

    /// Adds a job, unless its project has one of this name, or has `quota` jobs already, or,
    /// where that matters, an active job that writes to the same place.
    pub(crate) fn insert(
        &self,
        mut job: Job,
        quota: usize,
        one_job_per_output: bool,
    ) -> Result<(), ApiError> {
        let mut live = self.live.lock();
        if one_job_per_output && live.values().any(|other| other.job.writes_where(&job)) {
            return Err(ApiError::invalid_parameter(
                "Other running job contain train_url",
            ));
        }
        let mut remembered = self.remembered.lock();
        let row = self.database.write(|connection| {
            if let Some(project) = job_table::known_project(connection, &job.project)? {
                if job_table::is_taken(connection, project, &job.request.name)? {
                    return Ok(Err(ApiError::duplicate_name(&job.request.name)));
                }
                if job_table::count(connection, project)? >= quota as u64 {
                    return Ok(Err(ApiError::of(2815, &["job-num"])));
                }
            }
            job_table::insert(connection, &mut job).map(Ok)
        })??;
        remembered.add(&job);
        drop(remembered);
        let id = job.id.clone();
        if !job.settled {
            live.insert(id.clone(), Live { row, job });
        }
        drop(live);
        self.bells.notify(&id);
        Ok(())
    }

    /// Looks at a job.
    pub(crate) fn read<R>(&self, id: &str, look: impl FnOnce(&Job) -> R) -> Option<R> {
        let live = self.live.lock();
        if let Some(entry) = live.get(id) {
            return Some(look(&entry.job));
        }
        drop(live);
        self.load(id).map(|(_, job)| look(&job))
    }

    /// From the database. What cannot be read is said and counts as not there.
    fn load(&self, id: &str) -> Option<(Row, Job)> {
        let loaded = self.database.read(|c| job_table::load(c, id));
        loaded.unwrap_or_else(|error| {
            tracing::error!(job = id, %error, "a job cannot be read");
            None
        })
    }

    /// Changes a job and rings its bell.
    pub(crate) fn update<R>(&self, id: &str, change: impl FnOnce(&mut Job) -> R) -> Option<R> {
        let mut live = self.live.lock();
        let mut entry = match live.remove(id) {
            Some(entry) => entry,
            None => {
                let (row, job) = self.load(id)?;
                Live { row, job }
            }
        };
        let tags = entry.job.tags.clone();
        let mut remembered = self.remembered.lock();
        remembered.subtract(&entry.job);
        let result = change(&mut entry.job);
        remembered.add(&entry.job);
        let Live { row, job } = &mut entry;
        let written = self
            .database
            .write(|connection| job_table::save(connection, row, job, &tags));
        if let Err(error) = written {
            tracing::error!(job = id, %error, "a change is not stored");
        }
        drop(remembered);
        if !entry.job.settled {
            live.insert(id.to_owned(), entry);
        }
        drop(live);
        self.bells.notify(id);
        Some(result)
    }

    pub(crate) fn remove(&self, id: &str) {
        let mut live = self.live.lock();
        let known = live.remove(id).map(|entry| entry.job);
        let mut remembered = self.remembered.lock();
        if !remembered.is_empty()
            && let Some(job) = known.or_else(|| Some(self.load(id)?.1))
        {
            remembered.subtract(&job);
        }
        if let Err(error) = self.database.write(|c| job_table::remove(c, id)) {
            tracing::error!(job = id, %error, "a deletion is not stored");
        }
        drop(remembered);
        drop(live);
        self.bells.notify(id);
    }

    /// All events of a job, the oldest first.
    pub(crate) fn events(&self, id: &str) -> Result<Vec<Event>, ApiError> {
        Ok(self.database.read(|c| job_table::events(c, id))?)
    }

    /// How many jobs a project has.
    pub(crate) fn count(&self, project: &str) -> rusqlite::Result<u64> {
        self.database.read(
            |connection| match job_table::known_project(connection, project)? {
                Some(project) => job_table::count(connection, project),
                None => Ok(0),
            },
        )
    }

    /// How many jobs there are in all projects.
    pub(crate) fn count_all(&self) -> rusqlite::Result<u64> {
        self.database.read(job_table::count_all)
    }

    /// Whether a project has a job of this name.
    pub(crate) fn is_taken(&self, project: &str, name: &str) -> rusqlite::Result<bool> {
        self.database.read(
            |connection| match job_table::known_project(connection, project)? {
                Some(project) => job_table::is_taken(connection, project, name),
                None => Ok(false),
            },
        )
    }

    /// How many jobs of a project refer to an experiment.
    pub(crate) fn of_experiment(&self, project: &str, experiment: &str) -> rusqlite::Result<u64> {
        self.database.read(
            |connection| match job_table::known_project(connection, project)? {
                Some(project) => job_table::of_experiment(connection, project, experiment),
                None => Ok(0),
            },
        )
    }

    /// The ids of the next `many` jobs behind the number `last`, which moves on, but for those that
    /// are on their way. Nothing if there are no more.
    pub(crate) fn settled_after(&self, last: &mut i64, many: u32) -> rusqlite::Result<Vec<String>> {
        loop {
            let live = self.live.lock();
            let mut some = self
                .database
                .read(|connection| job_table::after(connection, *last, many))?;
            let Some((number, _)) = some.last() else {
                return Ok(Vec::new());
            };
            *last = *number;
            some.retain(|(_, id)| !live.contains_key(id));
            if !some.is_empty() {
                return Ok(some.into_iter().map(|(_, id)| id).collect());
            }
        }
    }

    /// The ids of the jobs that are on their way.
    pub(crate) fn live(&self) -> Vec<String> {
        self.live.lock().keys().cloned().collect()
    }

    /// The ids of all jobs, in the order of creation.
    pub(crate) fn ids(&self) -> rusqlite::Result<Vec<String>> {
        self.database.read(job_table::ids)
    }

    /// The ids of the jobs that are not at their end, also those that an earlier process has left.
    pub(crate) fn open(&self) -> rusqlite::Result<Vec<String>> {
        self.database.read(job_table::open)
    }

    /// Asks all jobs that are on their way to end.
    pub(crate) fn ask_all_to_stop(&self, why: StopReason) {
        for entry in self.live.lock().values() {
            entry.job.ask_to_stop(why);
        }
    }

    /// Waits until `look` sees what it waits for, and until that is stored. It is asked at every
    /// change, with `None` when there is no such job.
    pub(crate) async fn wait<R>(
        &self,
        id: &str,
        mut look: impl FnMut(Option<&Job>) -> Option<R>,
    ) -> R {
        let mut bell = self.bells.listen(id);
        let seen = loop {
            let there = self.read(id, |job| look(Some(job)));
            match there.unwrap_or_else(|| look(None)) {
                Some(seen) => break seen,
                None => bell.changed().await,
            }
        };
        if let Err(error) = self.database.written().await {
            tracing::error!(job = id, ?error, "what was waited for is not stored");
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_in_a_change_counts_as_absent() {
        let ssh = json!({"ssh": {"key_pair_names": ["KeyPair-a"]}});
        for (given, changed, merged) in [
            (
                json!({"endpoints": ssh}),
                json!({"endpoints": {"ssh": null}}),
                json!({"endpoints": ssh}),
            ),
            (json!({}), json!({"endpoints": {"ssh": null}}), json!({})),
            (
                json!({"spec": null}),
                json!({"spec": {"a": {"b": 1, "c": null}}}),
                json!({"spec": {"a": {"b": 1}}}),
            ),
        ] {
            let Value::Object(mut into) = given else {
                unreachable!()
            };
            merge(&mut into, changed.as_object().unwrap());
            assert_eq!(Value::Object(into), merged);
        }
    }
}
