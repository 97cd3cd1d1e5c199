//! Rules that determine the cause from the facts about a job, as pure functions.

use modelarts_api::{
    Cause,
    diagnosis::{Class, Confidence},
    types::Phase,
};

use crate::jobs::{
    diagnosis::{
        facts::{
            Facts, Failed, Fault, Finding, PlatformCause, TaskLog, event_evidence, last_event,
            status, stop, unknown,
        },
        report::{Evidence, Fact},
        search::{
            Match, Refusal, find_refusal, find_signature, repetition, search, without_prefix,
        },
    },
    events::{event::Event, kind::EventKind},
    exit_code::signal_name,
    logs::{tail::LAST_LINES, timestamp::zoned_time},
};

const FULL: f64 = 95.0;
const MAX_LINE: usize = 300;

fn failed(facts: &Facts) -> Finding {
    let failed = facts.failed_task();
    if let Some(finding) = by_platform(facts, &failed) {
        return finding;
    }
    // The best match by class in all logs, preferably in the log of the first failed task.
    let found = facts.logs.iter().filter_map(|log| Some((log, search(&log.tail.lines)?)));
    let found = found.min_by_key(|(_, found)| found.class);
    let mut finding = by_exit_code(facts, &failed, found.as_ref())
        .or_else(|| found.as_ref().map(by_log))
        .or_else(|| by_packages(facts))
        .or_else(|| by_hang(facts))
        .unwrap_or_else(|| match facts.restarts() {
            0 => Finding::new(Cause::Unknown, Confidence::Unknown),
            _ => Finding::new(Cause::RestartsExhausted, Confidence::Certain),
        });
    finding.task = failed.task.clone().or(finding.task);
    finding.exit_code = failed.exit_code;
    let mut evidence = facts.evidence(&failed);
    evidence.extend(status(facts));
    evidence.append(&mut finding.evidence);
    match found {
        // `add_refusal` adds the first of the lines.
        Some((_, found)) if found.cause == Cause::ObsFull && refusal(facts).is_some() => {}
        Some((log, found)) => evidence.extend(log_evidence(log, &found)),
        None => evidence.extend(last_lines(facts)),
    }
    if let Some((time, percent)) = facts.memory_usage {
        let metric = "memUsage".to_owned();
        let fact = Fact::Metric { metric, percent };
        evidence.push(Evidence::new(failed.task.as_deref(), fact).at(Some(time)));
    }
    if evidence.is_empty() {
        evidence.extend(last_event(facts));
    }
    finding.evidence = evidence;
    finding
}

fn abnormal(facts: &Facts) -> Finding {
    let finding = by_platform(facts, &Failed::default());
    let mut finding = finding.unwrap_or_else(|| {
        let is_creation = facts
            .secondary_phase
            .as_deref()
            .is_some_and(|phase| phase.eq_ignore_ascii_case("CreateFailed"));
        match is_creation {
            true => {
                let mut finding = Finding::new(Cause::CreateFailed, Confidence::Certain);
                finding.evidence.extend(status(facts));
                finding
            }
            false => unknown(facts),
        }
    });
    // A job that ran before its failure may have printed an error.
    if finding.cause == Cause::Unknown {
        finding.evidence.extend(last_lines(facts));
    }
    finding
}

