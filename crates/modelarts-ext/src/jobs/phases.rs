//! Phases of a job in their order.

use std::time::Duration;

use modelarts_api::types::Phase;
use serde::Serialize;

use crate::{
    jobs::{
        events::{Event, EventKind},
        job::{Job, is_final},
    },
    timestamp::Timestamp,
};

/// Phase of a job with its times, of [`Job::phases`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JobPhase {
    /// Phase.
    pub phase: Phase,
    /// Start of the phase; `None` for the end of a job whose time is unknown.
    pub start: Option<Timestamp>,
    /// Start of the next phase; `None` for the last phase, or if it is unknown.
    pub end: Option<Timestamp>,
    #[serde(skip)]
    is_last: bool,
}

impl JobPhase {
    /// Returns the time that the job was in the phase, until `now` if the phase has not ended;
    /// `None` for a final phase, or if the end is unknown.
    #[must_use]
    pub fn duration(&self, now: impl Into<Timestamp>) -> Option<Duration> {
        let is_current = self.is_last && !is_final(&self.phase);
        let end = self.end.or_else(|| is_current.then(|| now.into()))?;
        Some(end.duration_since(self.start?))
    }
}

impl Job {
    /// Returns the phases of the job in their order, from its [events](crate::JobHandle::events).
    /// Without events, the result has the phases whose times are in the details: the creation, the
    /// start and the end.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "phases")?.submit().await?.wait().await?.success()?;
    /// use std::time::SystemTime;
    ///
    /// let events = job.events().collect(1000).await?;
    /// for phase in job.phases(&events) {
    ///     println!("{:?} {} {:?}", phase.start, phase.phase, phase.duration(SystemTime::now()));
    /// }
    /// # let names = |phases: Vec<modelarts_ext::jobs::JobPhase>| -> Vec<String> {
    /// #     phases.iter().map(|phase| phase.phase.to_string()).collect()
    /// # };
    /// # assert_eq!(names(job.phases(&events)), ["Creating", "Pending", "Running", "Completed"]);
    /// # assert_eq!(names(job.phases(&[])), ["Creating", "Running", "Completed"]);
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn phases(&self, events: &[Event]) -> Vec<JobPhase> {
        let of_events =
            events.iter().filter_map(|event| Some((phase_of(&event.kind())?, Some(event.time()?))));
        let mut starts: Vec<(Phase, Option<Timestamp>)> = of_events.collect();
        if starts.is_empty() {
            starts = self.phases_of_details();
        }
        starts.dedup_by(|next, last| next.0 == last.0);
        if self.is_final() {
            match starts.last_mut() {
                // The details state the final phase exactly; the events of failures do not.
                Some((last, _)) if is_final(last) => *last = self.phase(),
                // The final phase appears in the details before its event.
                _ => starts.push((self.phase(), self.ended_at())),
            }
        }
        let count = starts.len();
        let ends: Vec<_> = starts.iter().skip(1).map(|(_, start)| *start).chain([None]).collect();
        let phases = starts.into_iter().zip(ends).enumerate();
        phases
            .map(|(index, ((phase, start), end))| JobPhase {
                phase,
                start,
                end,
                is_last: index + 1 == count,
            })
            .collect()
    }

    fn ended_at(&self) -> Option<Timestamp> {
        Some(self.started_at()? + self.time_run()?)
    }

    /// Returns the phases before the end that the times in the details show, with their starts.
    fn phases_of_details(&self) -> Vec<(Phase, Option<Timestamp>)> {
        let started = self.started_at();
        let created = self.created_at().map(|created| match (started, self.is_final()) {
            (None, false) => (self.phase(), Some(created)),
            _ => (Phase::Creating, Some(created)),
        });
        let ran = started.map(|started| (Phase::Running, Some(started)));
        [created, ran].into_iter().flatten().collect()
    }
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
