//! Jobs: their records, requests, states and events, and their JSON in responses.

pub(crate) mod address;
pub(crate) mod channel;
pub(crate) mod event;
pub(crate) mod event_language;
pub(crate) mod request;
pub(crate) mod roles;
pub(crate) mod stages;
pub(crate) mod state;
#[cfg(feature = "slurm")]
pub(crate) mod submission;
pub(crate) mod view;
pub(crate) mod worker;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::{
    clock::timestamp::Timestamp,
    job::{
        event::{Event, EventKind},
        request::JobRequest,
        state::{JobState, StopReason},
        worker::task_name,
    },
    tuning::trial::Trial,
};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    /// Request, stored separately from the state, because it may be large and never changes.
    #[serde(skip)]
    pub(crate) request: Arc<JobRequest>,
    pub(crate) settings: JobSettings,
    pub(crate) state: JobState,
    pub(crate) history: History,
    pub(crate) lifecycle: Lifecycle,
    #[cfg(feature = "slurm")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) submission: Option<submission::Submission>,
    /// Events that are not stored yet; earlier events are in the database.
    #[serde(skip)]
    pub(crate) events: Vec<Event>,
    /// Trials of a search. Empty in jobs that are read for a list.
    #[serde(skip)]
    pub(crate) trials: Vec<Trial>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) project: String,
    pub(crate) user_id: String,
    pub(crate) user_name: String,
}

