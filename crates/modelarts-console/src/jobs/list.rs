//! Page with a list of jobs.

use std::time::SystemTime;

use askama::Template;
use axum::{Router, extract::State as Shared, routing::get};
use futures::TryStreamExt;

use crate::{
    access::visitor::{Fields, Visitor},
    jobs::{row::JobRow, search::Search},
    page::{Layout, Page, Section},
    problem::Problem,
    site::State,
};

/// Number of jobs on a page.
const PAGE_SIZE: u32 = 50;

#[derive(Template)]
#[template(path = "jobs/list.html")]
struct ListPage {
    layout: Layout,
    search: String,
    /// Reason why the search cannot be used.
    problem: Option<String>,
    rows: Vec<JobRow>,
    total: Option<u64>,
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs", get(list))
}

async fn list(
    Shared(state): Shared<State>,
    visitor: Visitor,
    fields: Fields,
) -> Result<Page<ListPage>, Problem> {
    let layout = Layout::new(&state, &visitor, Section::Jobs, "Jobs");
    let text = fields.get("search").unwrap_or_default();
    let mut page = ListPage {
        layout,
        search: text.to_owned(),
        problem: None,
        rows: Vec::new(),
        total: None,
    };
    match Search::parse(text) {
        Err(problem) => page.problem = Some(problem),
        Ok(search) => {
            let mut pages = search.list(&state.client).page_size(PAGE_SIZE).pages();
            if let Some(first) = pages.try_next().await? {
                let now = SystemTime::now();
                page.rows = first
                    .items
                    .iter()
                    .map(|job| JobRow::new(job, now))
                    .collect();
                page.total = first.total;
            }
        }
    }
    Ok(Page(page))
}