/// Returns the cause that an event or the record of the last run states.
fn by_platform(facts: &Facts, failed: &Failed) -> Option<Finding> {
    let has_exit_code = failed.exit_code.is_some();
    for (cause, is_searched) in STATED {
        if let Some(event) = facts.last_end(is_searched) {
            let mut finding = Finding::of_event(cause, event);
            // The text of a failed download can state a more specific cause.
            let by_text = signatures_of_event(event);
            finding.cause = by_text.unwrap_or(cause);
            let details = facts.evidence(failed).into_iter();
            let is_new = |it: &Evidence| !finding.evidence.contains(it);
            let others: Vec<_> = details.filter(is_new).collect();
            finding.evidence.splice(0..0, others);
            finding.task = finding.task.or_else(|| failed.task.clone());
            finding.exit_code = failed.exit_code;
            return Some(finding);
        }
    }
    if let Some(finding) = stop(facts) {
        return Some(finding);
    }
    let run = facts.last_run()?;
    let cause = match run.fault? {
        Fault::Node if !has_exit_code => Cause::NodeFault,
        Fault::Hang => Cause::Hang,
        Fault::Node => return None,
    };
    let mut finding = Finding::new(cause, Confidence::Certain);
    finding.task.clone_from(&run.task);
    let text = run.reason.clone();
    let text = text.unwrap_or_else(|| cause.as_str().replace('_', " "));
    finding.evidence = facts.evidence(failed);
    if finding.evidence.is_empty() {
        let fact = Fact::Status { text };
        finding.evidence.push(Evidence::new(run.task.as_deref(), fact));
    }
    Some(finding)
}

type KindTest = fn(&EventKind) -> bool;

/// Causes that events state, most specific first: a `CreateFailed` event repeats earlier events.
const STATED: [(Cause, KindTest); 11] = [
    (Cause::OutOfMemory, is_out_of_memory),
    (Cause::Evicted, is_eviction),
    (Cause::PreCheckFailed, |kind| matches!(kind, EventKind::PreCheckFailed { .. })),
    (Cause::CodeDownloadFailed, |kind| matches!(kind, EventKind::CodeDownloadFailed { .. })),
    (Cause::InputDownloadFailed, |kind| matches!(kind, EventKind::InputDownloadFailed { .. })),
    (Cause::ImagePullFailed, is_image_pull_failure),
    (Cause::PreparationTimeout, |kind| *kind == EventKind::PrepareTimedOut),
    (Cause::QueueFailed, |kind| *kind == EventKind::QueueFailed),
    (Cause::Preempted, |kind| *kind == EventKind::Preempted),
    (Cause::CreateFailed, |kind| matches!(kind, EventKind::CreateFailed { .. })),
    (Cause::Preempted, |kind| is_cluster_event(kind, &["Preempted", "Preempting"])),
];

fn is_cluster_event(kind: &EventKind, reasons: &[&str]) -> bool {
    matches!(kind, EventKind::Cluster { reason, .. } if reasons.contains(&reason.as_str()))
}

fn is_out_of_memory(kind: &EventKind) -> bool {
    is_cluster_event(kind, &["OOMKilled", "OOMKilling", "SystemOOM"])
        || matches!(kind, EventKind::Cluster { text, .. } if text.contains("OOMKilled"))
}

fn is_eviction(kind: &EventKind) -> bool {
    is_cluster_event(kind, &["Evicted", "Evict"])
        || matches!(kind, EventKind::Cluster { text, .. }
            if text.contains("The node was low on resource"))
}

