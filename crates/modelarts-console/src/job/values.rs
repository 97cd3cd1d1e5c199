//! Tab with the values that the code of a job prints, as curves.

use askama::Template;
use axum::{Json, Router, extract::Path, routing::get};
use modelarts_ext::Job;
use serde::Serialize;

use crate::{
    access::visitor::Fields,
    job::{
        followed::FollowedJob,
        frame::{JobFrame, Tab},
        logs::query::FollowedLog,
    },
    live::curves::{Curve, CurveChart, charts},
    page::{Layout, Page, Section, fragment},
    problem::Problem,
    site::{State, UserRequest},
    trials::{RankedTrial, ranked, reward},
};

/// Maximum number of trials that are shown.
const MAX_TRIALS: usize = 500;

#[derive(Template)]
#[template(path = "job/values.html")]
struct ValuesPage {
    layout: Layout,
    frame: JobFrame,
    tasks: Vec<String>,
    choice: String,
    tables: String,
    trials: Option<TrialTable>,
}

/// Trials of a hyper-parameter search, the best first.
struct TrialTable {
    /// Metric of the search and its direction, such as `accuracy, greatest is best`.
    reward: String,
    columns: Vec<String>,
    /// Reason why the trials cannot be read.
    problem: Option<String>,
    rows: Vec<(RankedTrial, Vec<String>)>,
}

impl TrialTable {
    /// Reads the trials. Returns `None` if the job is no search.
    async fn read(job: &Job) -> Option<Self> {
        let reward = reward(job)?;
        let (mut trials, problem) = match ranked(job).await {
            Ok(trials) => (trials, None),
            Err(error) => (Vec::new(), Some(Problem::from(error).sentence())),
        };
        trials.truncate(MAX_TRIALS);
        let mut columns: Vec<String> = Vec::new();
        for (name, _) in trials.iter().flat_map(|trial| &trial.values) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let rows = trials.into_iter().map(|trial| {
            let cell = |name: &String| {
                let value = trial.values.iter().find(|(known, _)| known == name)?;
                Some(value.1.as_str().map_or_else(|| value.1.to_string(), str::to_owned))
            };
            let cells = columns.iter().map(|name| cell(name).unwrap_or_default()).collect();
            (trial, cells)
        });
        let best = match reward.mode.as_ref().map(|mode| mode.as_str()) {
            Some("max") => "the greatest is the best",
            _ => "the least is the best",
        };
        let name = reward.name.clone().unwrap_or_default();
        Some(Self { reward: format!("{name}, {best}"), rows: rows.collect(), columns, problem })
    }
}

/// Values of a worker.
#[derive(Serialize)]
struct ValuesView {
    charts: Vec<CurveChart>,
    tables: String,
    /// `true` if the log is complete.
    has_ended: bool,
}

#[derive(Template)]
#[template(path = "curves.html")]
struct CurveTables<'a> {
    charts: &'a [CurveChart],
    has_ended: bool,
    /// Reasons why logs cannot be read.
    problems: Vec<String>,
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}/values", get(show)).route("/jobs/{id}/values/data", get(data))
}

async fn show(Path(id): Path<String>, request: UserRequest) -> Result<Page<ValuesPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = FollowedJob::follow(&state, &id).await?.job;
    let choice = task(&job, &fields)?;
    let view = view(&state, &job, &choice).await?;
    let (layout, frame) = JobFrame::of(&state, &visitor, &job, Tab::Values).await?;
    let (tasks, trials) = (job.tasks().to_vec(), TrialTable::read(&job).await);
    Ok(Page(ValuesPage { layout, frame, tasks, choice, tables: view.tables, trials }))
}

async fn data(Path(id): Path<String>, request: UserRequest) -> Result<Json<ValuesView>, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = FollowedJob::follow(&state, &id).await?.job;
    Ok(Json(view(&state, &job, &task(&job, &fields)?).await?))
}

/// Returns the selected worker, by default the first one.
fn task(job: &Job, fields: &Fields) -> Result<String, Problem> {
    let known = job.tasks();
    match fields.get("task") {
        Some(task) if known.iter().any(|known| known == task) => Ok(task.to_owned()),
        Some(task) => Err(Problem::invalid(format!("the job has no worker {task:?}"))),
        None => Ok(known.first().cloned().unwrap_or_default()),
    }
}

async fn view(state: &State, job: &Job, task: &str) -> Result<ValuesView, Problem> {
    let (curves, has_ended, problems) = match curves(state, job, task).await {
        Ok((curves, has_ended)) => (curves, has_ended, Vec::new()),
        Err(problem) => (Vec::new(), false, vec![problem.sentence()]),
    };
    let charts = charts(&[(task.to_owned(), curves)]);
    let tables = render_tables(&charts, has_ended, problems)?;
    Ok(ValuesView { charts, tables, has_ended })
}

/// Renders the last, least and greatest values of charts.
pub(crate) fn render_tables(
    charts: &[CurveChart],
    has_ended: bool,
    problems: Vec<String>,
) -> Result<String, Problem> {
    fragment(&CurveTables { charts, has_ended, problems })
}

/// Returns the values in the log of a worker, and `true` if the log is complete.
pub(crate) async fn curves(
    state: &State,
    job: &Job,
    task: &str,
) -> Result<(Vec<Curve>, bool), Problem> {
    let log = FollowedLog::follow(state, job).await?;
    if let Some(problem) = &log.state.problem {
        return Err(problem.clone());
    }
    let has_ended = log.state.has_ended;
    let Some(view) = log.spool.view(task) else { return Ok((Vec::new(), has_ended)) };
    let curves = log.read(move |spool| spool.curves(Some(view))).await?;
    Ok((curves, has_ended))
}
