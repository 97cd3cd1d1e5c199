//! `Facts`, the input of the rules, and `Finding`, the conclusion from the facts.

use std::time::Duration;

use modelarts_api::{
    Cause,
    diagnosis::Confidence,
    types::{EventLevel, FaultScenario, Phase, RecoveryKind, RunningRecord},
};

use crate::{
    jobs::{
        diagnosis::report::{Evidence, Fact},
        events::{event::Event, kind::EventKind},
        exit_code::{exit_code_meaning, signal_name},
        job::Job,
        logs::tail::LogTail,
    },
    timestamp::Timestamp,
};

/// Default of `local_code_dir`: the directory with the copy of the code directory.
const CODE_PARENT: &str = "/home/ma-user/modelarts/user-job-dir";

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) phase: Option<Phase>,
    pub(super) secondary_phase: Option<String>,
    pub(super) tasks: Vec<String>,
    pub(super) has_started: bool,
    pub(super) time_run: Option<Duration>,
    pub(super) failed: Option<Failed>,
    pub(super) runs: Vec<RunFacts>,
    pub(super) auto_stop: Option<Duration>,
    pub(super) flavor: Option<String>,
    pub(super) memory: Option<String>,
    pub(super) pool: Option<String>,
    pub(super) inputs: Vec<Input>,
    /// Last part of the code directory, by which the service names its copy.
    pub(super) code: Option<String>,
    pub(super) events: Vec<Event>,
    pub(super) logs: Vec<TaskLog>,
    /// Highest of the last values of the memory usage, with the time of the newest value.
    pub(super) memory_usage: Option<(Timestamp, f64)>,
    pub(super) queue: Option<Evidence>,
    /// Causes that the service's own diagnosis names.
    pub(super) platform: Vec<PlatformCause>,
    pub(super) unavailable: Vec<Evidence>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Failed {
    pub(super) task: Option<String>,
    pub(super) exit_code: Option<i64>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct RunFacts {
    pub(super) ended_at: Option<Timestamp>,
    pub(super) reason: Option<String>,
    pub(super) task: Option<String>,
    pub(super) fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Node,
    Hang,
}

#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) local_dir: String,
    pub(super) remote: Option<String>,
}

/// Cause in the service's own diagnosis of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlatformCause {
    /// Code of the cause, such as `MDC.300710`.
    pub(super) code: String,
    /// Other texts of the entry; empty if it has none.
    pub(super) text: String,
}

#[derive(Debug, Default)]
pub(super) struct TaskLog {
    pub(super) task: String,
    pub(super) tail: LogTail,
}

impl Facts {
    pub(super) fn of(job: &Job) -> Self {
        let details = job.details();
        let spec = details.spec.as_deref();
        let resource = spec.and_then(|spec| spec.resource.as_deref());
        let memory = resource.and_then(|resource| {
            let info = resource.flavor_detail.as_ref()?.flavor_info.as_deref()?;
            let memory = info.memory.as_ref()?;
            Some(format!("{} {}", memory.size?, memory.unit.as_deref()?))
        });
        let inputs = details.algorithm.iter().flat_map(|it| &it.inputs);
        let present = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let mut facts = Self {
            phase: Some(job.phase()),
            secondary_phase: job.secondary_phase().map(ToString::to_string),
            tasks: job.tasks().to_vec(),
            has_started: job.started_at().is_some(),
            time_run: job.time_run(),
            runs: job.runs().iter().map(RunFacts::new).collect(),
            // The service uses hours; no document permits another unit.
            auto_stop: spec.and_then(|spec| {
                let hours = u64::try_from(spec.auto_stop.as_ref()?.duration?).ok()?;
                Some(Duration::from_secs(hours.checked_mul(3600)?))
            }),
            flavor: resource.and_then(|resource| present(&resource.flavor_id)),
            pool: resource.and_then(|resource| present(&resource.pool_id)),
            memory,
            inputs: inputs.map(Input::new).collect(),
            code: details.algorithm.as_ref().and_then(|algorithm| {
                let local = algorithm.local_code_dir.as_deref().unwrap_or_default();
                if !["", CODE_PARENT].contains(&local.trim_end_matches('/')) {
                    return None;
                }
                let directory = algorithm.code_dir.as_deref()?.trim_end_matches('/');
                present(&directory.rsplit('/').next().map(str::to_owned))
            }),
            ..Self::default()
        };
        let statuses = job.status().map_or(&[][..], |it| &it.task_statuses);
        // If the service lists several tasks, a task that did not fail is not the cause.
        let failed = statuses
            .iter()
            .find(|status| status.exit_code.is_some_and(|code| code != 0))
            .or(statuses.first());
        facts.failed = failed.map(|status| Failed {
            task: present(&status.task),
            exit_code: status.exit_code,
            message: present(&status.message),
        });
        facts
    }

