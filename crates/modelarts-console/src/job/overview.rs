//! Overview of a job.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State as Shared},
    routing::get,
};

use crate::{
    access::visitor::Visitor,
    job::frame::{JobFrame, Tab, load},
    page::{Layout, Page, Section},
    problem::Problem,
    site::State,
};

#[derive(Template)]
#[template(path = "job/overview.html")]
struct OverviewPage {
    layout: Layout,
    frame: JobFrame,
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}", get(overview))
}

async fn overview(
    Shared(state): Shared<State>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Page<OverviewPage>, Problem> {
    let job = load(&state, &id).await?;
    let (layout, frame) = JobFrame::of(&state, &visitor, &job, Tab::Overview).await?;
    Ok(Page(OverviewPage { layout, frame }))
}
