//! Trials as tables: all cells but `config` are texts (SOURCES D-10, D-103).

use serde_json::{Map, Value, json};

use crate::{
    clock::timestamp::Timestamp,
    job::Job,
    tuning::trial::{Report, Trial, TrialStatus},
};

/// The header and the rows of all trials (ShowAutoSearchTrials).
pub(crate) fn trials_table(job: &Job, now: Timestamp) -> (Value, Vec<Value>) {
    let names = names(job);
    let before = [
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
    ];
    let mut header: Vec<&str> = before.to_vec();
    header.extend(names.iter().copied());
    header.push("best_reward");
    let rows = job.trials.iter().map(|trial| {
        let last = trial.reports.last();
        let status = if job.settled && trial.status == TrialStatus::Running {
            // The emulator ended while the trial ran, and the job was not run again.
            TrialStatus::Terminated
        } else {
            trial.status
        };
        let mut row = vec![
            json!(trial.index.to_string()),
            done(status != TrialStatus::Running),
            pid(trial),
            config(trial),
            json!(trial.id),
            json!(trial.iterations.to_string()),
            seconds(trial, trial.ended.unwrap_or(now)),
            // Empty in the only known example.
            json!(""),
            reward(last),
            json!(match status {
                TrialStatus::Running => "RUNNING",
                TrialStatus::Terminated => "TERMINATED",
                TrialStatus::Error => "ERROR",
            }),
        ];
        row.extend((0..names.len()).map(|at| metric(last, at)));
        row.push(best(last));
        Value::Array(row)
    });
    (json!(header), rows.collect())
}

/// The rows of one trial (ShowAutoSearchPerTrial): one for each report and, after its end, the last
/// one again with `done`, as in the only known example.
pub(crate) fn trial_rows(job: &Job, trial: &Trial) -> Value {
    let names = names(job);
    let mut header = vec!["done", "pid", "best_reward", "time_total_s", "config"];
    header.extend(names.iter().copied());
    header.extend(["trial_id", "training_iteration", "reward_attr"]);
    let row = |report: Option<&Report>, ended: bool| {
        let at = report.map_or(trial.ended.unwrap_or(trial.started), |report| report.at);
        let mut row = vec![
            done(ended),
            pid(trial),
            best(report),
            seconds(trial, at),
            config(trial),
        ];
        row.extend((0..names.len()).map(|at| metric(report, at)));
        let iteration = report.map_or(0, |report| report.iteration);
        row.extend([
            json!(trial.id),
            json!(iteration.to_string()),
            reward(report),
        ]);
        Value::Array(row)
    };
    let mut rows: Vec<Value> = trial
        .reports
        .iter()
        .map(|report| row(Some(report), false))
        .collect();
    if trial.ended.is_some() {
        rows.push(row(trial.reports.last(), true));
    }
    json!({"header": header, "data": rows})
}

/// The names of the metrics.
fn names(job: &Job) -> Vec<&str> {
    let tuning = job.request.tuning.as_ref();
    let rewards = tuning.map_or(&[][..], |tuning| &tuning.rewards);
    rewards.iter().map(|reward| reward.name.as_str()).collect()
}

fn done(done: bool) -> Value {
    json!(if done { "True" } else { "False" })
}

fn pid(trial: &Trial) -> Value {
    json!(trial.pid.map(|pid| pid.to_string()).unwrap_or_default())
}

fn seconds(trial: &Trial, until: Timestamp) -> Value {
    json!(until.seconds_since(trial.started).to_string())
}

fn reward(report: Option<&Report>) -> Value {
    metric(report, 0)
}

fn metric(report: Option<&Report>, at: usize) -> Value {
    json!(report.map_or("", |report| report.texts[at].as_str()))
}

fn best(report: Option<&Report>) -> Value {
    let best = report.and_then(|report| report.best);
    json!(best.map(|best| best.to_string()).unwrap_or_default())
}

/// The configuration of a trial: each value twice, and the number of the trial, as in the examples.
fn config(trial: &Trial) -> Value {
    let mut config = Map::new();
    for (name, value) in &trial.values {
        config.insert(name.clone(), value.clone());
    }
    config.insert("trial_index".to_owned(), trial.index.into());
    for (name, value) in &trial.values {
        config.insert(format!("param/{name}"), value.clone());
    }
    Value::Object(config)
}
