//! Handlers of the trials of a search and of its hyper-parameter analysis.

use serde_json::json;

use crate::{
    api::error::ApiError,
    files::obs_path::CHARTS,
    handlers::{
        call::{ApiCall, ApiResult, ok},
        jobs::trial_table,
    },
    job::{
        channel::DataSource,
        request::{JobRequest, LogExport},
    },
    tuning::{importance::importance, settings::documented_algorithms, trial::TrialStatus},
};

/// Default page size, as in an example (SOURCES D-58).
const PAGE: usize = 50;

pub(crate) fn algorithms() -> ApiResult {
    let rows = documented_algorithms();
    ok(json!({"search_algo_count": rows.len(), "search_algo_list": rows}))
}

/// Returns a page of the table of trials. The table of a job without a search is empty.
pub(crate) fn list(call: &ApiCall<'_>) -> ApiResult {
    let limit = match call.number("limit", 0..=usize::MAX, 0)? {
        0 => PAGE,
        limit => limit,
    };
    let page = call.number("offset", 0..=usize::MAX, 0)?;
    let now = call.now();
    let (header, rows) = call.read(|job| trial_table::trials_table(job, now))?;
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

pub(crate) fn show(call: &ApiCall<'_>) -> ApiResult {
    let id = call.id("trial_id");
    let table = call.read(|job| {
        let trial = job.trials.iter().find(|trial| trial.id == id);
        trial.map(|trial| trial_table::trial_rows(job, trial))
    })?;
    ok(table.ok_or_else(|| unknown_trial(id))?)
}

/// Requests the end of a trial. The trial ends shortly afterwards, and the search continues.
pub(crate) fn stop(call: &ApiCall<'_>) -> ApiResult {
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

/// Returns a row for each parameter, as soon as two trials have a reward.
pub(crate) fn analysis(call: &ApiCall<'_>) -> ApiResult {
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

/// Returns the path of a parameter's chart, which the emulator does not draw.
pub(crate) fn chart_path(call: &ApiCall<'_>) -> ApiResult {
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

/// Returns a path below the log directory or, without one, below the first output in OBS.
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
