//! Tab with the request that creates the job again: command, Rust program, curl and body.

use askama::Template;
use axum::{Router, extract::Path, routing::get};

use crate::{
    access::visitor::Secrets,
    job::frame::{JobFrame, Tab},
    page::{Layout, Page, Section},
    problem::Problem,
    site::{State, UserRequest},
    snippets::Snippets,
};

/// Maximum length of the original name in that of a further job; a name has at most 64 characters.
const MAX_STEM: usize = 62;

#[derive(Template)]
#[template(path = "job/request.html")]
struct RequestPage {
    layout: Layout,
    frame: JobFrame,
    secrets: Secrets,
    /// Identifier, title and text of each form of the request.
    forms: [(&'static str, &'static str, String); 4],
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}/request", get(request))
}

async fn request(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Page<RequestPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = state.job(&id).await?;
    let (layout, frame) = JobFrame::of(&state, &visitor, &job, Tab::Request).await?;
    let mut body = job.copy_as(copy_name(job.name())).await?.body();
    let mut secrets = Secrets::of(&fields);
    secrets.apply(&mut body);
    let snippets = Snippets::new(&state.client, state.settings.context.as_deref(), &body);
    Ok(Page(RequestPage {
        layout,
        frame,
        secrets,
        forms: [
            ("command", "Command", snippets.command),
            ("rust", "Rust", snippets.program),
            ("curl", "curl", snippets.curl),
            ("body", "Body of the request", snippets.body),
        ],
    }))
}

/// Returns the name of a further job: the service accepts each name once.
fn copy_name(name: &str) -> String {
    let stem: String = name.chars().take(MAX_STEM).collect();
    format!("{stem}-2")
}
