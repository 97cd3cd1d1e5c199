//! `JobUpdate`: an item of the stream of a followed job, and the order of the items of a poll.

use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use crate::{
    error::Error,
    jobs::{
        events::{
            event::{Event, TIME_RESOLUTION},
            kind::EventKind,
        },
        job::Job,
        logs::{
            line_splitter::LogItem,
            timestamp::{LineTimes, line_times},
        },
    },
};

/// Item of the stream of a followed job.
///
/// As JSON, an update is an object with its name (`update`) and its fields: `id`, `name` and
/// `phase` of the job; all fields of the [`Event`]; or `task` and the field of the [`LogItem`].
///
/// ```json
/// {"update": "phase", "id": "cf63aba9-63b1-4219-b717-708a2665100b", "name": "first",
///  "phase": "Running"}
/// {"update": "event", "time": "2026-01-15T08:30:07Z", "level": "Info", "source": "Job",
///  "message": "Training job created.", "kind": "created"}
/// {"update": "log", "task": "worker-0", "line": "epoch 1"}
/// {"update": "log", "task": "worker-0", "gap": {"bytes": 4096}}
/// {"update": "vanished"}
/// {"update": "interrupted", "error": "ShowTrainingJobDetails: HTTP 503 Service Unavailable"}
/// {"update": "resumed"}
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "update", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobUpdate {
    /// The phase changed, or was read for the first time. Contains the job as read at that time.
    Phase(#[serde(serialize_with = "summary")] Box<Job>),
    /// An event appeared.
    Event(Event),
    /// A task wrote to its log.
    Log {
        /// Task, such as `worker-0`.
        task: String,
        /// Line of the log, or gap in the log.
        #[serde(flatten)]
        item: LogItem,
    },
    /// The job was deleted.
    Vanished,
    /// The details of the job cannot be read at the moment. The stream continues. Returned only
    /// with [`report_interruptions`](crate::jobs::follow::Updates::report_interruptions).
    Interrupted {
        /// Error that the stream tolerates. As JSON, the message of the error.
        #[serde(serialize_with = "text")]
        error: Error,
    },
    /// The details of the job can be read again. Follows [`Interrupted`](Self::Interrupted).
    Resumed,
}

fn text<S: Serializer>(error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

fn summary<S: Serializer>(job: &Job, serializer: S) -> Result<S::Ok, S::Error> {
    job.summary().serialize(serializer)
}

/// Inserts lines with a time zone by time, and other lines before the end of their task, or last.
pub(super) fn merge(events: Vec<Event>, logs: Vec<(String, Vec<LogItem>)>) -> Vec<JobUpdate> {
    let ends = task_ends(&events);
    let mut placed = Vec::new();
    for (task, items) in logs {
        let of_task = |end: &(usize, Option<String>)| {
            let (at, ended) = end;
            ended.as_ref().is_none_or(|it| *it == task).then_some(*at)
        };
        let ends: Vec<usize> = ends.iter().filter_map(of_task).collect();
        let LineTimes { times, have_zone } = line_times(&items);
        for (item, time) in items.into_iter().zip(times) {
            let before = match time.filter(|_| have_zone) {
                Some(time) => event_index(&events, &ends, time),
                None => ends.first().copied().unwrap_or(events.len()),
            };
            let task = task.clone();
            placed.push((before, time, JobUpdate::Log { task, item }));
        }
    }
    placed.sort_by_key(|(before, time, _)| (*before, *time));
    let mut placed = placed.into_iter().peekable();
    let mut updates = Vec::new();
    for (at, event) in events.into_iter().enumerate() {
        while let Some((_, _, line)) = placed.next_if(|(before, _, _)| *before <= at) {
            updates.push(line);
        }
        updates.push(JobUpdate::Event(event));
    }
    updates.extend(placed.map(|(_, _, line)| line));
    updates
}

fn event_index(events: &[Event], ends: &[usize], time: SystemTime) -> usize {
    let is_before = |event: &Event, late| event.time().is_none_or(|at| at + late <= time);
    let by_time = events.partition_point(|event| is_before(event, Duration::ZERO));
    let end = ends.partition_point(|at| is_before(&events[*at], TIME_RESOLUTION));
    ends.get(end).map_or(by_time, |end| by_time.min(*end))
}

/// Returns the indexes of the events that end a task, with the task, or `None` for all tasks.
fn task_ends(events: &[Event]) -> Vec<(usize, Option<String>)> {
    let ended = |(at, event): (usize, &Event)| match event.kind() {
        EventKind::TaskFinished { task, .. } | EventKind::OutputUploading { task, .. } => {
            Some((at, Some(task)))
        }
        kind => kind.is_final().then_some((at, None)),
    };
    events.iter().enumerate().filter_map(ended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an event at this second of a minute.
    fn event(second: u32, message: &str) -> Event {
        let time = format!("2026-01-15T16:30:{second:02}+08:00");
        let row = serde_json::json!({"time": time, "message": message});
        Event::new(serde_json::from_value(row).unwrap())
    }

    fn log(task: &str, lines: &[&str]) -> (String, Vec<LogItem>) {
        let lines = lines.iter().map(|line| LogItem::Line((*line).to_owned()));
        (task.to_owned(), lines.collect())
    }

    fn merged(events: Vec<Event>, logs: Vec<(String, Vec<LogItem>)>) -> Vec<String> {
        let texts = merge(events, logs).into_iter().map(|update| match update {
            JobUpdate::Event(event) => event.message().to_owned(),
            JobUpdate::Log { task, item: LogItem::Line(line) } => format!("{task}: {line}"),
            other => format!("{other:?}"),
        });
        texts.collect()
    }

    const END_0: &str = "[worker-0] Training finished. Exit code 0.";
    const END_1: &str = "[worker-1] Training finished. Exit code 0.";

    #[test]
    fn lines_without_times_come_before_the_end_of_their_task() {
        assert_eq!(
            merged(
                vec![
                    event(1, "Training job is running."),
                    event(5, END_1),
                    event(6, END_0),
                    event(7, "Training job executed."),
                    event(8, "Billing information synchronized."),
                ],
                vec![
                    log("worker-0", &["a", "b"]),
                    log("worker-1", &["c"]),
                    log("server-0", &["d"]),
                ],
            ),
            [
                "Training job is running.",
                "worker-1: c",
                END_1,
                "worker-0: a",
                "worker-0: b",
                END_0,
                "server-0: d",
                "Training job executed.",
                "Billing information synchronized.",
            ]
        );
        assert_eq!(
            merged(vec![event(5, END_1)], vec![log("worker-0", &["a"]), log("worker-1", &["b"])],),
            ["worker-1: b", END_1, "worker-0: a"]
        );
    }

    #[test]
    fn lines_of_all_tasks_come_in_the_order_of_their_times() {
        // Lines without a time zone are inserted like lines without a time.
        assert_eq!(
            merged(
                vec![event(1, "Training job is running."), event(9, END_0)],
                vec![
                    log("worker-0", &["2026-01-15 08:30:01 a", "  b", "2026-01-15 08:30:03 c"]),
                    log("worker-1", &["d", "2026-01-15 08:30:02,5 e"]),
                ],
            ),
            [
                "Training job is running.",
                "worker-0: 2026-01-15 08:30:01 a",
                "worker-0:   b",
                "worker-0: 2026-01-15 08:30:03 c",
                END_0,
                "worker-1: d",
                "worker-1: 2026-01-15 08:30:02,5 e",
            ]
        );
        assert_eq!(
            merged(
                Vec::new(),
                vec![
                    log("worker-0", &["2026-01-15 08:30:01 a", "  b", "2026-01-15 08:30:03 c"]),
                    log("worker-1", &["d", "2026-01-15 08:30:02,5 e"]),
                    log("worker-2", &["f"]),
                ],
            ),
            [
                "worker-2: f",
                "worker-0: 2026-01-15 08:30:01 a",
                "worker-0:   b",
                "worker-1: d",
                "worker-1: 2026-01-15 08:30:02,5 e",
                "worker-0: 2026-01-15 08:30:03 c",
            ]
        );
    }

    #[test]
    fn lines_whose_times_have_a_zone_stand_among_the_events() {
        let again = "The training job has been restarted.";
        assert_eq!(
            merged(
                vec![
                    event(1, "Training job is running."),
                    event(3, END_0),
                    event(5, again),
                    event(9, END_0),
                ],
                vec![
                    log(
                        "worker-0",
                        &[
                            "2026-01-15T08:30:01.5Z a",
                            // The event may have occurred at this time or later in its second, so
                            // the line precedes it.
                            "2026-01-15T08:30:03.9Z b",
                            "2026-01-15T16:30:06+08:00 c",
                        ]
                    ),
                    log("worker-1", &["2026-01-15T08:30:00Z d"]),
                ],
            ),
            [
                "worker-1: 2026-01-15T08:30:00Z d",
                "Training job is running.",
                "worker-0: 2026-01-15T08:30:01.5Z a",
                "worker-0: 2026-01-15T08:30:03.9Z b",
                END_0,
                again,
                "worker-0: 2026-01-15T16:30:06+08:00 c",
                END_0,
            ]
        );
    }

    #[test]
    fn a_long_history_is_merged_in_one_go() {
        // A merge that moved all lines for each event would take 2 * 10^9 moves.
        let mut events = Vec::new();
        for _ in 0..20_000 {
            events.push(event(1, "[worker-0] training started."));
        }
        events.push(event(2, END_0));
        let lines: Vec<_> = (0..100_000).map(|n| LogItem::Line(n.to_string())).collect();
        let updates = merge(events, vec![("worker-0".to_owned(), lines)]);
        assert_eq!(updates.len(), 120_001);
        assert!(matches!(&updates[20_000], JobUpdate::Log { .. }));
        assert!(matches!(&updates[120_000], JobUpdate::Event(_)));
    }
}
