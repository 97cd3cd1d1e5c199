//! Actions on a job: stop, deletion, change of the description.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State as Shared},
    response::Redirect,
    routing::{get, post},
};

use crate::{
    action::Action,
    display,
    page::{Layout, Page, Section},
    problem::Problem,
    site::{State, UserRequest},
};

/// Confirmation page of an action, which is shown if JavaScript is disabled.
#[derive(Template)]
#[template(path = "job/confirm.html")]
struct ConfirmPage {
    layout: Layout,
    id: String,
    name: String,
    action: Action,
}

pub(crate) fn routes() -> Router<State> {
    let confirm_stop = |id, request| confirm(id, request, Action::Stop);
    let confirm_delete = |id, request| confirm(id, request, Action::Delete);
    Router::new()
        .route("/jobs/{id}/stop", get(confirm_stop).post(stop))
        .route("/jobs/{id}/delete", get(confirm_delete).post(delete))
        .route("/jobs/{id}/description", post(describe))
}

async fn confirm(
    Path(id): Path<String>,
    UserRequest { state, visitor, .. }: UserRequest,
    action: Action,
) -> Result<Page<ConfirmPage>, Problem> {
    let job = state.job(&id).await?;
    let name = display::name(&job).to_owned();
    let title = format!("{} {name}", action.verb());
    Ok(Page(ConfirmPage {
        layout: Layout::new(&state, &visitor, Section::Jobs, &title),
        id: job.id().to_owned(),
        name,
        action,
    }))
}

async fn stop(Shared(state): Shared<State>, Path(id): Path<String>) -> Result<Redirect, Problem> {
    let job = state.job(&id).await?;
    job.terminate().await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id())))
}

async fn delete(Shared(state): Shared<State>, Path(id): Path<String>) -> Result<Redirect, Problem> {
    let job = state.job(&id).await?;
    job.delete().await?;
    Ok(Redirect::to("/jobs"))
}

async fn describe(Path(id): Path<String>, request: UserRequest) -> Result<Redirect, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = state.job(&id).await?;
    // Browsers submit a line break as CRLF.
    let text = fields.get("description").unwrap_or_default();
    job.set_description(text.replace("\r\n", "\n").trim()).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id())))
}
