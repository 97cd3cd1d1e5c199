//! Phases of a job in their order, from its events, or from its details if it has none.

use std::time::Duration;

use modelarts_ext::{Event, EventKind, Job, Timestamp, types::Phase};

/// A phase that a job was in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) phase: Phase,
    pub(super) start: Timestamp,
    /// Time in the phase so far; `None` for a final phase.
    pub(super) duration: Option<Duration>,
}

pub(super) fn steps(job: &Job, events: &[Event], now: Timestamp) -> Vec<Step> {
    let of_events =
        events.iter().filter_map(|event| Some((phase_of(&event.kind())?, event.time()?)));
    let mut starts: Vec<(Phase, Timestamp)> = of_events.collect();
    if starts.is_empty() {
        starts = of_details(job);
    }
    // The final phase appears in the details before its event.
    if let Some((last, _)) = starts.last()
        && job.is_final()
        && !is_final(last)
        && let Some((_, end)) = of_details(job).into_iter().find(|(phase, _)| is_final(phase))
    {
        starts.push((job.phase(), end));
    }
    starts.dedup_by(|next, last| next.0 == last.0);
    let ends: Vec<Option<Timestamp>> =
        starts.iter().skip(1).map(|(_, start)| Some(*start)).chain([None]).collect();
    let steps = starts.into_iter().zip(ends).map(|((phase, start), end)| {
        let until = end.or((!is_final(&phase)).then_some(now));
        Step {
            duration: until.map(|until| until.duration_since(start)),
            // The details state the final phase exactly; the events of failures do not.
            phase: match end {
                None if job.is_final() => job.phase(),
                _ => phase,
            },
            start,
        }
    });
    steps.collect()
}

fn is_final(phase: &Phase) -> bool {
    matches!(phase, Phase::Completed | Phase::Failed | Phase::Terminated | Phase::Abnormal)
}

/// Returns the phase that begins with an event; `None` if the event begins no phase.
fn phase_of(kind: &EventKind) -> Option<Phase> {
    Some(match kind {
        EventKind::Created => Phase::Creating,
        EventKind::Queuing | EventKind::Preempted | EventKind::Restarted => Phase::Pending,
        EventKind::Running => Phase::Running,
        EventKind::Completed => Phase::Completed,
        EventKind::Failed => Phase::Failed,
        EventKind::StoppedByUser | EventKind::AutoStopped { .. } => Phase::Terminated,
        EventKind::CreateFailed { .. } | EventKind::PrepareTimedOut | EventKind::QueueFailed => {
            Phase::Abnormal
        }
        _ => return None,
    })
}

/// Returns the phases that the times in the details show, with their start times.
fn of_details(job: &Job) -> Vec<(Phase, Timestamp)> {
    let mut starts = Vec::new();
    let created = job.created_at();
    let started = job.started_at();
    if let Some(created) = created {
        let before = match (started, job.is_final()) {
            (None, false) => job.phase(),
            _ => Phase::Creating,
        };
        starts.push((before, created));
    }
    if let Some(started) = started {
        starts.push((Phase::Running, started));
        if job.is_final() {
            let run = job.time_run().unwrap_or_default();
            starts.push((job.phase(), started + run));
        }
    }
    starts
}
