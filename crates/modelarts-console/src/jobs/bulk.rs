//! Stop and deletion of several jobs, after a confirmation.

use std::collections::HashSet;

use askama::Template;
use axum::{
    Json,
    http::HeaderMap,
    response::{IntoResponse, Redirect, Response},
};
use futures::{StreamExt, stream};
use modelarts_ext::{Error, Job, jobs::JobHandle, types::Phase};
use serde::Serialize;

use crate::{
    access::visitor::Fields,
    action::{Action, can_stop},
    display,
    jobs::query::Query,
    page::{Layout, Page, Section, is_script},
    problem::Problem,
    site::{State, UserRequest},
};

const MAX_JOBS: usize = 100;
const CONCURRENT: usize = 4;

/// Reads the action from the field `action`.
fn action_of(fields: &Fields) -> Result<Action, Problem> {
    let actions = [Action::Stop, Action::Delete];
    let name = fields.get("action").unwrap_or_default();
    let found = actions.into_iter().find(|action| action.name() == name);
    found.ok_or_else(|| Problem::invalid(format!("action must be stop or delete, and is {name:?}")))
}

/// Performs an action on a job. Returns the effect as a verb phrase for messages.
async fn run(action: Action, job: &JobHandle) -> Result<&'static str, Error> {
    match action {
        Action::Stop => stop(job).await,
        Action::Delete => match job.delete().await {
            Err(error) if error.is_not_found() => Ok("does not exist any more"),
            result => result.map(|()| "is being deleted"),
        },
    }
}

/// Stops a job. A job that has ended or is being stopped is not an error.
async fn stop(job: &JobHandle) -> Result<&'static str, Error> {
    let rejection = match job.terminate().await {
        Ok(_) => return Ok("is being stopped"),
        Err(error) if error.is_conflict() => error,
        Err(error) => return Err(error),
    };
    match job.get().await {
        Ok(job) if job.is_final() => Ok("had ended before"),
        Ok(job) if job.phase() == Phase::Terminating => Ok("is being stopped"),
        _ => Err(rejection),
    }
}

/// Returns the handles of the jobs in the fields `id`, without duplicates. Sends no request.
fn jobs(state: &State, fields: &Fields) -> Result<Vec<JobHandle>, Problem> {
    let mut known = HashSet::new();
    let ids: Vec<&str> = fields.all("id").filter(|id| known.insert(*id)).collect();
    if ids.is_empty() {
        return Err(Problem::invalid("no job is selected")
            .with_advice("go back and select the jobs in the list"));
    }
    if ids.len() > MAX_JOBS {
        return Err(Problem::invalid(format!(
            "{} jobs are selected; must be at most {MAX_JOBS}",
            ids.len()
        )));
    }
    let jobs = ids.iter().map(|id| state.client.training_jobs().job(id));
    Ok(jobs.collect::<Result<_, Error>>()?)
}

/// Returns the address of the list from which the request comes. The address is built from the
/// search and the page, so it is always an address of the list.
fn list_address(fields: &Fields) -> String {
    Query::parse(fields).unwrap_or_default().address()
}

/// A job on the confirmation page.
struct Candidate {
    id: String,
    name: String,
    /// Style class, symbol and name of the phase; `None` if the job cannot be read.
    phase: Option<(&'static str, &'static str, String)>,
    /// Reason why the action has no effect, or why the job cannot be read; may be empty.
    note: String,
}

impl Candidate {
    fn new(action: Action, id: &str, read: Result<Job, Error>) -> Self {
        let (name, phase, note) = match read {
            Ok(job) => {
                let note = match action {
                    Action::Stop if job.is_final() => "has ended",
                    Action::Stop if !can_stop(&job) => "is being stopped",
                    _ => "",
                };
                let (style, symbol) = display::phase_style(&job.phase());
                let phase = (style, symbol, job.phase().to_string());
                (display::name(&job).to_owned(), Some(phase), note.to_owned())
            }
            Err(error) => (id.to_owned(), None, error.to_string()),
        };
        Self { name, id: id.to_owned(), phase, note }
    }
}

#[derive(Template)]
#[template(path = "jobs/confirm.html")]
pub(super) struct ConfirmPage {
    layout: Layout,
    action: Action,
    jobs: Vec<Candidate>,
    /// Search, page number and columns of the list.
    search: String,
    page: String,
    columns: String,
    back: String,
}

/// Renders the confirmation page of an action, which is shown if JavaScript is disabled.
pub(super) async fn confirm(request: UserRequest) -> Result<Page<ConfirmPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    state.check_writable()?;
    let action = action_of(&fields)?;
    let handles = jobs(&state, &fields)?;
    let candidates = stream::iter(handles)
        .map(|job| async move { Candidate::new(action, job.id(), job.get().await) })
        .buffered(CONCURRENT);
    let title = format!("{} jobs", action.verb());
    Ok(Page(ConfirmPage {
        layout: Layout::new(&state, &visitor, Section::Jobs, &title),
        action,
        jobs: candidates.collect().await,
        search: fields.get("search").unwrap_or_default().to_owned(),
        page: fields.get("page").unwrap_or_default().to_owned(),
        columns: fields.get("columns").unwrap_or_default().to_owned(),
        back: list_address(&fields),
    }))
}

#[derive(Serialize)]
struct Outcome {
    id: String,
    /// Effect on the job; `None` if the action failed.
    result: Option<&'static str>,
    error: Option<Problem>,
}

#[derive(Template)]
#[template(path = "jobs/results.html")]
struct ResultsPage {
    layout: Layout,
    outcomes: Vec<Outcome>,
    failures: usize,
    back: String,
}

/// Performs the action on all jobs of the fields `id`, and continues after failures. If no action
/// fails, the response to a form redirects to the list.
pub(super) async fn change(
    headers: HeaderMap,
    UserRequest { state, visitor, fields }: UserRequest,
    action: Action,
) -> Result<Response, Problem> {
    let handles = jobs(&state, &fields)?;
    let outcomes = stream::iter(handles).map(|job| async move {
        let (result, error) = match run(action, &job).await {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(Problem::from(error))),
        };
        let id = job.id().to_owned();
        Outcome { id, result, error }
    });
    let outcomes: Vec<Outcome> = outcomes.buffered(CONCURRENT).collect().await;
    if is_script(&headers) {
        return Ok(Json(serde_json::json!({ "results": outcomes })).into_response());
    }
    let failures = outcomes.iter().filter(|outcome| outcome.error.is_some());
    let (failures, back) = (failures.count(), list_address(&fields));
    if failures == 0 {
        return Ok(Redirect::to(&back).into_response());
    }
    let title = match action {
        Action::Stop => "Jobs that were not stopped",
        Action::Delete => "Jobs that were not deleted",
    };
    let page = ResultsPage {
        layout: Layout::new(&state, &visitor, Section::Jobs, title),
        outcomes,
        failures,
        back,
    };
    Ok(Page(page).into_response())
}
