//! Seeds: jobs with an invented past, for tests of lists and details.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    accounts::User,
    clock::timestamp::Timestamp,
    execution::{finish, lifecycle},
    job::{
        Job, RecordEnd, TaskFailure,
        event::{Event, EventKind, Level, Source},
        request::JobRequest,
        state::{JobState, PHASES},
        worker::Worker,
    },
    metrics::series::SERIES,
    state::EmulatorState,
    validation::{self, creation::Creation},
};

/// Jobs to create with an invented past. [`Seeds::from_json`] reads them from JSON.
///
/// ```json
/// {"jobs": [
///   {"name": "old", "phase": "Failed", "exit_code": 2, "created": "2026-01-15T08:30:00Z"},
///   {"name": "many-{n}", "count": 1000},
///   {"name": "now", "phase": "Running", "logs": {"worker-0": "step 1\n"}}
/// ]}
/// ```
///
/// | member | default | value |
/// |---|---|---|
/// | `name` | the name in `job` | must not exist yet; with `count`, `{n}` is replaced by 0, 1, … |
/// | `job` | a command in a custom image | the body of a CreateTrainingJob request, to which all its rules apply |
/// | `count` | 1 | the number of jobs; their creation times are one second apart |
/// | `id` | random | a UUID |
/// | `user` | the first user | the name of the user; the job belongs to the project of this user |
/// | `phase` | `Completed` | any of the eight phases. Jobs that have not ended keep their phase until they are stopped or deleted |
/// | `created` `started` `ended` | current time; `started` and `ended` default to the time before them | RFC 3339, or milliseconds; in this order and not in the future. A time that the job has not reached in its phase must be absent |
/// | `exit_code`, `task` | 1, `worker-0` | only for a job whose phase is `Failed` |
/// | `events` | the events of the phase | list of `time`, `message`, `level` (default `Info`) and `source` (default `Job`), in chronological order |
/// | `logs` | none | object with the text of the log for each task |
/// | `metrics` | none | object with the values for each task and series: one for each minute, -1 for a gap |
/// | `tags` | none | object of tag keys and values |
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    jobs: Vec<Seed>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Seed {
    name: Option<String>,
    job: Option<Value>,
    count: Option<u32>,
    id: Option<String>,
    user: Option<String>,
    phase: Option<String>,
    created: Option<SeedTime>,
    started: Option<SeedTime>,
    ended: Option<SeedTime>,
    exit_code: Option<i32>,
    task: Option<String>,
    events: Option<Vec<SeedEvent>>,
    logs: BTreeMap<String, String>,
    metrics: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    tags: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedEvent {
    time: SeedTime,
    message: String,
    #[serde(default)]
    level: Level,
    #[serde(default)]
    source: Source,
}

/// Time in a seed, as RFC 3339 or in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
struct SeedTime(Timestamp);

impl TryFrom<Value> for SeedTime {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let moment = match &value {
            Value::String(text) => Timestamp::parse(text),
            value => value.as_i64().and_then(Timestamp::in_range),
        };
        let sentence = || format!("a time must be RFC 3339 or milliseconds, not {value}");
        moment.map(Self).ok_or_else(sentence)
    }
}

/// Error of reading or creating seeds. None of their jobs is created.
#[derive(Debug)]
pub struct SeedError(String);

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SeedError {}

/// Maximum number of jobs that one seed creates.
const MAX_COUNT: u32 = 1_000_000;
/// Number of jobs that are created between two commits.
const COMMIT_BATCH: usize = 1000;

impl Seeds {
    /// Reads seeds. The emulator validates them when it creates their jobs.
    ///
    /// # Errors
    /// Returns an error if the JSON does not have the structure of seeds. The error is a sentence
    /// that names the member and states the rule.
    pub fn from_json(text: &str) -> Result<Self, SeedError> {
        serde_json::from_str(text).map_err(|error| SeedError(error.to_string()))
    }

    /// Creates all jobs and returns their IDs, or creates none of them. With `keep_existing`, seeds
    /// whose names already exist are skipped.
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
            if state.store.read(id, |job| job.standing) == Some(true) {
                state.spawn(lifecycle::hold(Arc::clone(state), id.clone()));
            }
        }
        Ok(ids)
    }

    /// Validates the first and the last job of each seed before the emulator creates any.
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

    /// Creates the jobs one after another, because their number may be large. `ids` receives the
    /// IDs of all jobs whose creation began, even on failure.
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
                let taken = state.store.is_taken(&job.project, &name);
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

/// Returns the error for a seed, which is identified by its index. `sentence` starts with the
/// member that follows the index.
fn seed_error(at: usize, sentence: &str) -> SeedError {
    SeedError(format!("jobs[{at}]{sentence}"))
}