fn is_image_pull_failure(kind: &EventKind) -> bool {
    is_cluster_event(kind, &["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
        || matches!(kind, EventKind::Cluster { text, .. }
        if text.contains("Failed to pull image") || text.contains("ImagePullBackOff"))
}

fn signatures_of_event(event: &Event) -> Option<Cause> {
    let text = match event.kind() {
        EventKind::CodeDownloadFailed { cause, .. }
        | EventKind::InputDownloadFailed { cause, .. } => cause,
        _ => return None,
    };
    let is_denied = ["AccessDenied", "Access Denied", "403"].iter().any(|word| text.contains(word));
    match find_signature(&text).map(|row| row.cause) {
        Some(cause @ (Cause::NoSpaceLeft | Cause::ObsPermission)) => Some(cause),
        _ => is_denied.then_some(Cause::ObsPermission),
    }
}

fn by_exit_code(
    facts: &Facts,
    failed: &Failed,
    found: Option<&(&TaskLog, Match)>,
) -> Option<Finding> {
    let code = failed.exit_code?;
    let root = found.filter(|(_, found)| found.class == Class::Root);
    let memory = root.is_some_and(|(_, found)| found.cause == Cause::OutOfMemory);
    match (signal_name(code), code) {
        (Some("SIGKILL"), _) => {
            if let Some(root) = root.filter(|(_, it)| it.cause != Cause::OutOfMemory) {
                return Some(by_log(root));
            }
            let usage = facts.memory_usage.map(|(_, percent)| percent);
            let is_full = usage.is_some_and(|percent| percent >= FULL);
            let confidence = match memory || is_full {
                true => Confidence::Certain,
                false => Confidence::Likely,
            };
            let mut finding = Finding::new(Cause::OutOfMemory, confidence);
            finding.detail = root.and_then(|root| by_log(root).detail);
            Some(finding)
        }
        (Some(_), _) => match root {
            Some(root) => Some(by_log(root)),
            None => Some(Finding::new(Cause::KilledBySignal, Confidence::Certain)),
        },
        (None, 127 | 126) if root.is_none() => {
            let cause = match code {
                127 => Cause::CommandNotFound,
                _ => Cause::CommandNotExecutable,
            };
            // Scripts can return this exit code for other reasons.
            Some(Finding::new(cause, Confidence::Likely))
        }
        _ => None,
    }
}

fn by_log((log, found): &(&TaskLog, Match)) -> Finding {
    let mut finding = Finding::new(found.cause, found.confidence);
    finding.task = Some(log.task.clone());
    finding.detail =
        log.tail.lines.get(found.line).map(|line| without_prefix(line).trim().to_owned());
    finding
}

/// Returns a failed installation of packages as the likely cause, as an import then usually fails.
fn by_packages(facts: &Facts) -> Option<Finding> {
    let event = facts.newest_event(|kind| matches!(kind, EventKind::DependenciesFailed { .. }))?;
    let mut finding = Finding::of_event(Cause::DependencyInstallFailed, event);
    finding.confidence = Confidence::Likely;
    Some(finding)
}

fn by_hang(facts: &Facts) -> Option<Finding> {
    let event = facts.newest_event(|kind| *kind == EventKind::MaybeHanging)?;
    let mut finding = Finding::of_event(Cause::Hang, event);
    finding.confidence = Confidence::Likely;
    Some(finding)
}

fn log_evidence<'a>(log: &'a TaskLog, found: &Match) -> impl Iterator<Item = Evidence> + use<'a> {
    let frame = found.frame.map(|line| (line, 1));
    let lines = [frame, Some(repetition(&log.tail.lines, found.line))];
    lines.into_iter().flatten().map(|(line, times)| line_evidence(log, line, times))
}

/// Adds refused writes to OBS to the evidence of a failure, also of one that has another cause.
fn add_refusal(facts: &Facts, finding: &mut Finding) {
    if let Some((log, refusal)) = refusal(facts) {
        let evidence = line_evidence(log, refusal.line, refusal.times);
        if !finding.evidence.contains(&evidence) {
            finding.evidence.push(evidence);
        }
        finding.since = refusal.since;
    }
}

/// Returns the first log whose end reports that OBS refuses writes.
fn refusal(facts: &Facts) -> Option<(&TaskLog, Refusal)> {
    facts.logs.iter().find_map(|log| Some((log, find_refusal(&log.tail)?)))
}

fn last_lines(facts: &Facts) -> impl Iterator<Item = Evidence> {
    let lines = facts.logs.first().into_iter().flat_map(|log| {
        let mut lines = Vec::new();
        let mut end = log.tail.lines.len();
        while let Some(last) = end.checked_sub(1)
            && lines.len() < LAST_LINES
        {
            let (first, times) = repetition(&log.tail.lines[..end], last);
            lines.push(line_evidence(log, first, times));
            end = first;
        }
        lines.into_iter().rev()
    });
    lines.filter(|evidence| !matches!(&evidence.fact, Fact::Log { text, .. } if text.is_empty()))
}

