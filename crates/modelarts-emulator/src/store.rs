//! All jobs, in memory, and a bell that rings at every change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::Moment;
use crate::error::ApiError;
use crate::events::{Event, EventKind};
use crate::lifecycle::{State, Stop};
use crate::request::JobRequest;

/// One job: what was asked, and what has become of it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) request: Arc<JobRequest>,
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
    /// Nothing will happen to it any more: its processes have gone, its last event is written.
    pub(crate) settled: bool,
    stop: watch::Sender<Option<Stop>>,
}

/// The first task that failed.
#[derive(Clone, Debug)]
pub(crate) struct TaskFailure {
    pub(crate) task: String,
    pub(crate) exit_code: i32,
}

/// One run of the code.
#[derive(Clone, Debug)]
pub(crate) struct RunningRecord {
    pub(crate) start: Moment,
    pub(crate) end: Option<RecordEnd>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(crate) struct RecordEnd {
    pub(crate) at: Moment,
    pub(crate) reason: String,
    pub(crate) task: Option<String>,
}

impl Job {
    pub(crate) fn new(id: String, request: JobRequest, created: Moment) -> Self {
        Self {
            id,
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
            settled: false,
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
            State::Queuing => self.nodes.push((now, 0)),
            State::Running => {
                // Points bracket each change: the last old value, then the first new one.
                let before = Moment::from_millis(now.millis() - 1000);
                if self.nodes.last().is_some_and(|(at, _)| *at < before) {
                    self.nodes.push((before, 0));
                }
                self.nodes.push((now, self.request.node_count));
                self.started = Some(now);
                self.records.push(RunningRecord {
                    start: now,
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
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Mutex::default(),
            changes: watch::Sender::new(()),
        }
    }

    /// Adds a job, unless one of the same name is there.
    pub(crate) fn insert(&self, job: Job) -> Result<(), ApiError> {
        let mut jobs = self.jobs.lock();
        if jobs
            .by_number
            .values()
            .any(|other| other.request.name == job.request.name)
        {
            return Err(ApiError::duplicate_name(&job.request.name));
        }
        let number = jobs.created;
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
        drop(jobs);
        self.changes.send_replace(());
        result
    }

    pub(crate) fn remove(&self, id: &str) {
        let mut jobs = self.jobs.lock();
        if let Some(number) = jobs.numbers.remove(id) {
            jobs.by_number.remove(&number);
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
