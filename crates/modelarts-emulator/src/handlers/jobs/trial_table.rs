//! Tables of trials. All cells except `config` are strings (SOURCES D-10, D-103).

use serde_json::{Map, Value, json};

use crate::{
    clock::timestamp::Timestamp,
    job::Job,
    tuning::trial::{Report, Trial, TrialStatus},
};

/// Names of the columns that precede and follow those of the metrics.
type Columns = (&'static [&'static str], &'static [&'static str]);

const ALL_TRIALS: Columns = (
    &[
        "",
        "done",
        "pid",
        "config",
        "trial_id",
        "training_iteration",
        "time_total_s",
        "worker_index",
        "reward_attr",
        "status",
    ],
    &["best_reward"],
);
const ONE_TRIAL: Columns = (
    &["done", "pid", "best_reward", "time_total_s", "config"],
    &["trial_id", "training_iteration", "reward_attr"],
);

struct Row<'a> {
    trial: &'a Trial,
    report: Option<&'a Report>,
    done: bool,
    until: Timestamp,
}

/// Returns the header and the rows of all trials (ShowAutoSearchTrials).
pub(crate) fn trials_table(job: &Job, now: Timestamp) -> (Value, Vec<Value>) {
    let rows = job.trials.iter().map(|trial| Row {
        trial,
        report: trial.reports.last(),
        // The emulator may have ended during a trial and not run the job again.
        done: trial.status != TrialStatus::Running || job.lifecycle.settled,
        until: trial.ended.unwrap_or(now),
    });
    table(job, ALL_TRIALS, rows)
}

/// Returns a row for each report and, at the end, a copy with `done`, as in the only example.
pub(crate) fn trial_rows(job: &Job, trial: &Trial) -> Value {
    let reports = trial.reports.iter().map(|report| (Some(report), false));
    let last = trial.ended.map(|_| (trial.reports.last(), true));
    let rows = reports.chain(last).map(|(report, done)| Row {
        trial,
        report,
        done,
        until: report.map_or(trial.ended.unwrap_or(trial.started), |report| report.at),
    });
    let (header, rows) = table(job, ONE_TRIAL, rows);
    json!({"header": header, "data": rows})
}

fn table<'a>(
    job: &Job,
    (before, after): Columns,
    rows: impl Iterator<Item = Row<'a>>,
) -> (Value, Vec<Value>) {
    let tuning = job.request.tuning.as_ref();
    let rewards = tuning.map_or(&[][..], |tuning| &tuning.rewards);
    let names = rewards.iter().map(|reward| reward.name.as_str());
    let header: Vec<&str> =
        (before.iter().copied().chain(names)).chain(after.iter().copied()).collect();
    let cells = |row: Row<'a>| {
        let before = before.iter().map(|column| row.cell(column));
        let metrics = (0..rewards.len()).map(|at| row.metric(at).into());
        let after = after.iter().map(|column| row.cell(column));
        before.chain(metrics).chain(after).collect()
    };
    (json!(header), rows.map(cells).collect())
}

impl Row<'_> {
    fn cell(&self, column: &str) -> Value {
        let Self { trial, report, .. } = self;
        let text = match column {
            "" => trial.index.to_string(),
            "done" => (if self.done { "True" } else { "False" }).to_owned(),
            "pid" => trial.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            "config" => return config(trial),
            "trial_id" => trial.id.clone(),
            "training_iteration" => report.map_or(0, |report| report.iteration).to_string(),
            "time_total_s" => self.until.seconds_since(trial.started).to_string(),
            "reward_attr" => self.metric(0).to_owned(),
            "best_reward" => {
                let best = report.and_then(|report| report.best);
                best.map(|best| best.to_string()).unwrap_or_default()
            }
            "status" => match (trial.status, self.done) {
                (TrialStatus::Error, _) => "ERROR",
                (_, true) => "TERMINATED",
                (_, false) => "RUNNING",
            }
            .to_owned(),
            // `worker_index` is empty in the only known example.
            _ => String::new(),
        };
        text.into()
    }

    fn metric(&self, at: usize) -> &str {
        self.report.map_or("", |report| report.texts[at].as_str())
    }
}

/// Returns each value twice, and the number of the trial, as in the examples.
fn config(trial: &Trial) -> Value {
    let mut config: Map<String, Value> = trial.values.clone();
    config.insert("trial_index".to_owned(), trial.index.into());
    for (name, value) in &trial.values {
        config.insert(format!("param/{name}"), value.clone());
    }
    Value::Object(config)
}