fn line_evidence(log: &TaskLog, index: usize, times: u64) -> Evidence {
    let text = log.tail.lines.get(index).map_or("", String::as_str);
    let end = text.char_indices().nth(MAX_LINE).map(|(end, _)| end);
    let shown = match end {
        Some(end) => format!("{}...", text[..end].trim_start()),
        None => text.trim().to_owned(),
    };
    // A repetition may begin before the part of the log that was read.
    let is_first = times <= 1 || index > 0 || log.tail.first == Some(1);
    let line = log.tail.first.filter(|_| is_first).map(|first| first + index as u64);
    let fact = Fact::Log { line, text: shown, times };
    let time = zoned_time(text).map(Into::into);
    Evidence::new(Some(&log.task), fact).at(time)
}

pub(super) fn diagnose(facts: &Facts) -> Finding {
    let certain = |cause| Finding::new(cause, Confidence::Certain);
    let mut finding = match facts.phase.as_ref() {
        Some(Phase::Completed) => certain(Cause::Completed),
        Some(Phase::Terminating) => certain(Cause::Terminating),
        Some(Phase::Creating | Phase::Pending) => waiting(facts),
        Some(Phase::Running) => running(facts),
        Some(Phase::Terminated) => terminated(facts),
        Some(Phase::Failed) => failed(facts),
        Some(Phase::Abnormal) => abnormal(facts),
        _ => unknown(facts),
    };
    add_refusal(facts, &mut finding);
    apply_platform(facts, &mut finding);
    let has_runs =
        finding.evidence.iter().any(|evidence| matches!(evidence.fact, Fact::Run { .. }));
    if !has_runs {
        finding.evidence.splice(0..0, facts.run_evidence());
    }
    finding.evidence.extend(facts.unavailable.iter().cloned());
    finding
}

/// Returns the cause of a wait: missing resources, until an event shows a preparation.
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
    if let Some(event) = facts.newest_event(is_image_pull_failure) {
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

/// Adds the causes of the service's own diagnosis as evidence. A known cause replaces an unknown
/// one, and confirms the same one. A full bucket comes last, because uploads also follow a failure.
fn apply_platform(facts: &Facts, finding: &mut Finding) {
    let causes = facts.platform.iter().filter_map(|entry| Cause::of_code(&entry.code));
    if let Some(cause) = causes.min_by_key(|cause| (*cause == Cause::ObsFull, *cause as usize)) {
        let is_open = matches!(finding.cause, Cause::Unknown | Cause::RestartsExhausted);
        if is_open || finding.cause == cause {
            (finding.cause, finding.confidence) = (cause, Confidence::Certain);
        }
    }
    finding.evidence.extend(facts.platform.iter().map(|entry| {
        let PlatformCause { code, text } = entry.clone();
        Evidence::new(None, Fact::Platform { code, text })
    }));
}

/// Returns the state of a running job. A suspected hang counts until the next restart.
fn running(facts: &Facts) -> Finding {
    let hang = facts.newest_event(|kind| *kind == EventKind::MaybeHanging);
    if let Some((log, refusal)) = refusal(facts) {
        let confidence = match refusal.times {
            1 => Confidence::Likely,
            _ => Confidence::Certain,
        };
        let mut finding = Finding::new(Cause::ObsFull, confidence);
        finding.task = Some(log.task.clone());
        finding.evidence.extend(hang.map(event_evidence));
        return finding;
    }
    match hang {
        Some(event) => {
            let mut finding = Finding::of_event(Cause::Hang, event);
            // The service only suspects a hang: it is known to report a long sleep as well.
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

/// Returns the auto-stop as likely cause if its limit was reached. Some releases omit the limit.
fn auto_stop_by_time(facts: &Facts) -> Option<Finding> {
    let limit = facts.auto_stop?;
    let ran = facts.time_run.filter(|ran| *ran >= limit)?;
    let mut finding = Finding::new(Cause::AutoStop, Confidence::Likely);
    let text = format!("ran for {ran:?}; auto_stop is {limit:?}");
    let fact = Fact::Status { text };
    finding.evidence.push(Evidence::new(None, fact));
    Some(finding)
}
