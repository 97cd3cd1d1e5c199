//! Tab with the settings of a job.

mod settings;

use askama::Template;
use axum::{Json, Router, extract::Path, routing::get};
use modelarts_ext::Job;
use serde::Serialize;

use crate::{
    access::visitor::{Fields, Secrets, Visitor},
    action::MAX_DESCRIPTION,
    job::{
        frame::{JobFrame, Tab, load_shared},
        overview::settings::{Channel, Group, RunRow, Value},
        summary,
    },
    page::{Layout, Page, Section, fragment},
    problem::Problem,
    site::{State, UserRequest},
};

#[derive(Template)]
#[template(path = "job/overview.html")]
struct OverviewPage {
    layout: Layout,
    frame: JobFrame,
    settings: String,
}

#[derive(Template)]
#[template(path = "job/settings.html")]
struct SettingsView {
    id: String,
    description: String,
    groups: Vec<Group>,
    inputs: Vec<Channel>,
    outputs: Vec<Channel>,
    parameters: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    secrets: Secrets,
    runs: Vec<RunRow>,
    /// Tags as `KEY=VALUE, KEY=VALUE`; `None` if the service does not list them.
    tags: Option<String>,
    /// Priority of a job that waits in a dedicated pool, if it can be changed.
    priority: Option<i64>,
    /// `true` if the job has code of its own, which an algorithm can store.
    can_save: bool,
    csrf: String,
    is_read_only: bool,
    max_description: usize,
}

/// Rendered parts of the page that scripts replace when the job has changed.
#[derive(Serialize)]
struct Parts {
    summary: String,
    settings: String,
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}", get(overview)).route("/jobs/{id}/parts", get(parts))
}

async fn overview(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Page<OverviewPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = state.job(&id).await?;
    let (layout, frame) = JobFrame::of(&state, &visitor, &job, Tab::Overview).await?;
    let settings = render_settings(&state, &visitor, &job, &fields).await?;
    Ok(Page(OverviewPage { layout, frame, settings }))
}

async fn parts(Path(id): Path<String>, request: UserRequest) -> Result<Json<Parts>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = load_shared(&state, &id).await?;
    Ok(Json(Parts {
        summary: summary::render(&state, &job, true).await?,
        settings: render_settings(&state, &visitor, &job, &fields).await?,
    }))
}

async fn render_settings(
    state: &State,
    visitor: &Visitor,
    job: &Job,
    fields: &Fields,
) -> Result<String, Problem> {
    let mut secrets = Secrets::of(fields);
    let algorithm = settings::algorithm(job, &mut secrets)?;
    let tags = state.cached.facts.tags(job).await;
    let metadata = job.details().metadata.as_deref();
    let description = metadata.and_then(|metadata| metadata.description.clone());
    fragment(&SettingsView {
        id: job.id().to_owned(),
        description: description.unwrap_or_default(),
        groups: settings::groups(job, &algorithm, tags.as_deref().unwrap_or_default()),
        inputs: settings::inputs(&algorithm),
        outputs: settings::outputs(&algorithm),
        parameters: settings::parameters(&algorithm),
        environment: settings::environment(&algorithm),
        secrets,
        runs: settings::runs(job),
        tags: tags.as_deref().map(settings::tag_text),
        priority: settings::priority(job).filter(|_| !state.settings.is_read_only),
        can_save: algorithm.id.is_none() && algorithm.code_dir.is_some(),
        csrf: visitor.csrf.clone(),
        is_read_only: state.settings.is_read_only,
        max_description: MAX_DESCRIPTION,
    })
}
