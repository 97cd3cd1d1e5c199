//! Texts of a finding, from `openapi/causes.yaml`, and the short reason for lists.

use std::time::Duration;

use modelarts_api::{
    Cause,
    diagnosis::{Condition, Confidence, Link, Texts},
    types::Phase,
};

use crate::jobs::{
    diagnosis::{
        facts::{Facts, Finding, Input},
        rules::diagnose,
    },
    events::kind::EventKind,
    exit_code::signal_name,
    job::Job,
};

const MAX_DETAIL: usize = 120;

pub(super) fn texts(facts: &Facts, finding: &Finding) -> (String, Vec<String>, Vec<Link>) {
    let Some(rows) = finding.cause.texts() else {
        return (finding.cause.to_string(), Vec::new(), Vec::new());
    };
    let values = Values { facts, finding };
    let mut cases = rows.cases.iter();
    let case = cases.find(|(condition, _)| values.fulfil(condition));
    let Texts { summary, advice, links } = case.map_or(&rows.texts, |(_, texts)| texts);
    let code = match finding.exit_code {
        Some(code) if !summary.contains("{exit_code}") => format!(" (exit code {code})"),
        _ => String::new(),
    };
    (
        values.fill(summary) + &code,
        advice.iter().map(|text| values.fill(text)).collect(),
        links.to_vec(),
    )
}

struct Values<'a> {
    facts: &'a Facts,
    finding: &'a Finding,
}

impl Values<'_> {
    fn fulfil(&self, condition: &Condition) -> bool {
        let is_known = |name: &str| match name {
            "pool" => self.facts.pool.is_some(),
            "log" => !self.facts.logs.is_empty(),
            name => self.value(name).is_some(),
        };
        let signal = self.finding.exit_code.and_then(signal_name);
        let (details, signals) = (condition.detail, condition.signal);
        (!condition.is_likely || self.finding.confidence < Confidence::Certain)
            && condition.known.iter().all(|name| is_known(name))
            && (details.is_empty() || details.iter().any(|text| self.detail().contains(text)))
            && (signals.is_empty() || signals.iter().any(|name| signal == Some(name)))
    }

    fn fill(&self, text: &str) -> String {
        let parts = text.split(['[', ']']).enumerate();
        let parts = parts.filter_map(|(index, part)| match self.filled(part) {
            None if index % 2 == 0 => Some(part.to_owned()),
            filled => filled,
        });
        parts.collect()
    }

    fn filled(&self, part: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = part;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            filled += before;
            filled += &self.value(name)?;
            rest = after;
        }
        Some(filled + rest)
    }

    fn value(&self, name: &str) -> Option<String> {
        let Self { facts, finding } = self;
        let or = |value: Option<&str>, default: &str| Some(value.unwrap_or(default).to_owned());
        match name {
            "task" => or(finding.task.as_deref(), "the job"),
            "pool" => or(facts.pool.as_deref(), "the public pool"),
            "signal" => or(finding.exit_code.and_then(signal_name), "a signal"),
            "detail" => match &finding.detail {
                Some(detail) => Some(short(detail)),
                None => Some("an exception".to_owned()),
            },
            "exit_code" => finding.exit_code.map(|code| code.to_string()),
            "runs" => Some(facts.runs.len().to_string()),
            "limit" => auto_stop(facts).map(hours),
            "flavor" => facts.flavor.as_ref().map(|flavor| match &facts.memory {
                Some(memory) => format!("{flavor} ({memory})"),
                None => flavor.clone(),
            }),
            "package" => {
                let (_, module) = self.detail().split_once("No module named ")?;
                let package = module.trim_matches(['\'', '"', ' ']).split('.').next();
                package.map(str::to_owned)
            }
            "input" => {
                let is_named = |input: &&Input| {
                    let dir = input.local_dir.trim_end_matches('/');
                    !dir.is_empty() && self.detail().contains(dir)
                };
                let input = facts.inputs.iter().find(is_named)?;
                Some(match &input.remote {
                    Some(remote) => format!("{} ({remote})", input.name),
                    None => input.name.clone(),
                })
            }
            "code" => {
                // A missing file of an input is below the directory of the input.
                if self.value("input").is_some() {
                    return None;
                }
                let (_, path) = self.detail().split_once("/user-job-dir/")?;
                let named = path.split(['/', '\'', '"', ':', ' ']).next();
                facts.code.clone().filter(|code| Some(code.as_str()) != named)
            }
            "process" => {
                let (_, after) = self.detail().split_once("Killed process ")?;
                let name = after.split_once('(')?.1.split_once(')')?.0;
                match quantity(after, "anon-rss:") {
                    Some(memory) => Some(format!("{name} with {memory}")),
                    None => Some(name.to_owned()),
                }
            }
            "storage" => {
                let (_, detail) = self.detail().split_once("low on resource: ephemeral-storage")?;
                let available = quantity(detail, "available: ")?;
                let required = quantity(detail, "Threshold quantity: ")?;
                let used = quantity(detail, "was using ");
                let used = used.map_or_else(String::new, |used| format!("; the task used {used}"));
                Some(format!("{available} free, at least {required} required{used}"))
            }
            "since" => finding.since.clone(),
            _ => None,
        }
    }

    fn detail(&self) -> &str {
        self.finding.detail.as_deref().unwrap_or_default()
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_DETAIL) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.trim_end_matches('.').to_owned(),
    }
}

