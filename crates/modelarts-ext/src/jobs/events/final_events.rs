//! `FinalEvents`: the events of a followed job that show its end.

use modelarts_api::types::Phase;

use crate::{
    jobs::events::{event::Event, kind::EventKind},
    timestamp::Timestamp,
};

/// Events that show the end of a job, and the time of its last restart.
#[derive(Debug, Default)]
pub(super) struct FinalEvents {
    restarted_at: Option<Timestamp>,
    ends: Vec<(Option<Timestamp>, EventKind)>,
}

impl FinalEvents {
    pub(super) fn record(&mut self, events: &[Event]) {
        for event in events {
            // Messages about tasks and objects of the cluster begin with a bracket.
            if event.message().starts_with('[') {
                continue;
            }
            match event.kind() {
                EventKind::Restarted => self.restarted_at = self.restarted_at.max(event.time()),
                kind if kind.is_final() || kind == EventKind::Preempted => {
                    self.ends.push((event.time(), kind));
                }
                _ => {}
            }
        }
    }

    /// Returns `true` unless an event after the last restart shows the end with this final phase.
    pub(super) fn lack(&self, phase: Phase) -> bool {
        let shows_end = |kind: &EventKind| match phase {
            Phase::Completed => *kind == EventKind::Completed,
            Phase::Terminated => matches!(
                kind,
                EventKind::StoppedByUser | EventKind::AutoStopped { .. } | EventKind::Deleted
            ),
            // No document states the event of an abnormal job, or of a job that was preempted.
            _ => *kind != EventKind::Completed,
        };
        let mut ends = self.ends.iter();
        !ends.any(|(time, kind)| *time >= self.restarted_at && shows_end(kind))
    }
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

    const STOPPED: &str = "The training job has been manually stopped.";
    const PREEMPTED: &str = "The training job is preempted.";

    #[test]
    fn each_final_phase_has_its_events() {
        let all = [
            ("Training job executed.", &[Phase::Completed][..]),
            ("Training job failed.", &[Phase::Failed, Phase::Abnormal]),
            (PREEMPTED, &[Phase::Failed, Phase::Abnormal]),
            (STOPPED, &[Phase::Failed, Phase::Abnormal, Phase::Terminated]),
            ("Training job is running.", &[]),
            ("[worker-0] Training finished. Exit code 0.", &[]),
            ("Billing information synchronized.", &[]),
        ];
        let phases = [Phase::Completed, Phase::Failed, Phase::Abnormal, Phase::Terminated];
        for (message, ended) in all {
            let mut events = FinalEvents::default();
            events.record(&[event(1, message)]);
            for phase in &phases {
                let lacks = events.lack(phase.clone());
                assert_eq!(lacks, !ended.contains(phase), "{message} {phase}");
            }
        }
    }

    #[test]
    fn an_end_before_a_restart_does_not_count() {
        let mut events = FinalEvents::default();
        events.record(&[event(1, "Training job failed.")]);
        assert!(!events.lack(Phase::Failed));
        events.record(&[event(9, "The training job has been restarted.")]);
        assert!(events.lack(Phase::Failed));
        // An end after the restart counts.
        events.record(&[event(20, "Training job failed.")]);
        assert!(!events.lack(Phase::Failed));
    }
}
