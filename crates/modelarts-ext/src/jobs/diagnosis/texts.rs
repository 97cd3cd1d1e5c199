//! Texts of a finding: its clause in the summary, the advice, and the documents about it. They are
//! rows of `openapi/causes.yaml`, which are filled in here.

use std::time::Duration;

use modelarts_api::diagnosis::{Condition, Confidence, Link, Texts};

use crate::jobs::{
    diagnosis::{
        facts::{Facts, Input},
        finding::Finding,
    },
    events::kind::EventKind,
    exit_code::signal_name,
};

/// Maximum length of the text that shows a cause, in characters.
const MAX_DETAIL: usize = 120;

/// Returns the summary, such as `worker-0 ran out of memory (exit code 137)`, the advice and the
/// documents.
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

/// Values of the texts.
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

    /// Returns a text with its values in place of their names.
    fn fill(&self, text: &str) -> String {
        let parts = text.split(['[', ']']).enumerate();
        let parts = parts.filter_map(|(index, part)| match self.filled(part) {
            None if index % 2 == 0 => Some(part.to_owned()),
            filled => filled,
        });
        parts.collect()
    }

    /// Returns a part of a text with its values; `None` if one of them is not known.
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
            _ => None,
        }
    }

    /// Returns the text that shows the cause.
    fn detail(&self) -> &str {
        self.finding.detail.as_deref().unwrap_or_default()
    }
}

/// Returns the first characters of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_DETAIL) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.trim_end_matches('.').to_owned(),
    }
}

/// Returns the maximum running duration that an event states, or else the setting of the job.
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