    pub(super) fn last_run(&self) -> Option<&RunFacts> {
        self.runs.last()
    }

    pub(super) fn restarts(&self) -> usize {
        self.runs.len().saturating_sub(1)
    }

    /// Returns the failed task, from the details, or else the last run, the events, or the logs.
    pub(super) fn failed_task(&self) -> Failed {
        let mut failed = self.failed.clone().unwrap_or_default();
        if failed.exit_code.is_some_and(|code| code != 0) {
            return failed;
        }
        let by_run = self.last_run().and_then(|run| {
            let code = run.reason.as_deref()?.strip_prefix("exit with ")?;
            Some((run.task.clone(), code.trim().parse().ok()?))
        });
        let by_event = || {
            // The first failure counts, because it ends the other tasks.
            let mut ends = self.events_of_last_run().filter_map(finished);
            ends.rfind(|(_, code)| *code != 0).map(|(task, code)| (Some(task), code))
        };
        let by_log = || {
            self.logs.iter().find_map(|log| {
                let code = log.tail.lines.iter().rev().find_map(|line| {
                    let (_, code) = line.split_once("Training end with return code:")?;
                    code.trim().parse().ok().filter(|code| *code != 0)
                })?;
                Some((Some(log.task.clone()), code))
            })
        };
        if let Some((task, code)) = by_run.or_else(by_event).or_else(by_log) {
            failed.exit_code = Some(code);
            failed.task = task.or(failed.task);
        }
        failed
    }

    /// Returns the events since the last restart, newest first.
    pub(super) fn events_of_last_run(&self) -> impl DoubleEndedIterator<Item = &Event> {
        let restart = self.events.iter().position(|event| event.kind() == EventKind::Restarted);
        self.events[..restart.unwrap_or(self.events.len())].iter()
    }

    /// Returns the newest matching event since the job began to run. Earlier events did not end it.
    pub(super) fn last_end(&self, is_searched: impl Fn(&EventKind) -> bool) -> Option<&Event> {
        self.events_of_last_run()
            .take_while(|event| event.kind() != EventKind::Running)
            .find(|event| is_searched(&event.kind()))
    }

    pub(super) fn newest_event(&self, is_searched: impl Fn(&EventKind) -> bool) -> Option<&Event> {
        self.events_of_last_run().find(|event| is_searched(&event.kind()))
    }

    /// Returns the tasks that failed, without those that were stopped because another task failed.
    pub(super) fn failed_tasks(&self) -> Vec<String> {
        let ends = self.events_of_last_run().filter_map(finished).rev();
        ends.filter(|(_, code)| *code != 0 && signal_name(*code) != Some("SIGTERM"))
            .map(|(task, _)| task)
            .collect()
    }

    pub(super) fn evidence(&self, failed: &Failed) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        if let Some(exit_code) = failed.exit_code {
            let meaning =
                exit_code_meaning(exit_code).or_else(|| signal_name(exit_code).map(str::to_owned));
            let fact = Fact::ExitCode { exit_code, meaning };
            let end = self.events_of_last_run().find(|event| {
                finished(event)
                    .is_some_and(|(task, _)| Some(task.as_str()) == failed.task.as_deref())
            });
            let time = end.and_then(Event::time);
            evidence.push(Evidence::new(failed.task.as_deref(), fact).at(time));
        }
        let known = failed.exit_code.map(|code| format!("exit with {code}"));
        if let Some(text) = failed.message.clone()
            && Some(&text) != known.as_ref()
        {
            let fact = Fact::Status { text };
            evidence.push(Evidence::new(failed.task.as_deref(), fact));
        }
        evidence.extend(self.run_evidence());
        let mut errors: Vec<_> = self
            .events_of_last_run()
            // The event that reports the failure of the job adds no information to the phase.
            .filter(|event| {
                *event.level() == EventLevel::Error && event.kind() != EventKind::Failed
            })
            .take(MAX_EVENTS)
            .map(event_evidence)
            .collect();
        errors.reverse();
        evidence.extend(errors);
        evidence
    }

    pub(super) fn run_evidence(&self) -> impl Iterator<Item = Evidence> {
        let runs = self.runs.len();
        let ended = self.runs.iter().enumerate().filter(move |_| runs > 1);
        let skipped = runs.saturating_sub(MAX_RUNS);
        ended.skip(skipped).filter_map(move |(index, run)| {
            let fact = Fact::Run { run: index + 1, runs, reason: run.reason.clone()? };
            Some(Evidence::new(run.task.as_deref(), fact).at(run.ended_at))
        })
    }
}

