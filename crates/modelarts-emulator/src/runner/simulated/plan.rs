//! Behaviour of one worker in one run, computed from the script.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use crate::{
    job::worker::Worker,
    metrics::series::Values,
    runner::simulated::script::{RunFault, Script, ScriptedRun},
};

impl Script {
    /// Returns the behaviour of a worker, with all placeholders except `{n}` filled in.
    pub(super) fn of(&self, worker: &Worker) -> ScriptedRun {
        let mut run = self.run(&worker.request, &worker.task(), worker.run);
        for line in run.log.iter_mut().flatten() {
            line.line = fill_in(&line.line, |mark| value(mark, worker));
        }
        run
    }
}

impl ScriptedRun {
    fn duration(&self) -> Duration {
        to_duration(self.seconds)
    }

    pub(in crate::runner) fn download_time(&self) -> Duration {
        to_duration(self.download_seconds)
    }

    pub(super) fn exit_code(&self) -> i32 {
        self.exit_code.unwrap_or_default()
    }

    pub(super) fn metrics(&self) -> BTreeMap<String, Values> {
        self.metrics.clone().unwrap_or_else(|| {
            [("cpuUsage", 25.0), ("memUsage", 10.0)]
                .map(|(series, value)| (series.to_owned(), Values(vec![value])))
                .into()
        })
    }

    /// Returns the time from the start of the run to its end or its fault, whichever is earlier.
    pub(super) fn alive_for(&self) -> Duration {
        match self.fault {
            Some(fault) => to_duration(Some(fault.seconds())).min(self.duration()),
            None => self.duration(),
        }
    }

    /// Returns the fault of the run, if the run lasts until the fault is due.
    pub(super) fn fault_in_run(&self) -> Option<RunFault> {
        self.fault.filter(|_| self.alive_for() < self.duration())
    }

    pub(super) fn log_text(&self, elapsed: Duration) -> String {
        let until = elapsed.min(self.alive_for()).as_secs_f64();
        let mut lines = Vec::new();
        for line in self.log.iter().flatten() {
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
        // The sort is stable: lines with the same time keep the order of the script.
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

fn to_duration(seconds: Option<f64>) -> Duration {
    Duration::try_from_secs_f64(seconds.unwrap_or_default()).unwrap_or_default()
}

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

/// Replaces `{placeholders}` with their values; unknown placeholders remain unchanged.
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
