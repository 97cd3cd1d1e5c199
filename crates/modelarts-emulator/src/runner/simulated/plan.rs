//! The resolved script of one worker in one run.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use crate::{
    job::worker::Worker,
    metrics::series::Values,
    runner::simulated::script::{LogLine, RunFault, Script},
};

/// The behaviour of a simulated worker in one run.
#[derive(Debug)]
pub(super) struct RunPlan {
    /// Duration of the run, unless it is ended early.
    pub(super) seconds: Duration,
    pub(super) exit_code: i32,
    pub(super) fault: Option<RunFault>,
    pub(super) ignores_sigterm: bool,
    pub(super) download: Duration,
    pub(super) download_error: Option<String>,
    pub(super) input_error: Option<String>,
    pub(super) pre_check_error: Option<String>,
    pub(super) prepare_timeout: bool,
    pub(super) metrics: BTreeMap<String, Values>,
    /// All placeholders but `{n}` are filled in.
    log: Vec<LogLine>,
}

impl RunPlan {
    pub(super) fn of(script: &Script, worker: &Worker) -> Self {
        let scripted = script.of(&worker.request, &worker.task(), worker.run);
        let seconds = |seconds: Option<f64>| {
            Duration::try_from_secs_f64(seconds.unwrap_or_default()).unwrap_or_default()
        };
        let log = scripted.log.unwrap_or_default().into_iter();
        Self {
            seconds: seconds(scripted.seconds),
            exit_code: scripted.exit_code.unwrap_or_default(),
            fault: scripted.fault,
            ignores_sigterm: scripted.ignores_sigterm.unwrap_or_default(),
            download: seconds(scripted.download_seconds),
            download_error: scripted.download_error,
            input_error: scripted.input_error,
            pre_check_error: scripted.pre_check_error,
            prepare_timeout: scripted.prepare_timeout.unwrap_or_default(),
            metrics: scripted.metrics.unwrap_or_else(|| {
                [("cpuUsage", 25.0), ("memUsage", 10.0)]
                    .map(|(series, value)| (series.to_owned(), Values(vec![value])))
                    .into()
            }),
            log: log
                .map(|line| LogLine {
                    line: fill_in(&line.line, |mark| value(mark, worker)),
                    ..line
                })
                .collect(),
        }
    }

    /// Duration of activity.
    pub(super) fn alive_for(&self) -> Duration {
        match self.fault {
            Some(RunFault::NodeFault(seconds) | RunFault::Hang(seconds)) => {
                let fault = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                fault.min(self.seconds)
            }
            None => self.seconds,
        }
    }

    /// The fault, if the run lasts until then.
    pub(super) fn fault(&self) -> Option<RunFault> {
        self.fault.filter(|_| self.alive_for() < self.seconds)
    }

    /// The log at a time after the start.
    pub(super) fn log(&self, elapsed: Duration) -> String {
        let until = elapsed.min(self.alive_for()).as_secs_f64();
        let mut lines = Vec::new();
        for line in &self.log {
            let mut n = 0_u32;
            loop {
                let at = line.at + line.every.unwrap_or_default() * f64::from(n);
                if at > until {
                    break;
                }
                lines.push((at, line, n));
                if line.every.is_none() {
                    break;
                }
                n += 1;
            }
        }
        // A stable sort: lines of the same moment stay in the order of the script.
        lines.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
        let mut text = String::new();
        for (_, line, n) in lines {
            let line = fill_in(&line.line, |mark| (mark == "n").then(|| n.to_string()));
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// The value of a placeholder that is constant in the run.
fn value(mark: &str, worker: &Worker) -> Option<String> {
    let request = &worker.request;
    match mark {
        "run" => Some((worker.run + 1).to_string()),
        "task" => Some(worker.task()),
        _ => match mark.split_once('.')? {
            ("parameter", name) => {
                let parameter = request.parameters.iter().find(|one| one.name == name)?;
                Some(parameter.value.clone())
            }
            ("environment", name) => request.environments.as_ref()?.get(name).cloned(),
            _ => None,
        },
    }
}

/// Replaces `{placeholders}` by their values. Those without a value stay.
fn fill_in(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let mark = from.find('}').map(|close| &from[1..close]);
        match mark.and_then(|mark| Some((mark, value(mark)?))) {
            Some((mark, value)) => {
                filled.push_str(&value);
                rest = &from[mark.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_filled_in_and_other_braces_stay() {
        let value = |mark: &str| (mark == "n").then(|| "7".to_owned());
        for (text, filled) in [
            ("step {n}", "step 7"),
            ("{n}{n}", "77"),
            ("{\"loss\": {n}, \"x\": {m}}", "{\"loss\": 7, \"x\": {m}}"),
            ("{", "{"),
            ("{n", "{n"),
        ] {
            assert_eq!(fill_in(text, value), filled);
        }
    }
}