const MAX_EVENTS: usize = 5;
const MAX_RUNS: usize = 5;

pub(super) fn event_evidence(event: &Event) -> Evidence {
    let fact = Fact::Event { level: event.level().clone(), message: event.message().to_owned() };
    Evidence::new(event.kind().task(), fact).at(event.time())
}

fn finished(event: &Event) -> Option<(String, i64)> {
    match event.kind() {
        EventKind::TaskFinished { task, exit_code: Some(code) } => Some((task, code)),
        _ => None,
    }
}

impl RunFacts {
    fn new(record: &RunningRecord) -> Self {
        let reason = record.end_reason.clone().filter(|text| !text.is_empty());
        let faults = record.recover_records.iter();
        let stated =
            faults.rev().find_map(|recovery| match recovery.fault_scenario.clone()?.canonical() {
                FaultScenario::NodeFault | FaultScenario::ChipFault => Some(Fault::Node),
                FaultScenario::JobHanged => Some(Fault::Hang),
                _ => None,
            });
        // The reason is free text. Rescheduling with a taint is the recovery from faulty nodes.
        let says = |text: &str| {
            let reason = reason.as_deref().unwrap_or_default();
            reason.to_ascii_lowercase().contains(text)
        };
        let fault = stated.or_else(|| match record.end_recover.clone()?.canonical() {
            RecoveryKind::JobRescheduleWithTaint => Some(Fault::Node),
            _ => None,
        });
        let fault = fault.or_else(|| match () {
            () if says("node fault") => Some(Fault::Node),
            () if says("hang") => Some(Fault::Hang),
            () => None,
        });
        Self {
            ended_at: record
                .end_at
                .and_then(|end| Some(Timestamp::from_epoch_millis(end.checked_mul(1000)?))),
            reason,
            task: record.end_related_task.clone().filter(|task| !task.is_empty()),
            fault,
        }
    }
}

impl Input {
    fn new(input: &modelarts_api::types::Input) -> Self {
        let remote = input.remote.as_ref().and_then(|remote| {
            let obs = remote.obs.as_ref()?;
            obs.obs_url.clone()
        });
        Self {
            name: input.name.clone().unwrap_or_default(),
            local_dir: input.local_dir.clone().unwrap_or_default(),
            remote,
        }
    }
}

#[derive(Debug)]
pub(super) struct Finding {
    pub(super) cause: Cause,
    pub(super) confidence: Confidence,
    pub(super) task: Option<String>,
    pub(super) exit_code: Option<i64>,
    pub(super) detail: Option<String>,
    /// Time since which the cause has an effect, if the log shows it.
    pub(super) since: Option<String>,
    pub(super) evidence: Vec<Evidence>,
}

impl Finding {
    pub(super) fn new(cause: Cause, confidence: Confidence) -> Self {
        Self {
            cause,
            confidence,
            task: None,
            exit_code: None,
            detail: None,
            since: None,
            evidence: Vec::new(),
        }
    }

    pub(super) fn of_event(cause: Cause, event: &Event) -> Self {
        let mut finding = Self::new(cause, Confidence::Certain);
        finding.task = event.kind().task().map(str::to_owned);
        finding.detail = Some(event.message().to_owned());
        finding.evidence.push(event_evidence(event));
        finding
    }
}

pub(super) fn unknown(facts: &Facts) -> Finding {
    let mut finding = Finding::new(Cause::Unknown, Confidence::Unknown);
    finding.evidence.extend(status(facts));
    finding.evidence.extend(last_event(facts));
    finding
}

/// Returns the detailed phase if it differs from the phase of the job.
pub(super) fn status(facts: &Facts) -> Option<Evidence> {
    let text = facts.secondary_phase.clone()?;
    let differs =
        facts.phase.as_ref().is_none_or(|phase| !phase.as_str().eq_ignore_ascii_case(&text));
    differs.then(|| Evidence::new(None, Fact::Status { text }))
}

pub(super) fn last_event(facts: &Facts) -> Option<Evidence> {
    let mut events = facts.events.iter();
    let last = events.find(|event| event.kind() != EventKind::Billed)?;
    Some(event_evidence(last))
}

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