/// Stores a job, its logs and its metrics.
async fn store_job(state: &Arc<EmulatorState>, seed: &Seed, job: Job) -> Result<(), String> {
    let id = job.id.clone();
    let request = Arc::clone(&job.request);
    state
        .store
        .insert(job, usize::MAX, false)
        .map_err(|error| error.message)?;
    for worker in Worker::all(&id, &request) {
        if let Some(values) = seed.metrics.get(&worker.task()) {
            state.metrics.add_minutes(&worker.pod(), values.clone());
        }
        if let Some(text) = seed.logs.get(&worker.task()) {
            let written = state.runner.write_log(worker, text.clone()).await;
            written.map_err(|error| format!("its log cannot be written: {error}"))?;
        }
    }
    Ok(())
}

/// Times at which a job reached its phases.
struct SeedTimes {
    created: Timestamp,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
}

impl Seed {
    /// Builds the job with the number `n`, counted from 0. The message of an error starts with the
    /// member that follows the index of the seed.
    fn build_job(&self, state: &EmulatorState, n: u32, now: Timestamp) -> Result<Job, String> {
        let phase = self.phase.as_deref().unwrap_or("Completed");
        if !PHASES.contains(&phase) {
            return Err(format!(".phase must be one of {}", PHASES.join(", ")));
        }
        let times = self.times(phase, n, now)?;
        let request = self.request(state, n)?;
        let user = self.user(state)?;
        let id = match &self.id {
            None => state.ids.next(),
            Some(id) => Uuid::parse_str(id).map_err(|_| ".id must be a UUID".to_owned())?,
        };
        let mut job = Job::new(id.to_string(), request, times.created);
        job.project.clone_from(&user.project_id);
        job.user_id.clone_from(&user.id);
        job.user_name.clone_from(&user.name);
        job.tags.clone_from(&self.tags);
        self.check_tasks(&job)?;
        self.replay(&mut job, phase, &times)?;
        if let Some(events) = &self.events {
            if !events.is_sorted_by_key(|event| event.time.0) {
                return Err(".events must be in the order of their times".to_owned());
            }
            let events = events.iter().map(|event| Event {
                time: event.time.0,
                kind: EventKind::Given {
                    message: event.message.clone(),
                    level: event.level,
                    source: event.source,
                },
            });
            job.events = events.collect();
        }
        Ok(job)
    }

