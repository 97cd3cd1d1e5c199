//! Trial of a search: one run of the code with its own parameter values.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{clock::timestamp::Timestamp, tuning::settings::Reward};

/// State of a trial. Each trial is stored in a separate row, because a job has up to 10,000.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// Id of eight hexadecimal digits.
    pub(crate) id: String,
    pub(crate) index: usize,
    pub(crate) pid: Option<u32>,
    pub(crate) values: Map<String, Value>,
    pub(crate) status: TrialStatus,
    pub(crate) started: Timestamp,
    pub(crate) ended: Option<Timestamp>,
    /// The first [`MAX_REPORTS`] reports, and the latest report.
    pub(crate) reports: Vec<Report>,
    /// `true` after a request to stop this trial, as opposed to the job.
    pub(crate) stop: bool,
    /// `true` if the trial has changed since it was last stored.
    #[serde(skip)]
    pub(crate) changed: bool,
}

/// Number of first reports that are stored in addition to the latest report.
const MAX_REPORTS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TrialStatus {
    Running,
    /// The code exited with code 0, or was stopped.
    Terminated,
    /// The code exited with a code other than 0, or its node was lost.
    Error,
}

/// Values of the metrics at a match of the leading metric, as written in the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) at: Timestamp,
    pub(crate) iteration: u32,
    /// Strings in the order of `reward_attrs`; empty for metrics that have not been found yet.
    pub(crate) texts: Vec<String>,
    /// Best value of the leading metric so far.
    pub(crate) best: Option<f64>,
}

impl Trial {
    pub(crate) fn new(
        id: String,
        index: usize,
        pid: Option<u32>,
        values: Map<String, Value>,
        started: Timestamp,
    ) -> Self {
        Self {
            id,
            index,
            pid,
            values,
            status: TrialStatus::Running,
            started,
            ended: None,
            reports: Vec::new(),
            stop: false,
            changed: true,
        }
    }

    pub(crate) fn report(&mut self, texts: Vec<String>, more_is_better: bool, at: Timestamp) {
        let before = self.reports.last();
        let iteration = before.map_or(0, |report| report.iteration) + 1;
        let best = match (before.and_then(|report| report.best), number(&texts)) {
            (Some(a), Some(b)) => Some(if (b > a) == more_is_better { b } else { a }),
            (a, b) => a.or(b),
        };
        if self.reports.len() > MAX_REPORTS {
            self.reports.pop();
        }
        self.reports.push(Report { at, iteration, texts, best });
    }

    /// Returns the latest value of the leading metric, if it is a number.
    pub(crate) fn reward(&self) -> Option<f64> {
        self.reports.last().and_then(|report| number(&report.texts))
    }
}

fn number(texts: &[String]) -> Option<f64> {
    let text = texts.first()?.trim();
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

pub(crate) struct RewardScraper<'a> {
    rewards: &'a [Reward],
    pub(crate) position: u64,
    /// Incomplete last line of the bytes read so far.
    rest: Vec<u8>,
    latest: Vec<String>,
}

/// Size in bytes above which an incomplete line is searched for rewards without its rest.
const MAX_LINE: usize = 64 << 10;

impl<'a> RewardScraper<'a> {
    pub(crate) fn new(rewards: &'a [Reward]) -> Self {
        Self { rewards, position: 0, rest: Vec::new(), latest: vec![String::new(); rewards.len()] }
    }

    /// Returns the values of all metrics for each match of the leading metric. If `last`, an
    /// incomplete last line is processed as well.
    pub(crate) fn feed(&mut self, new: &[u8], last: bool) -> Vec<Vec<String>> {
        self.rest.extend_from_slice(new);
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            _ if last => self.rest.len(),
            Some(end) => end + 1,
            None if self.rest.len() > MAX_LINE => self.rest.len(),
            None => 0,
        };
        let lines: Vec<u8> = self.rest.drain(..end).collect();
        let mut found = Vec::new();
        for line in String::from_utf8_lossy(&lines).lines() {
            if self.scan_line(line) {
                found.push(self.latest.clone());
            }
        }
        found
    }

    /// Finds the rewards in a line; returns `true` if the line contains the leading metric.
    fn scan_line(&mut self, line: &str) -> bool {
        let mut leads = false;
        for (index, reward) in self.rewards.iter().enumerate() {
            // An expression that backtracks too often is an error, which counts as no match.
            let Ok(Some(captures)) = reward.regex.captures(line) else {
                continue;
            };
            let text = captures.get(1).or_else(|| captures.get(0));
            if let Some(text) = text {
                self.latest[index] = text.as_str().to_owned();
                leads |= index == 0;
            }
        }
        leads
    }
}

#[cfg(test)]
mod tests {
    use fancy_regex::Regex;

    use super::*;

    fn reward(name: &str, regex: &str) -> Reward {
        Reward { name: name.to_owned(), more_is_better: true, regex: Regex::new(regex).unwrap() }
    }

    #[test]
    fn rewards_are_found_line_by_line() {
        let rewards = [reward("acc", r"acc=([\d.]+)"), reward("loss", r"(?<=loss )\S+")];
        let mut scraper = RewardScraper::new(&rewards);
        assert_eq!(scraper.feed(b"start\nacc=0.", false), [[""; 0]; 0]);
        assert_eq!(scraper.feed(b"5\nloss nan\n", false), [["0.5", ""]]);
        assert_eq!(scraper.feed(b"loss 0.3 acc=0.6\nacc=0.7", false), [["0.6", "0.3"]]);
        assert_eq!(scraper.feed(b"", true), [["0.7", "0.3"]]);
    }

    #[test]
    fn a_trial_keeps_its_best_and_its_last_reward() {
        let at = Timestamp::from_millis(0);
        let trial = |more_is_better| {
            let mut trial = Trial::new("a".into(), 0, None, Map::new(), at);
            for text in ["0.5", "0.9", "none", "0.7"] {
                trial.report(vec![text.to_owned()], more_is_better, at);
            }
            let last = trial.reports.last().unwrap().clone();
            (trial.reward(), last.best, last.iteration)
        };
        assert_eq!(trial(true), (Some(0.7), Some(0.9), 4));
        assert_eq!(trial(false), (Some(0.7), Some(0.5), 4));
    }
}
