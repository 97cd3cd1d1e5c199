//! Rules: from the facts about a job to the cause, as pure functions.
//!
//! The rules for failed jobs are in [`failure`](crate::jobs::diagnosis::failure).

use modelarts_api::{Cause, diagnosis::Confidence, types::Phase};

use crate::jobs::{
    diagnosis::{
        facts::{Facts, Finding, event_evidence, last_event, stop, unknown},
        failure,
        report::{Evidence, Fact},
    },
    events::kind::EventKind,
};

pub(super) fn diagnose(facts: &Facts) -> Finding {
    let certain = |cause| Finding::new(cause, Confidence::Certain);
    let mut finding = match facts.phase.as_ref() {
        Some(Phase::Completed) => certain(Cause::Completed),
        Some(Phase::Terminating) => certain(Cause::Terminating),
        Some(Phase::Creating | Phase::Pending) => waiting(facts),
        Some(Phase::Running) => running(facts),
        Some(Phase::Terminated) => terminated(facts),
        Some(Phase::Failed) => failure::failed(facts),
        Some(Phase::Abnormal) => failure::abnormal(facts),
        _ => unknown(facts),
    };
    let has_runs =
        finding.evidence.iter().any(|evidence| matches!(evidence.fact, Fact::Run { .. }));
    if !has_runs {
        finding.evidence.splice(0..0, facts.run_evidence());
    }
    finding.evidence.extend(facts.unavailable.iter().cloned());
    finding
}

/// A job waits for resources until an event shows that its containers are prepared.
fn waiting(facts: &Facts) -> Finding {
    let is_preparing = |kind: &EventKind| match kind {
        EventKind::CodeDownloading { .. }
        | EventKind::CodeDownloaded { .. }
        | EventKind::InputDownloading { .. }
        | EventKind::InputDownloaded { .. }
        | EventKind::DependenciesInstalling { .. }
        | EventKind::DependenciesInstalled { .. }
        | EventKind::PreCheckStarted { .. }
        | EventKind::PreCheckDone { .. } => true,
        EventKind::Cluster { reason, .. } => {
            ["Pulling", "Pulled", "Created", "SuccessfulCreate"].iter().any(|known| reason == known)
        }
        _ => false,
    };
    if let Some(event) = facts.newest_event(failure::is_image_pull_failure) {
        return Finding::of_event(Cause::ImagePullFailed, event);
    }
    let is_stage = |kind: &EventKind| is_preparing(kind) || *kind == EventKind::Queuing;
    let stage = facts.newest_event(is_stage);
    let is_preparing = match stage {
        Some(event) => is_preparing(&event.kind()),
        None => facts.phase == Some(Phase::Creating),
    };
    let mut finding = match is_preparing {
        true => Finding::new(Cause::Preparing, Confidence::Certain),
        false => Finding::new(Cause::WaitingForResources, Confidence::Certain),
    };
    // The reason of the scheduler is more specific than the stage.
    let unscheduled = facts.newest_event(
        |kind| matches!(kind, EventKind::Cluster { reason, .. } if reason == "FailedScheduling"),
    );
    let preempted = facts.newest_event(|kind| *kind == EventKind::Preempted);
    let events = [preempted, stage, unscheduled];
    finding.evidence.extend(events.into_iter().flatten().map(event_evidence));
    finding.evidence.extend(facts.queue.clone());
    finding
}

/// Returns the state of a running job. A suspected hang counts until the next restart.
fn running(facts: &Facts) -> Finding {
    match facts.newest_event(|kind| *kind == EventKind::MaybeHanging) {
        Some(event) => {
            let mut finding = Finding::of_event(Cause::Hang, event);
            // The service only suspects it: a long sleep is known to be reported as well.
            finding.confidence = Confidence::Likely;
            finding
        }
        None => {
            let mut finding = Finding::new(Cause::Running, Confidence::Certain);
            finding.evidence.extend(last_event(facts));
            finding
        }
    }
}

fn terminated(facts: &Facts) -> Finding {
    if let Some(finding) = stop(facts) {
        return finding;
    }
    if let Some(finding) = auto_stop_by_time(facts) {
        return finding;
    }
    unknown(facts)
}

/// Other releases of the service do not return the setting.
fn auto_stop_by_time(facts: &Facts) -> Option<Finding> {
    let limit = facts.auto_stop?;
    let ran = facts.time_run.filter(|ran| *ran >= limit)?;
    let mut finding = Finding::new(Cause::AutoStop, Confidence::Likely);
    let text = format!("ran for {ran:?}; auto_stop is {limit:?}");
    let fact = Fact::Status { text };
    finding.evidence.push(Evidence::new(None, fact));
    Some(finding)
}