/// Members of a job that a user can change.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct JobSettings {
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) description: String,
    /// Members changed after the job was created, which override those of the request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    changed: Map<String, Value>,
    /// Priority: 0 to 3 in a create request, 1 to 3 in a change of a queued job (SOURCES D-68).
    pub(crate) priority: i64,
    pub(crate) preemptible: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    pub(crate) created: Timestamp,
    /// Start of the first run, in whole seconds.
    pub(crate) started: Option<Timestamp>,
    /// Time at which the job reached its final phase, in whole seconds.
    pub(crate) ended: Option<Timestamp>,
    pub(crate) schedule_count: u32,
    /// Number of restarts after a failure.
    pub(crate) restarts: u32,
    /// Samples of `node_count_metrics`: times and node counts. Responses add the current one.
    pub(crate) nodes: Vec<(Timestamp, u32)>,
    pub(crate) failure: Option<TaskFailure>,
    pub(crate) records: Vec<RunningRecord>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) images: BTreeMap<String, SavedImage>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lifecycle {
    /// `true` if the job is complete: its processes have ended, and its last event is recorded.
    pub(crate) settled: bool,
    pub(crate) deleted: bool,
    /// `true` for a seeded job that keeps its phase until it is stopped or deleted.
    pub(crate) standing: bool,
    #[serde(skip)]
    stop: watch::Sender<Option<StopReason>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskFailure {
    pub(crate) task: String,
    pub(crate) exit_code: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunningRecord {
    pub(crate) start: Timestamp,
    /// `true` for a restart in place, without scheduling.
    pub(crate) restarted: bool,
    pub(crate) end: Option<RecordEnd>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordEnd {
    pub(crate) at: Timestamp,
    pub(crate) reason: String,
    pub(crate) task: Option<String>,
    /// Value of `end_recover`: the way in which the job continues. `None` if the job ends.
    pub(crate) recover: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedImage {
    pub(crate) name: String,
    /// The organization of the image registry.
    pub(crate) namespace: String,
    pub(crate) tag: String,
    pub(crate) description: String,
    pub(crate) created: Timestamp,
    /// Index of the running record that was current at the time of the request.
    pub(crate) run: usize,
}

impl Job {
    pub(crate) fn new(id: String, request: JobRequest, created: Timestamp) -> Self {
        let preemptible = request.body.pointer("/spec/schedule_policy/preemptible");
        Self {
            id,
            settings: JobSettings {
                description: request.text("/metadata/description").to_owned(),
                priority: request.priority(),
                preemptible: preemptible == Some(&true.into()),
                ..JobSettings::default()
            },
            history: History { created, schedule_count: 1, ..History::default() },
            request: Arc::new(request),
            events: vec![Event { time: created, kind: EventKind::Created }],
            ..Self::default()
        }
    }

    pub(crate) fn body(&self) -> Cow<'_, Value> {
        let mut given = Cow::Borrowed(&self.request.body);
        if !self.settings.changed.is_empty()
            && let Value::Object(given) = given.to_mut()
        {
            merge(given, &self.settings.changed);
        }
        given
    }

    pub(crate) fn change(&mut self, changed: &Map<String, Value>) {
        merge(&mut self.settings.changed, changed);
    }

    /// Returns `true` until the job is final and settled or, if it was deleted, until its removal.
    pub(crate) fn is_open(&self) -> bool {
        !(self.lifecycle.settled && self.state.is_final()) || self.lifecycle.deleted
    }

    /// Returns the names of the job's tasks in the order of rank, starting with `worker-0`.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = String> {
        let parts = self.request.role_requests().iter();
        parts.flat_map(|part| part.indexes().map(|index| task_name(part.role(), index)))
    }

    /// Returns `true` if this job is active, and shares a project and an output with `other`.
    pub(crate) fn shares_output_with(&self, other: &Self) -> bool {
        let mut theirs = other.request.all_outputs();
        self.owner.project == other.owner.project
            && !self.state.is_final()
            && theirs.any(|output| {
                let mut own = self.request.all_outputs();
                own.any(|own| own.source == output.source)
            })
    }

    /// Moves the job to `next`. Returns `false` if the transition is not allowed.
    pub(crate) fn advance(&mut self, next: JobState, now: Timestamp) -> bool {
        if !self.state.may_become(next) {
            return false;
        }
        self.state = next;
        let now = now.whole_second();
        match next {
            JobState::Queuing => self.add_node_sample(now, 0),
            JobState::Running => {
                self.add_node_sample(now, self.request.node_count);
                self.history.started.get_or_insert(now);
                self.history.records.push(RunningRecord {
                    start: now,
                    restarted: false,
                    end: None,
                });
            }
            _ if next.is_final() => {
                self.history.ended = Some(now);
                if let Some((at, nodes)) = self.history.nodes.last().copied()
                    && at < now
                {
                    self.history.nodes.push((now, nodes));
                }
            }
            _ => {}
        }
        true
    }

    /// Adds two samples: the old number of nodes one second before `now`, the new number at `now`.
    fn add_node_sample(&mut self, now: Timestamp, count: u32) {
        let before = Timestamp::from_millis(now.millis() - 1000);
        if let Some((at, earlier)) = self.history.nodes.last().copied()
            && at < before
        {
            self.history.nodes.push((before, earlier));
        }
        self.history.nodes.push((now, count));
    }

    /// Ends the record of the current run, unless it has ended or no run has begun.
    pub(crate) fn end_record(&mut self, end: RecordEnd) {
        if let Some(record) = self.history.records.last_mut() {
            record.end.get_or_insert(end);
        }
    }

    pub(crate) fn note(&mut self, kind: EventKind, time: Timestamp) {
        self.events.push(Event { time, kind });
    }

    /// Requests a stop. A later reason replaces an earlier reason only if it is more urgent.
    pub(crate) fn ask_to_stop(&self, reason: StopReason) {
        self.lifecycle.stop.send_if_modified(|current| {
            let replace = current.is_none_or(|current| current.urgency() < reason.urgency());
            if replace {
                *current = Some(reason);
            }
            replace
        });
    }

    pub(crate) fn stop_requests(&self) -> watch::Receiver<Option<StopReason>> {
        self.lifecycle.stop.subscribe()
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        *self.lifecycle.stop.borrow()
    }
}

/// Merges the members of `from` into `into`, recursively. Null counts as absent.
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
            let Value::Object(mut into) = given else { unreachable!() };
            merge(&mut into, changed.as_object().unwrap());
            assert_eq!(Value::Object(into), merged);
        }
    }
}
