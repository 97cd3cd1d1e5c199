//! Format and validation of the script of simulated jobs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    job::request::JobRequest,
    metrics::series::{SERIES, Values},
};

/// Script of simulated jobs, which defines their behaviour. [`Script::from_json`] reads it from
/// JSON. With the default script, every job ends immediately with exit code 0.
///
/// ```json
/// {
///   "default": [{"seconds": 60, "log": ["started", {"at": 1, "every": 10, "line": "step {n}"}]}],
///   "jobs": [
///     {"name": "flaky-*", "runs": [{"seconds": 5, "exit_code": 1}, {"seconds": 5}]},
///     {"environments": {"SIMULATE": "fault"},
///      "runs": [{"seconds": 60, "fault": {"node_fault": 20}}]}
///   ]
/// }
/// ```
///
/// A job follows the first element of `jobs` whose `name`, `annotations` and `environments` all
/// match, otherwise `default`. In these values, `*` stands for any string. The first run of a
/// job's code follows the first element of the list, the second run the second element, and so on;
/// the last element repeats. Members of a run:
///
/// - `seconds` (default: 0): duration of the run, up to a year
/// - `exit_code` (default: 0): 0 to 255
/// - `log` (default: no lines): list of lines, each a string for a line at the start, or `{"at": 1,
///   "every": 10, "line": "…"}`, in seconds from the start; `every` repeats the line until the end
/// - `metrics` (default: `{"cpuUsage": 25, "memUsage": 10}`): object with the values of each
///   series: a number, or a list with a number for each minute, the last of which repeats
/// - `fault` (default: none): `{"node_fault": 20}`: the node fails after 20 s; `{"hang": 20}`:
///   activity stops after 20 s, and the run does not end; `{"evicted": 20}`: the disk of the node
///   is full after 20 s, and the pod is removed
/// - `ignores_sigterm` (default: false): true: a stop ends the run only after the grace period,
///   with exit code 137 instead of 143
/// - `download_seconds` (default: 0): download time of the code directory
/// - `download_error` (default: none): the cause of a failed download of the code
/// - `input_error` (default: none): the cause of a failed download of inputs
/// - `pre_check_error` (default: none): the defect found by the pre-check, for jobs that have a
///   pre-check
/// - `prepare_timeout` (default: false): true: the preparation times out before the job is queued;
///   only in the first run
/// - `tasks` (default: none): object with the members above that differ in a task, for example
///   `worker-1`
///
/// Lines may contain the placeholders `{n}` (number of earlier repetitions of the line), `{run}`
/// (1, 2, …), `{task}`, `{parameter.NAME}` and `{environment.NAME}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    default: Vec<ScriptedRun>,
    jobs: Vec<ScriptedJob>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedJob {
    name: Option<String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    environments: BTreeMap<String, String>,
    runs: Vec<ScriptedRun>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScriptedRun {
    pub(super) seconds: Option<f64>,
    pub(super) exit_code: Option<i32>,
    pub(super) log: Option<Vec<LogLine>>,
    pub(super) metrics: Option<BTreeMap<String, Values>>,
    pub(super) fault: Option<RunFault>,
    pub(super) ignores_sigterm: Option<bool>,
    pub(super) download_seconds: Option<f64>,
    pub(crate) download_error: Option<String>,
    pub(crate) input_error: Option<String>,
    pub(crate) pre_check_error: Option<String>,
    pub(crate) prepare_timeout: Option<bool>,
    tasks: BTreeMap<String, ScriptedRun>,
}

/// Line of a log, with its times in seconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct LogLine {
    pub(super) at: f64,
    pub(super) every: Option<f64>,
    pub(super) line: String,
}

/// Fault of a run, with its time in seconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunFault {
    NodeFault(f64),
    /// Hang of the code: its activity stops, and the run does not end.
    Hang(f64),
    /// Eviction of the pod, because the disk of its node is full.
    Evicted(f64),
}

/// Error in a script of simulated jobs.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(String);

/// Maximum of a time in a script, in seconds: one year.
const MAX_SECONDS: f64 = 31_536_000.0;
/// Maximum number of repetitions of a log line in a run.
const MAX_LINES: f64 = 1_000_000.0;

