//! Tab with the resource usage of a job: charts, tables and a CSV file.

mod series;

use std::time::Duration;

use askama::Template;
use axum::{
    Json, Router,
    extract::Path,
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use modelarts_ext::Job;
use serde::Serialize;

use crate::{
    access::visitor::Fields,
    display,
    job::{
        frame::{JobFrame, Tab, load_shared},
        usage::series::{Chart, charts},
    },
    page::{Layout, Page, Section, attachment, fragment},
    problem::Problem,
    site::{State, UserRequest},
};

/// Value of the field `task` that selects all workers.
const ALL: &str = "all";
/// Maximum number of workers that are read if all workers are selected.
const MAX_TASKS: usize = 16;
/// Running time below which a job may have no value.
const SHORT: Duration = Duration::from_secs(120);
/// Pause between two refreshes of the page, in seconds. The service reports a value per minute.
const REFRESH: u64 = 15;

#[derive(Template)]
#[template(path = "job/usage.html")]
struct UsagePage {
    layout: Layout,
    frame: JobFrame,
    tasks: Vec<String>,
    /// Selected worker, or [`ALL`].
    choice: String,
    has_more: bool,
    /// Pause between two refreshes in seconds; 0 if the job has ended.
    refresh: u64,
    tables: String,
}

#[derive(Template)]
#[template(path = "job/usage_tables.html")]
struct UsageTables<'a> {
    id: &'a str,
    choice: &'a str,
    charts: &'a [Chart],
    notes: Vec<String>,
    problem: Option<&'a Problem>,
    /// Number of minutes per row of the tables of values.
    minutes: usize,
}

/// Usage of the selected workers.
#[derive(Serialize)]
struct UsageView {
    #[serde(skip)]
    choice: String,
    charts: Vec<Chart>,
    tables: String,
}

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .route("/jobs/{id}/usage", get(usage))
        .route("/jobs/{id}/usage/data", get(data))
        .route("/jobs/{id}/usage/file", get(file))
}

async fn usage(Path(id): Path<String>, request: UserRequest) -> Result<Page<UsagePage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = state.job(&id).await?;
    let selection = select(&state, &job, &fields).await?;
    let (layout, frame) = JobFrame::of(&state, &visitor, &job, Tab::Usage).await?;
    Ok(Page(UsagePage {
        layout,
        frame,
        tasks: job.tasks().to_vec(),
        choice: selection.choice,
        has_more: job.tasks().len() > MAX_TASKS,
        refresh: if job.is_final() { 0 } else { REFRESH },
        tables: selection.tables,
    }))
}

async fn data(Path(id): Path<String>, request: UserRequest) -> Result<Json<UsageView>, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = load_shared(&state, &id).await?;
    Ok(Json(select(&state, &job, &fields).await?))
}

/// Returns the values of the selected workers as a CSV file.
async fn file(Path(id): Path<String>, request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = state.job(&id).await?;
    let tasks = tasks(&job, fields.get("task"))?.1;
    let mut text = "time,task,metric,percent\n".to_owned();
    for task in tasks {
        let usage = state.cached.facts.usage(&job, &task).await;
        for one in usage.as_ref().as_ref().map_err(Clone::clone)? {
            for (time, value) in one.values() {
                let (task, metric) = (field(&task), field(one.metric()));
                text += &format!("{time},{task},{metric},{value}\n");
            }
        }
    }
    let name = attachment(&format!("usage-{}.csv", job.id()));
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, text).into_response())
}

/// Returns a text as a CSV field, in quotes if necessary.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Returns the selection, by default the first worker, and the names of the selected workers.
fn tasks(job: &Job, choice: Option<&str>) -> Result<(String, Vec<String>), Problem> {
    let known = job.tasks();
    match choice {
        Some(ALL) => {
            let shown = known.iter().take(MAX_TASKS).cloned();
            Ok((ALL.to_owned(), shown.collect()))
        }
        Some(choice) if known.iter().any(|task| task == choice) => {
            Ok((choice.to_owned(), vec![choice.to_owned()]))
        }
        Some(choice) if !known.is_empty() => Err(Problem::invalid(format!(
            "the job has no worker {choice:?}; it must be {ALL} or one of its {} workers, from {} \
             to {}",
            known.len(),
            known.first().map_or("", String::as_str),
            known.last().map_or("", String::as_str)
        ))),
        _ => {
            let first = known.first().cloned();
            Ok((first.clone().unwrap_or_default(), first.into_iter().collect()))
        }
    }
}

async fn select(state: &State, job: &Job, fields: &Fields) -> Result<UsageView, Problem> {
    let (choice, tasks) = tasks(job, fields.get("task"))?;
    let reads = tasks.iter().map(|task| state.cached.facts.usage(job, task));
    let usages = futures::future::join_all(reads).await;
    let mut series = Vec::new();
    let mut problem = None;
    for (task, usage) in tasks.iter().zip(&usages) {
        match &**usage {
            Ok(values) => series.extend(values.iter().map(|one| (task.as_str(), one))),
            Err(failed) => problem = Some(failed),
        }
    }
    let (charts, blank) = charts(&series, choice == ALL);
    let mut notes = Vec::new();
    if charts.is_empty() && problem.is_none() {
        notes.push(match job.is_final() {
            true if job.started_at().is_none() => {
                "The job never ran, so there are no values.".to_owned()
            }
            true => match job.time_run().filter(|ran| *ran < SHORT).map(display::duration) {
                Some(ran) => format!(
                    "The service measures the usage once a minute, and has no value of this job, \
                     which ran {ran}."
                ),
                None => "The service has no values of this job.".to_owned(),
            },
            false => "There are no values yet. The service has the first ones a few minutes after \
                      the start of the job."
                .to_owned(),
        });
    } else if !blank.is_empty() {
        notes.push(format!(
            "No values of {}: the machine has no such device, or the service has no values yet.",
            blank.join(", ")
        ));
    }
    let tables = fragment(&UsageTables {
        id: job.id(),
        choice: &choice,
        notes,
        problem,
        minutes: charts.iter().map(Chart::minutes_of_rows).max().unwrap_or(1),
        charts: &charts,
    })?;
    Ok(UsageView { choice, charts, tables })
}
