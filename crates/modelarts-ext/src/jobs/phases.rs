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
    /// Start of the phase.
    pub start: Timestamp,
    /// Start of the next phase; `None` for the last phase.
    pub end: Option<Timestamp>,
}

impl JobPhase {
    /// Returns the time that the job was in the phase, until `now` if the phase has not ended;
    /// `None` for a final phase.
    #[must_use]
    pub fn duration(&self, now: impl Into<Timestamp>) -> Option<Duration> {
        let end = self.end.or_else(|| (!is_final(&self.phase)).then(|| now.into()))?;
        Some(end.duration_since(self.start))
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
    ///     println!("{} {} {:?}", phase.start, phase.phase, phase.duration(SystemTime::now()));
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
            events.iter().filter_map(|event| Some((phase_of(&event.kind())?, event.time()?)));
        let mut starts: Vec<(Phase, Timestamp)> = of_events.collect();
        let of_details = self.phases_of_details();
        let has_end = |starts: &[(Phase, _)]| starts.last().is_some_and(|(last, _)| is_final(last));
        if starts.is_empty() {
            starts = of_details;
        } else if self.is_final() && !has_end(&starts) && has_end(&of_details) {
            // The final phase appears in the details before its event.
            starts.extend(of_details.last().cloned());
        }
        starts.dedup_by(|next, last| next.0 == last.0);
        // The details state the final phase exactly; the events of failures do not.
        if let Some((last, _)) = starts.last_mut()
            && self.is_final()
            && is_final(last)
        {
            *last = self.phase();
        }
        let ends = starts.iter().skip(1).map(|(_, start)| Some(*start)).chain([None]);
        let ends: Vec<Option<Timestamp>> = ends.collect();
        let phases = starts.into_iter().zip(ends);
        phases.map(|((phase, start), end)| JobPhase { phase, start, end }).collect()
    }

    /// Returns the phases that the times in the details show, with their start times.
    fn phases_of_details(&self) -> Vec<(Phase, Timestamp)> {
        let started = self.started_at();
        let created = self.created_at().map(|created| match (started, self.is_final()) {
            (None, false) => (self.phase(), created),
            _ => (Phase::Creating, created),
        });
        let ran = started.map(|started| (Phase::Running, started));
        let end = started
            .filter(|_| self.is_final())
            .map(|started| (self.phase(), started + self.time_run().unwrap_or_default()));
        [created, ran, end].into_iter().flatten().collect()
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