impl Script {
    /// Reads and validates a script.
    ///
    /// # Errors
    /// Returns an error that names the member and states the violated rule.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self =
            serde_json::from_str(text).map_err(|error| ScriptError(error.to_string()))?;
        script.check().map_err(ScriptError)?;
        Ok(script)
    }

    fn check(&self) -> Result<(), String> {
        let check_all = |runs: &[ScriptedRun], path: &str| {
            let mut runs = runs.iter().enumerate();
            runs.try_for_each(|(at, run)| run.check(&format!("{path}[{at}]"), None))
        };
        check_all(&self.default, "default")?;
        for (at, job) in self.jobs.iter().enumerate() {
            if job.runs.is_empty() {
                return Err(format!("jobs[{at}].runs must have at least one run"));
            }
            check_all(&job.runs, &format!("jobs[{at}].runs"))?;
        }
        Ok(())
    }

    /// Returns the behaviour of a task in a run of its job; `run` counts from 0.
    pub(super) fn run(&self, request: &JobRequest, task: &str, run: usize) -> ScriptedRun {
        let job = self.jobs.iter().find(|job| job.fits(request));
        let runs = job.map_or(&self.default, |job| &job.runs);
        let Some(of_all) = runs.get(run).or(runs.last()) else {
            return ScriptedRun::default();
        };
        match of_all.tasks.get(task) {
            Some(task) => task.clone().with_defaults_from(of_all),
            None => of_all.clone(),
        }
    }
}

impl ScriptedJob {
    fn fits(&self, request: &JobRequest) -> bool {
        let annotation = |name: &String| request.annotations.as_ref()?.get(name)?.as_str();
        let variable = |name: &String| request.environments.as_ref()?.get(name).map(String::as_str);
        let fits = |pattern: &String, text: Option<&str>| {
            text.is_some_and(|text| matches_pattern(pattern, text))
        };
        let mut names = self.name.iter();
        let (mut annotations, mut variables) = (self.annotations.iter(), self.environments.iter());
        names.all(|pattern| fits(pattern, Some(&request.name)))
            && annotations.all(|(name, pattern)| fits(pattern, annotation(name)))
            && variables.all(|(name, pattern)| fits(pattern, variable(name)))
    }
}

/// Returns `true` if a string matches the pattern, in which `*` stands for any string.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl ScriptedRun {
    /// Returns the run, with absent members replaced by those of `other`.
    fn with_defaults_from(self, other: &Self) -> Self {
        Self {
            seconds: self.seconds.or(other.seconds),
            exit_code: self.exit_code.or(other.exit_code),
            log: self.log.or_else(|| other.log.clone()),
            metrics: self.metrics.or_else(|| other.metrics.clone()),
            fault: self.fault.or(other.fault),
            ignores_sigterm: self.ignores_sigterm.or(other.ignores_sigterm),
            download_seconds: self.download_seconds.or(other.download_seconds),
            download_error: self.download_error.or_else(|| other.download_error.clone()),
            input_error: self.input_error.or_else(|| other.input_error.clone()),
            pre_check_error: self.pre_check_error.or_else(|| other.pre_check_error.clone()),
            prepare_timeout: self.prepare_timeout.or(other.prepare_timeout),
            tasks: BTreeMap::new(),
        }
    }

    /// Checks a run, which messages name by `path`. For one task, `of_all` is the run of all tasks.
    fn check(&self, path: &str, of_all: Option<&Self>) -> Result<(), String> {
        let time = |name: &str, seconds: Option<f64>| match seconds {
            Some(seconds) if !(0.0..=MAX_SECONDS).contains(&seconds) => {
                Err(format!("{path}.{name} must be between 0 and {MAX_SECONDS} seconds"))
            }
            _ => Ok(()),
        };
        time("seconds", self.seconds)?;
        time("download_seconds", self.download_seconds)?;
        time("fault", self.fault.map(RunFault::seconds))?;
        if self.exit_code.is_some_and(|code| !(0..=255).contains(&code)) {
            return Err(format!("{path}.exit_code must be between 0 and 255"));
        }
        let lasts = self.seconds.or(of_all.and_then(|all| all.seconds));
        for (at, line) in self.log.iter().flatten().enumerate() {
            let name = format!("log[{at}]");
            time(&format!("{name}.at"), Some(line.at))?;
            let Some(every) = line.every else { continue };
            if !every.is_finite() || every * MAX_LINES < lasts.unwrap_or(0.0).max(0.001) {
                return Err(format!(
                    "{path}.{name}.every must be large enough that the line is repeated at most \
                     {MAX_LINES} times"
                ));
            }
        }
        for (series, values) in self.metrics.iter().flatten() {
            if !SERIES.contains(&series.as_str()) {
                let known = SERIES.join(", ");
                return Err(format!("{path}.metrics.{series} must be one of {known}"));
            }
            if !values.0.iter().all(|value| (-1.0..=100.0).contains(value)) {
                return Err(format!(
                    "{path}.metrics.{series} must be percent, 0 to 100, or -1 for a gap"
                ));
            }
        }
        for (task, run) in &self.tasks {
            let path = format!("{path}.tasks.{task}");
            if of_all.is_some() {
                return Err(format!("{path}: a task has no tasks"));
            }
            let named = task.rsplit_once('-');
            if !named.is_some_and(|(role, index)| !role.is_empty() && index.parse::<u32>().is_ok())
            {
                return Err(format!(
                    "{path}: tasks are worker-0, worker-1 and so on, or have a role of a \
                     heterogeneous job in the place of worker"
                ));
            }
            run.check(&path, Some(self))?;
        }
        Ok(())
    }
}

