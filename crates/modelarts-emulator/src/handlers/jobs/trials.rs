//! Handlers of the trials of a search and of its hyper-parameter analysis.

use serde_json::{Map, Value, json};

use crate::{
    api::{
        error::ApiError,
        response::{Reply, ok},
    },
    clock::timestamp::Timestamp,
    files::obs_path::CHARTS,
    handlers::call::ApiCall,
    job::{
        Job,
        channel::DataSource,
        request::{JobRequest, LogExport},
    },
    tuning::{
        importance::importance,
        settings::documented_algorithms,
        trial::{Report, Trial, TrialStatus},
    },
};

/// Default page size, as in an example (SOURCES D-58).
const PAGE: usize = 50;

pub(crate) fn algorithms() -> Reply {
    let rows = documented_algorithms();
    ok(json!({"search_algo_count": rows.len(), "search_algo_list": rows}))
}

/// Returns a page of the table of trials. The table of a job without a search is empty.
pub(crate) fn list(call: &ApiCall<'_>) -> Reply {
    let limit = match call.number("limit", 0..=usize::MAX, 0)? {
        0 => PAGE,
        limit => limit,
    };
    let page = call.number("offset", 0..=usize::MAX, 0)?;
    let now = call.now();
    let (header, rows) = call.read(|job| trials_table(job, now))?;
    let total = rows.len();
    let shown: Vec<_> = rows.into_iter().skip(page.saturating_mul(limit)).take(limit).collect();
    ok(json!({
        "total": total,
        "count": shown.len(),
        "limit": limit,
        "offset": page,
        "group_by": "",
        "items": {"header": header, "data": shown},
    }))
}

fn unknown_trial(trial: &str) -> ApiError {
    ApiError::invalid_parameter(format!("trial_id {trial} is not a trial of the job"))
}

pub(crate) fn show(call: &ApiCall<'_>) -> Reply {
    let id = call.id("trial_id");
    let table = call.read(|job| {
        let trial = job.trials.iter().find(|trial| trial.id == id);
        trial.map(|trial| trial_rows(job, trial))
    })?;
    ok(table.ok_or_else(|| unknown_trial(id))?)
}

/// Requests the end of a trial. The trial ends shortly afterwards, and the search continues.
pub(crate) fn stop(call: &ApiCall<'_>) -> Reply {
    let id = call.id("trial_id");
    let asked = call.update(|job| {
        let trial = job.trials.iter_mut().find(|trial| trial.id == id)?;
        let runs = trial.status == TrialStatus::Running && !job.state.is_final();
        trial.stop |= runs;
        trial.changed |= runs;
        Some(runs)
    })?;
    match asked {
        None => Err(unknown_trial(id)),
        Some(false) => Err(ApiError::of(2858, &["the trial has ended"])),
        Some(true) => ok(json!({"earlystop_trial": id})),
    }
}

/// Returns the importance of each parameter, as soon as two trials have a reward.
pub(crate) fn analysis(call: &ApiCall<'_>) -> Reply {
    let rows: Vec<_> = call.read(|job| {
        let tuning = job.request.tuning.iter();
        let names = tuning.flat_map(|tuning| tuning.space.names());
        let row = |name| {
            let (mean, deviation) = importance(&job.trials, name)?;
            Some(json!([name, format!("{mean:.4}/{deviation:.4}")]))
        };
        names.filter_map(row).collect()
    })?;
    ok(json!({"header": ["parameters", "the mean/std of importance"], "data": rows}))
}

/// Returns the path of the chart of a parameter. The emulator does not draw charts.
pub(crate) fn chart_path(call: &ApiCall<'_>) -> Reply {
    let name = call.id("parameter_name");
    let (known, drawn, path) = call.read(|job| {
        let tuning = job.request.tuning.as_ref();
        (
            tuning.is_some_and(|tuning| tuning.space.names().any(|known| known == name)),
            job.state.is_final() && !job.trials.is_empty(),
            chart_file(&job.request, name),
        )
    })?;
    if !known {
        return Err(ApiError::invalid_parameter(format!("parameter_name {name} is not searched")));
    }
    match path.filter(|_| drawn) {
        Some(path) => ok(json!({"file_path": path})),
        None => Err(ApiError::of(2836, &[])),
    }
}

/// Returns the path of a chart below the log directory or else the first output in OBS, if any.
fn chart_file(request: &JobRequest, name: &str) -> Option<String> {
    let mut outputs = request.outputs.iter();
    let directory = match &request.log_export {
        LogExport::To(path) => path,
        _ => outputs.find_map(|output| match &output.source {
            DataSource::Obs(path) => Some(path),
            DataSource::DataSet { .. } => None,
        })?,
    };
    let directory = directory.to_string();
    let directory = directory.trim_end_matches('/');
    Some(format!("{directory}/{CHARTS}{name}.png"))
}

// ---- tables, whose cells are strings except `config` (SOURCES D-10, D-103) ----

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
fn trials_table(job: &Job, now: Timestamp) -> (Value, Vec<Value>) {
    let rows = job.trials.iter().map(|trial| Row {
        trial,
        report: trial.reports.last(),
        // The emulator may have ended during a trial and not run the job again.
        done: trial.status != TrialStatus::Running || job.lifecycle.settled,
        until: trial.ended.unwrap_or(now),
    });
    table(job, ALL_TRIALS, rows)
}

/// Returns a row per report and, after the trial, repeats the last with `done`, as in the example.
fn trial_rows(job: &Job, trial: &Trial) -> Value {
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

/// Returns each parameter value twice, and the number of the trial, as in the examples.
fn config(trial: &Trial) -> Value {
    let mut config: Map<String, Value> = trial.values.clone();
    config.insert("trial_index".to_owned(), trial.index.into());
    for (name, value) in &trial.values {
        config.insert(format!("param/{name}"), value.clone());
    }
    Value::Object(config)
}
