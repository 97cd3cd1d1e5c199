//! `Finding`: the conclusion from facts, and findings that several rules share.

use modelarts_api::{Cause, diagnosis::Confidence};

use crate::jobs::{
    diagnosis::{
        facts::{Facts, event_evidence},
        report::{Evidence, Fact},
    },
    events::{event::Event, kind::EventKind},
};

/// Conclusion from the facts.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) cause: Cause,
    pub(super) confidence: Confidence,
    pub(super) task: Option<String>,
    pub(super) exit_code: Option<i64>,
    /// Text that shows the cause, such as the line of a log.
    pub(super) detail: Option<String>,
    pub(super) evidence: Vec<Evidence>,
}

impl Finding {
    pub(super) fn new(cause: Cause, confidence: Confidence) -> Self {
        Self { cause, confidence, task: None, exit_code: None, detail: None, evidence: Vec::new() }
    }

    /// Creates a finding that an event states.
    pub(super) fn of_event(cause: Cause, event: &Event) -> Self {
        let mut finding = Self::new(cause, Confidence::Certain);
        finding.task = event.kind().task().map(str::to_owned);
        finding.detail = Some(event.message().to_owned());
        finding.evidence.push(event_evidence(event));
        finding
    }
}

/// Returns a finding without a cause, with the state and the last event as evidence.
pub(super) fn unknown(facts: &Facts) -> Finding {
    let mut finding = Finding::new(Cause::Unknown, Confidence::Unknown);
    finding.evidence.extend(status(facts));
    finding.evidence.extend(last_event(facts));
    finding
}

/// Returns the detailed phase if it differs from the phase.
pub(super) fn status(facts: &Facts) -> Option<Evidence> {
    let text = facts.secondary_phase.clone()?;
    let differs =
        facts.phase.as_ref().is_none_or(|phase| !phase.as_str().eq_ignore_ascii_case(&text));
    differs.then(|| Evidence::new(None, Fact::Status { text }))
}

/// Returns the last event, except for the one about costs.
pub(super) fn last_event(facts: &Facts) -> Option<Evidence> {
    let mut events = facts.events.iter();
    let last = events.find(|event| event.kind() != EventKind::Billed)?;
    Some(event_evidence(last))
}

/// Returns the stop that an event states.
pub(super) fn stop(facts: &Facts) -> Option<Finding> {
    let event = facts.newest_event(|kind| {
        matches!(kind, EventKind::AutoStopped { .. } | EventKind::StoppedByUser)
    })?;
    let cause = match event.kind() {
        EventKind::StoppedByUser => Cause::TerminatedByUser,
        _ => Cause::AutoStop,
    };
    let mut finding = Finding::of_event(cause, event);
    let hang = facts.newest_event(|kind| *kind == EventKind::MaybeHanging);
    finding.evidence.splice(0..0, hang.map(event_evidence));
    Some(finding)
}