impl RunFault {
    pub(super) const fn seconds(self) -> f64 {
        match self {
            Self::NodeFault(seconds) | Self::Hang(seconds) | Self::Evicted(seconds) => seconds,
        }
    }
}

impl TryFrom<Value> for LogLine {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Timed {
            #[serde(default)]
            at: f64,
            every: Option<f64>,
            line: String,
        }
        let Timed { at, every, line } = match value {
            Value::String(line) => Timed { at: 0.0, every: None, line },
            value => serde_json::from_value(value)
                .map_err(|error| format!("a line of a log is a text or has `line`: {error}"))?,
        };
        Ok(Self { at, every, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("ab*b", "ab", false),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn errors_name_the_invalid_member() {
        for (script, sentence) in [
            (r#"{"default": {}}"#, "expected a sequence"),
            (r#"{"defaults": []}"#, "unknown field `defaults`"),
            (r#"{"default": [{"second": 1}]}"#, "unknown field `second`"),
            (r#"{"default": [{"seconds": -1}]}"#, "default[0].seconds must be between"),
            (r#"{"jobs": [{"name": "a", "runs": []}]}"#, "jobs[0].runs must have at least one run"),
            (r#"{"jobs": [{"runs": [{"exit_code": 256}]}]}"#, "jobs[0].runs[0].exit_code must be"),
            (r#"{"default": [{"fault": {"hang": -1}}]}"#, "default[0].fault must be between"),
            (r#"{"default": [{"fault": {"sulk": 1}}]}"#, "unknown variant `sulk`"),
            (r#"{"default": [{"log": [{"at": 1}]}]}"#, "missing field `line`"),
            (
                r#"{"default": [{"seconds": 9, "log": [{"every": 0, "line": "x"}]}]}"#,
                "default[0].log[0].every must be",
            ),
            (
                r#"{"default": [{"metrics": {"cpu": 1}}]}"#,
                "default[0].metrics.cpu must be one of cpuUsage",
            ),
            (
                r#"{"default": [{"metrics": {"cpuUsage": 101}}]}"#,
                "metrics.cpuUsage must be percent",
            ),
            (r#"{"default": [{"metrics": {"cpuUsage": []}}]}"#, "a number or a list of numbers"),
            (r#"{"default": [{"tasks": {"ps": {}}}]}"#, "tasks are worker-0"),
            (
                r#"{"default": [{"tasks": {"worker-0": {"tasks": {"worker-1": {}}}}}]}"#,
                "a task has no tasks",
            ),
        ] {
            let error = Script::from_json(script).unwrap_err().to_string();
            assert!(error.contains(sentence), "{script}: {error}");
        }
    }
}