/// Returns the number of bytes after a label in a text of the cluster or of the kernel, such as
/// `991079804Ki` or `33554432kB`, in GiB.
fn quantity(text: &str, label: &str) -> Option<String> {
    let (_, after) = text.split_once(label)?;
    let end = |text: &str, is_part: fn(char) -> bool| {
        text.find(|letter| !is_part(letter)).unwrap_or(text.len())
    };
    let (number, unit) =
        after.split_at(end(after, |letter| letter.is_ascii_digit() || letter == '.'));
    let scale = match &unit[..end(unit, |letter| letter.is_ascii_alphabetic())] {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        // The kernel writes kB for 1,024 bytes.
        "Ki" | "kB" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    // The number may be the end of a sentence.
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    Some(format!("{:.1} GiB", number * scale / 1_073_741_824.0))
}

fn auto_stop(facts: &Facts) -> Option<Duration> {
    let stated = facts.events.iter().find_map(|event| match event.kind() {
        EventKind::AutoStopped { limit } => Some(limit),
        _ => None,
    });
    stated.or(facts.auto_stop)
}

fn hours(limit: Duration) -> String {
    match limit.as_secs() {
        3600 => "1 hour".to_owned(),
        seconds if seconds % 3600 == 0 => format!("{} hours", seconds / 3600),
        _ => format!("{limit:?}"),
    }
}

impl Job {
    /// Returns the reason for the state of the job in a few words, such as `worker-0 exit code 137:
    /// likely out of memory`, without a call. Returns `None` if the phase needs no explanation.
    ///
    /// Uses only the details. [`explain`](crate::JobHandle::explain) also reads events and logs.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "reason")?;
    /// # emulator.put("bucket/code/train.py", "raise SystemExit(137)\n")?;
    /// # let _ = job.submit().await?.wait().await?;
    /// for job in client.training_jobs().list().collect(50).await? {
    ///     println!("{} {} {}", job.name(), job.phase(), job.status_reason().unwrap_or_default());
    /// #   let expected = "worker-0 exit code 137: likely out of memory";
    /// #   assert_eq!(job.status_reason().as_deref(), Some(expected));
    /// }
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn status_reason(&self) -> Option<String> {
        let facts = Facts::of(self);
        reason(&facts, &diagnose(&facts))
    }
}

pub(super) fn reason(facts: &Facts, finding: &Finding) -> Option<String> {
    let restarts = match facts.restarts() {
        0 => None,
        1 => Some("1 restart".to_owned()),
        count => Some(format!("{count} restarts")),
    };
    let after_restarts = |text: String| match &restarts {
        Some(restarts) => format!("{text}, after {restarts}"),
        None => text,
    };
    let place = match &facts.pool {
        Some(pool) => format!(" in {pool}"),
        None => String::new(),
    };
    match finding.cause {
        Cause::Completed | Cause::Running => restarts,
        Cause::Terminating | Cause::TerminatedByUser => None,
        Cause::ObsFull if facts.phase == Some(Phase::Running) => {
            let since = finding.since.as_ref().map(|since| format!(" since {since}"));
            Some(after_restarts(format!("OBS has refused writes{}", since.unwrap_or_default())))
        }
        Cause::Preparing => Some(after_restarts("being prepared".to_owned())),
        Cause::WaitingForResources => {
            let text = format!("waiting for resources{place}");
            Some(match facts.last_run().and_then(|run| run.reason.clone()) {
                Some(reason) => format!("{text}, after {reason}"),
                None => text,
            })
        }
        cause => {
            let task = finding.task.as_deref();
            let code = finding.exit_code.map(|code| format!("exit code {code}"));
            let subject = [task, code.as_deref()];
            let subject = subject.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let cause = match cause {
                Cause::Unknown | Cause::RestartsExhausted => other_reason(facts),
                Cause::KilledBySignal => finding.exit_code.and_then(signal_name).map(str::to_owned),
                _ => Some(cause.as_str().replace('_', " ")),
            };
            let likely = match finding.confidence {
                Confidence::Likely => "likely ",
                _ => "",
            };
            let text = match (subject.is_empty(), cause) {
                (true, None) => return restarts,
                (true, Some(cause)) => format!("{likely}{cause}"),
                (false, None) => subject,
                (false, Some(cause)) => format!("{subject}: {likely}{cause}"),
            };
            Some(after_restarts(text))
        }
    }
}

fn other_reason(facts: &Facts) -> Option<String> {
    let failed = facts.failed_task();
    let known = failed.exit_code.map(|code| format!("exit with {code}"));
    let message = failed.message.filter(|text| Some(text) != known.as_ref());
    let is_other = |text: &String| {
        facts.phase.as_ref().is_none_or(|phase| !phase.as_str().eq_ignore_ascii_case(text))
    };
    message.or_else(|| facts.secondary_phase.clone().filter(is_other))
}