    fn user<'a>(&self, state: &'a EmulatorState) -> Result<&'a User, String> {
        let Some(name) = &self.user else {
            return Ok(state.accounts.user(0));
        };
        let mut users = state.accounts.users().iter();
        let found = users.find(|user| user.name == *name);
        found.ok_or_else(|| format!(".user: there is no user {name}"))
    }

    fn request(&self, state: &EmulatorState, n: u32) -> Result<JobRequest, String> {
        let mut body = self.job.clone().unwrap_or_else(|| {
            json!({
                "kind": "job",
                "metadata": {},
                "algorithm": {"engine": {"image_url": "seeds/image:1"}, "command": "true"},
                "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
            })
        });
        if let Some(name) = &self.name {
            let name = name.replace("{n}", &n.to_string());
            let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
            let metadata = metadata.ok_or(".job.metadata must be an object")?;
            metadata.insert("name".to_owned(), name.into());
        } else if self.job.is_none() {
            return Err(" must have `name` or `job`".to_owned());
        }
        let draft = Creation {
            body: &body,
            offer: &state.offer,
            stored: None,
            is_algorithm: false,
            may_prioritise: true,
        };
        validation::check(&draft)
            .and_then(|()| JobRequest::read(body.clone()))
            .map_err(|error| format!(".job: {} {}", error.code, error.message))
    }

    fn times(&self, phase: &str, n: u32, now: Timestamp) -> Result<SeedTimes, String> {
        let must_start = matches!(phase, "Running" | "Completed" | "Failed");
        let may_start = must_start || matches!(phase, "Terminating" | "Terminated");
        let may_end = matches!(phase, "Completed" | "Failed" | "Terminated" | "Abnormal");
        let fails = self.exit_code.is_some() || self.task.is_some();
        for (member, given, fits, past) in [
            ("started", self.started.is_some(), may_start, "run"),
            ("ended", self.ended.is_some(), may_end, "ended"),
            ("exit_code", fails, phase == "Failed", "failed"),
        ] {
            if given && !fits {
                return Err(format!(".{member}: a job that is {phase} has not {past}"));
            }
        }
        let exit_code = self.exit_code.unwrap_or(1);
        if !(1..=255).contains(&exit_code) {
            return Err(".exit_code must be between 1 and 255".to_owned());
        }
        // Creation times within a seed are one second apart, and never in the future.
        let later = std::time::Duration::from_secs(u64::from(n));
        let shift = |time: Option<SeedTime>| time.map(|SeedTime(moment)| moment.plus(later));
        let before = i64::from(self.count.unwrap_or(1) - 1 - n) * 1000;
        let created =
            shift(self.created).unwrap_or_else(|| Timestamp::from_millis(now.millis() - before));
        let started = shift(self.started).or(must_start.then_some(created));
        let ended = shift(self.ended).or(may_end.then_some(started.unwrap_or(created)));
        for (name, time, least) in [
            ("created", Some(created), None),
            ("started", started, Some(created)),
            ("ended", ended, started.or(Some(created))),
        ] {
            let Some(time) = time else { continue };
            if time > now {
                return Err(format!(".{name} must not be in the future"));
            }
            if least.is_some_and(|least| time < least) {
                return Err(format!(".{name} must not be before the preceding time"));
            }
        }
        Ok(SeedTimes {
            created,
            started,
            ended,
        })
    }

    /// Checks that all tasks belong to the job and all series are known.
    fn check_tasks(&self, job: &Job) -> Result<(), String> {
        let known: Vec<String> = job.tasks().collect();
        let named = (self.task.iter().map(|task| ("task", task)))
            .chain(self.logs.keys().map(|task| ("logs", task)))
            .chain(self.metrics.keys().map(|task| ("metrics", task)));
        for (member, task) in named {
            if !known.contains(task) {
                let known = known.join(", ");
                return Err(format!(
                    ".{member}: {task} is not a task of the job: {known}"
                ));
            }
        }
        for (task, series) in &self.metrics {
            for (name, values) in series {
                let rule = if !SERIES.contains(&name.as_str()) {
                    format!("be one of {}", SERIES.join(", "))
                } else if !values.iter().all(|value| (-1.0..=100.0).contains(value)) {
                    "be percent, or -1".to_owned()
                } else {
                    continue;
                };
                return Err(format!(".metrics.{task}.{name} must {rule}"));
            }
        }
        Ok(())
    }

    /// Moves the job through the phases of its past, and records their events.
    fn replay(&self, job: &mut Job, phase: &str, times: &SeedTimes) -> Result<(), String> {
        let (created, started) = (times.created, times.started);
        let ended = times.ended.unwrap_or(created);
        let tasks: Vec<String> = job.tasks().collect();
        let exit_code = match phase {
            "Failed" => self.exit_code.unwrap_or(1),
            "Terminated" => 143,
            _ => 0,
        };
        let mut reached = true;
        let mut step = |job: &mut Job, state, kind, at| {
            reached &= job.advance(state, at);
            job.note(kind, at);
        };
        if phase == "Abnormal" {
            let cause = "seeded".to_owned();
            let kind = EventKind::CreateFailed { cause };
            step(job, JobState::CreateFailed, kind, ended);
        } else if phase != "Creating" {
            step(job, JobState::Queuing, EventKind::Queuing, created);
        }
        if let Some(started) = started {
            step(job, JobState::Running, EventKind::Running, started);
            for task in tasks.clone() {
                job.note(EventKind::TaskStarted { task }, started);
            }
            for task in tasks.into_iter().filter(|_| times.ended.is_some()) {
                job.note(EventKind::TaskFinished { task, exit_code }, ended);
            }
        }
        let reason = match phase {
            "Completed" => "job completed".to_owned(),
            _ => format!("exit with {exit_code}"),
        };
        if phase == "Failed" {
            let task = self.task.clone().unwrap_or_else(|| "worker-0".to_owned());
            job.failure = Some(TaskFailure { task, exit_code });
        }
        if matches!(phase, "Terminating" | "Terminated") {
            reached &= job.advance(JobState::Terminating, started.unwrap_or(created));
        }
        let last = match phase {
            "Completed" => Some((JobState::Completed, EventKind::Completed)),
            "Failed" => Some((JobState::Failed, EventKind::Failed)),
            "Terminated" => Some((JobState::Terminated, EventKind::StoppedByUser)),
            _ => None,
        };
        if let Some((state, kind)) = last {
            job.end_record(RecordEnd {
                at: ended.whole_second(),
                reason,
                task: job.failure.as_ref().map(|failure| failure.task.clone()),
                recover: None,
            });
            reached &= job.advance(state, ended);
            job.note(kind, ended);
        }
        job.settled = job.state.is_final();
        job.standing = !job.settled;
        // The state machine can reach all phases in the table above.
        reached
            .then_some(())
            .ok_or_else(|| format!(".phase: {phase} cannot be reached"))
    }
}
