//! Creation of a job with a predefined history from its seed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    accounts::User,
    clock::timestamp::Timestamp,
    job::{
        Job, RecordEnd, TaskFailure,
        event::{Event, EventKind, Level, Source},
        request::JobRequest,
        state::{JobState, PHASES},
    },
    metrics::series::SERIES,
    state::EmulatorState,
    validation::{self, creation::Creation},
};

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Seed {
    pub(super) name: Option<String>,
    job: Option<Value>,
    pub(super) count: Option<u32>,
    pub(super) id: Option<String>,
    user: Option<String>,
    phase: Option<String>,
    created: Option<SeedTime>,
    started: Option<SeedTime>,
    ended: Option<SeedTime>,
    exit_code: Option<i32>,
    task: Option<String>,
    events: Option<Vec<SeedEvent>>,
    pub(super) logs: BTreeMap<String, String>,
    pub(super) metrics: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
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

struct SeedTimes {
    created: Timestamp,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
}

impl Seed {
    /// Builds the job with the index `n`. An error message continues the path of the seed.
    pub(super) fn build_job(
        &self,
        state: &EmulatorState,
        n: u32,
        now: Timestamp,
    ) -> Result<Job, String> {
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
        job.owner.project.clone_from(&user.project_id);
        job.owner.user_id.clone_from(&user.id);
        job.owner.user_name.clone_from(&user.name);
        job.settings.tags.clone_from(&self.tags);
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
        // The creation times of the jobs of a seed are one second apart, and never in the future.
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
        Ok(SeedTimes { created, started, ended })
    }

    fn check_tasks(&self, job: &Job) -> Result<(), String> {
        let known: Vec<String> = job.tasks().collect();
        let named = (self.task.iter().map(|task| ("task", task)))
            .chain(self.logs.keys().map(|task| ("logs", task)))
            .chain(self.metrics.keys().map(|task| ("metrics", task)));
        for (member, task) in named {
            if !known.contains(task) {
                let known = known.join(", ");
                return Err(format!(".{member}: {task} is not a task of the job: {known}"));
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

    /// Moves the job through the phases of its history, and records their events.
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
            job.history.failure = Some(TaskFailure { task, exit_code });
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
                task: job.history.failure.as_ref().map(|failure| failure.task.clone()),
                recover: None,
            });
            reached &= job.advance(state, ended);
            job.note(kind, ended);
        }
        job.lifecycle.settled = job.state.is_final();
        job.lifecycle.standing = !job.lifecycle.settled;
        // The state machine permits the steps to each of the `PHASES`.
        reached.then_some(()).ok_or_else(|| format!(".phase: {phase} cannot be reached"))
    }
}
