//! Seeds: jobs with a predefined history, for tests of lists and details.

use std::sync::Arc;

use serde::Deserialize;

use crate::{
    clock::timestamp::Timestamp,
    execution::{finish, lifecycle, seed_job::Seed},
    job::{Job, worker::Worker},
    state::EmulatorState,
};

/// Jobs to create with a predefined history. [`Seeds::from_json`] reads them from JSON.
///
/// ```json
/// {"jobs": [
///   {"name": "old", "phase": "Failed", "exit_code": 2, "created": "2026-01-15T08:30:00Z"},
///   {"name": "many-{n}", "count": 1000},
///   {"name": "now", "phase": "Running", "logs": {"worker-0": "step 1\n"}}
/// ]}
/// ```
///
/// - `name` (default: the name in `job`): a name that does not exist yet; with `count`, `{n}` is
///   replaced by 0, 1, …
/// - `job` (default: a command in a custom image): the body of a CreateTrainingJob request, to
///   which all its rules apply
/// - `count` (default: 1): the number of jobs; their creation times are one second apart
/// - `id` (default: random): a UUID
/// - `user` (default: the first user): the name of the user; the job belongs to the project of this
///   user
/// - `phase` (default: `Completed`): any of the eight phases. Jobs that have not ended keep their
///   phase until they are stopped or deleted
/// - `created` `started` `ended` (default: current time; `started` and `ended` default to the time
///   before them): RFC 3339, or milliseconds; in this order and not in the future. A time that the
///   job has not reached in its phase must be absent
/// - `exit_code`, `task` (default: 1, `worker-0`): only for a job whose phase is `Failed`
/// - `events` (default: the events of the phase): list of `time`, `message`, `level` (default
///   `Info`) and `source` (default `Job`), in chronological order
/// - `logs` (default: none): object with the text of the log for each task
/// - `metrics` (default: none): object with the values for each task and series: one for each
///   minute, -1 for a gap
/// - `tags` (default: none): object of tag keys and values
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    jobs: Vec<Seed>,
}

/// Error of reading or creating seeds. None of the jobs is created.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SeedError(String);

/// Maximum number of jobs that one seed creates.
const MAX_COUNT: u32 = 1_000_000;
/// Number of jobs that are created between two waits for a commit.
const COMMIT_BATCH: usize = 1000;

impl Seeds {
    /// Reads seeds. The emulator validates them when it creates their jobs.
    ///
    /// # Errors
    /// Returns an error that names the member and states the rule if the JSON does not have the
    /// structure of seeds.
    pub fn from_json(text: &str) -> Result<Self, SeedError> {
        serde_json::from_str(text).map_err(|error| SeedError(error.to_string()))
    }

    /// Creates all jobs or none. `keep_existing` skips jobs whose names exist already.
    pub(crate) async fn create_jobs(
        &self,
        state: &Arc<EmulatorState>,
        keep_existing: bool,
    ) -> Result<Vec<String>, SeedError> {
        self.check(state)?;
        let mut ids = Vec::new();
        if let Err(error) = self.create_each(state, keep_existing, &mut ids).await {
            for id in &ids {
                finish::purge(state, id).await;
            }
            return Err(error);
        }
        let written = state.store.database.committed().await;
        written.map_err(|error| SeedError(error.message))?;
        for id in &ids {
            if state.store.read(id, |job| job.lifecycle.standing) == Some(true) {
                state.spawn(lifecycle::wait_for_stop(Arc::clone(state), id.clone()));
            }
        }
        Ok(ids)
    }

    /// Validates the first and the last job of each seed before any job is created.
    fn check(&self, state: &EmulatorState) -> Result<(), SeedError> {
        let now = Timestamp::now(state.clock.as_ref());
        for (at, seed) in self.jobs.iter().enumerate() {
            let error = |sentence: String| seed_error(at, &sentence);
            let count = seed.count.unwrap_or(1);
            if !(1..=MAX_COUNT).contains(&count) {
                return Err(error(format!(".count must be between 1 and {MAX_COUNT}")));
            }
            let marked = seed.name.as_ref().is_some_and(|name| name.contains("{n}"));
            if count > 1 && (seed.id.is_some() || !marked) {
                let sentence = ": several jobs need the placeholder {n} in `name`, and no `id`";
                return Err(seed_error(at, sentence));
            }
            for n in [0, count - 1] {
                seed.build_job(state, n, now).map_err(error)?;
            }
        }
        Ok(())
    }

    /// Creates the jobs. `ids` receives the ids of all jobs whose creation began, even on failure.
    async fn create_each(
        &self,
        state: &Arc<EmulatorState>,
        keep_existing: bool,
        ids: &mut Vec<String>,
    ) -> Result<(), SeedError> {
        let now = Timestamp::now(state.clock.as_ref());
        for (at, seed) in self.jobs.iter().enumerate() {
            for n in 0..seed.count.unwrap_or(1) {
                let built = seed.build_job(state, n, now);
                let job = built.map_err(|sentence| seed_error(at, &sentence))?;
                let (id, name) = (job.id.clone(), job.request.name.clone());
                let taken = state.store.is_taken(&job.owner.project, &name);
                if keep_existing && taken.unwrap_or_default() {
                    continue;
                }
                let refused = |sentence| SeedError(format!("the job {name}: {sentence}"));
                if state.store.read(&id, |_| ()).is_some() {
                    let sentence = format!("there is a job with the id {id} already");
                    return Err(refused(sentence));
                }
                ids.push(id);
                store_job(state, seed, job).await.map_err(refused)?;
                if ids.len().is_multiple_of(COMMIT_BATCH) {
                    // Lets other tasks run, and limits the number of uncommitted changes.
                    let written = state.store.database.committed().await;
                    written.map_err(|error| SeedError(error.message))?;
                }
            }
        }
        Ok(())
    }
}

/// Adds the path of the seed to an error `sentence`, such as `.phase must be one of …`.
fn seed_error(at: usize, sentence: &str) -> SeedError {
    SeedError(format!("jobs[{at}]{sentence}"))
}

async fn store_job(state: &Arc<EmulatorState>, seed: &Seed, job: Job) -> Result<(), String> {
    let id = job.id.clone();
    let request = Arc::clone(&job.request);
    state.store.insert(job, usize::MAX, false).map_err(|error| error.message)?;
    for worker in Worker::all(&id, &request) {
        if let Some(values) = seed.metrics.get(&worker.task()) {
            state.work.metrics.add_minutes(&worker.pod(), values.clone());
        }
        if let Some(text) = seed.logs.get(&worker.task()) {
            let written = state.work.runner.write_log(worker, text.clone()).await;
            written.map_err(|error| format!("its log cannot be written: {error}"))?;
        }
    }
    Ok(())
}
