//! Storage of jobs. All jobs are in the database. A job is also in memory until its processes have
//! ended and its last event is recorded.

mod change_signals;
mod count_cache;
mod creation_counts;
mod job_table;
pub(crate) mod listing;
mod scan;
pub(crate) mod selection;
pub(crate) mod tags;

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use rusqlite::Connection;

use crate::{
    api::error::ApiError,
    clock::timestamp::Timestamp,
    database::Database,
    job::{
        Job,
        event::{Event, EventKind},
        state::StopReason,
    },
    store::{change_signals::ChangeSignals, count_cache::CountCache, job_table::Row},
};

#[derive(Debug)]
pub(crate) struct JobStore {
    /// Live jobs by id. Their number does not depend on the number of all jobs.
    live: Mutex<HashMap<String, (Row, Job)>>,
    signals: ChangeSignals,
    /// Cache of counts, locked whenever a job changes, after `live` and before the database.
    count_cache: Mutex<CountCache>,
    pub(crate) database: Arc<Database>,
}

impl JobStore {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self {
            live: Mutex::default(),
            signals: ChangeSignals::default(),
            count_cache: Mutex::default(),
            database,
        }
    }

    /// Inserts a job, unless its name is taken, `quota` is reached or, if set, an output is in use.
    pub(crate) fn insert(
        &self,
        mut job: Job,
        quota: usize,
        one_job_per_output: bool,
    ) -> Result<(), ApiError> {
        let mut live = self.live.lock();
        if one_job_per_output && live.values().any(|(_, other)| other.shares_output_with(&job)) {
            return Err(ApiError::invalid_parameter("Other running job contain train_url"));
        }
        let mut count_cache = self.count_cache.lock();
        let row = self
            .database
            .write(|connection| job_table::insert_new(connection, &mut job, quota))??;
        count_cache.add(&job);
        drop(count_cache);
        let id = job.id.clone();
        if !job.lifecycle.settled {
            live.insert(id.clone(), (row, job));
        }
        drop(live);
        self.signals.notify(&id);
        Ok(())
    }

    pub(crate) fn read<R>(&self, id: &str, look: impl FnOnce(&Job) -> R) -> Option<R> {
        let live = self.live.lock();
        if let Some((_, job)) = live.get(id) {
            return Some(look(job));
        }
        drop(live);
        self.load(id).map(|(_, job)| look(&job))
    }

    /// Loads a job from the database. A job that cannot be read is logged, and counts as absent.
    fn load(&self, id: &str) -> Option<(Row, Job)> {
        let loaded = self.database.read(|c| job_table::load(c, id));
        loaded.unwrap_or_else(|error| {
            tracing::error!(job = id, %error, "a job cannot be read");
            None
        })
    }

    pub(crate) fn update<R>(&self, id: &str, change: impl FnOnce(&mut Job) -> R) -> Option<R> {
        let mut live = self.live.lock();
        let (mut row, mut job) = live.remove(id).or_else(|| self.load(id))?;
        let tags = job.settings.tags.clone();
        let mut count_cache = self.count_cache.lock();
        count_cache.subtract(&job);
        let result = change(&mut job);
        count_cache.add(&job);
        let save = |c: &Connection| job_table::save(c, &mut row, &mut job, &tags);
        if let Err(error) = self.database.keep(save) {
            tracing::error!(job = id, %error, "a change cannot be stored");
        }
        drop(count_cache);
        if !job.lifecycle.settled {
            live.insert(id.to_owned(), (row, job));
        }
        drop(live);
        self.signals.notify(id);
        Some(result)
    }

    pub(crate) fn append_event(&self, id: &str, kind: EventKind, time: Timestamp) {
        let event = Event { time, kind };
        if let Err(error) = self.database.keep(|c| job_table::append(c, id, &event)) {
            tracing::error!(job = id, %error, "an event cannot be stored");
        }
        self.signals.notify(id);
    }

    pub(crate) fn remove(&self, id: &str) {
        let mut live = self.live.lock();
        let known = live.remove(id);
        let mut count_cache = self.count_cache.lock();
        if !count_cache.is_empty()
            && let Some((_, job)) = known.or_else(|| self.load(id))
        {
            count_cache.subtract(&job);
        }
        if let Err(error) = self.database.keep(|c| job_table::remove(c, id)) {
            tracing::error!(job = id, %error, "a deletion cannot be stored");
        }
        drop(count_cache);
        drop(live);
        self.signals.notify(id);
    }

    pub(crate) fn events(&self, id: &str) -> Result<Vec<Event>, ApiError> {
        Ok(self.database.read(|c| job_table::events(c, id))?)
    }

    pub(crate) fn count(&self, project: &str) -> rusqlite::Result<u64> {
        self.database.read(|c| job_table::count(c, project))
    }

    pub(crate) fn count_all(&self) -> rusqlite::Result<u64> {
        let sql = "SELECT coalesce(sum(jobs), 0) FROM job_groups";
        self.database.read(|c| c.query_row(sql, [], |row| row.get(0)))
    }

    pub(crate) fn is_taken(&self, project: &str, name: &str) -> rusqlite::Result<bool> {
        self.database.read(|c| job_table::is_taken(c, project, name))
    }

    pub(crate) fn count_of_experiment(
        &self,
        project: &str,
        experiment: &str,
    ) -> rusqlite::Result<u64> {
        let sql = "SELECT count(*) FROM jobs WHERE experiment = ?2 AND experiment <> ''
                   AND project = (SELECT number FROM projects WHERE id = ?1)";
        self.database.read(|c| {
            let mut select = c.prepare_cached(sql)?;
            select.query_row([project, experiment], |row| row.get(0))
        })
    }

    /// Returns ids of settled jobs after the row id `last`, and advances `last`. Empty at the end.
    pub(crate) fn settled_ids_after(
        &self,
        last: &mut i64,
        many: u32,
    ) -> rusqlite::Result<Vec<String>> {
        loop {
            let live = self.live.lock();
            let mut some = self.database.read(|c| job_table::ids_after(c, *last, many))?;
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

    pub(crate) fn live_ids(&self) -> Vec<String> {
        self.live.lock().keys().cloned().collect()
    }

    pub(crate) fn all_ids(&self) -> rusqlite::Result<Vec<String>> {
        self.ids("SELECT id FROM jobs ORDER BY number")
    }

    /// Returns the ids of open jobs, including the jobs of an earlier process of the emulator.
    pub(crate) fn open_ids(&self) -> rusqlite::Result<Vec<String>> {
        self.ids("SELECT id FROM jobs WHERE open ORDER BY number")
    }

    fn ids(&self, sql: &str) -> rusqlite::Result<Vec<String>> {
        self.database.read(|connection| {
            let mut select = connection.prepare(sql)?;
            let ids = select.query_map([], |row| row.get(0))?;
            ids.collect()
        })
    }

    pub(crate) fn ask_all_to_stop(&self, why: StopReason) {
        for (_, job) in self.live.lock().values() {
            job.ask_to_stop(why);
        }
    }

    /// Returns a listener to the changes of a job from now on.
    #[cfg(all(feature = "slurm", feature = "cli"))]
    pub(crate) fn changes(&self, id: &str) -> change_signals::ChangeListener<'_> {
        self.signals.subscribe(id)
    }

    /// Calls `look` now and after each change until it returns a value, and waits for a commit.
    pub(crate) async fn wait<R>(
        &self,
        id: &str,
        mut look: impl FnMut(Option<&Job>) -> Option<R>,
    ) -> R {
        let mut signal = self.signals.subscribe(id);
        let value = loop {
            let there = self.read(id, |job| look(Some(job)));
            match there.unwrap_or_else(|| look(None)) {
                Some(value) => break value,
                None => signal.changed().await,
            }
        };
        if let Err(error) = self.database.committed().await {
            tracing::error!(job = id, ?error, "a change that was waited for cannot be stored");
        }
        value
    }
}
