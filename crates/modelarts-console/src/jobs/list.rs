//! Page with a list of jobs, and redirects to the newest job.

use askama::Template;
use axum::{
    extract::{Path, RawQuery, State as Shared},
    response::Redirect,
};
use futures::join;

use crate::{
    action::Action,
    jobs::{
        query::{Query, read},
        search::Search,
        view::ListView,
    },
    page::{Layout, Page, Section},
    problem::Problem,
    site::{State, UserRequest},
};

#[derive(Template)]
#[template(path = "jobs/list.html")]
pub(crate) struct ListPage {
    layout: Layout,
    /// Text of the search, as entered.
    search: String,
    /// Text of the search, as in addresses, and the page number.
    canonical: String,
    page: u64,
    search_problem: Option<String>,
    /// Reason why the service did not return the list.
    problem: Option<Problem>,
    view: ListView,
    /// Sentence that is shown if the list is empty.
    empty: String,
    /// `true` if the sentence is followed by a link to the form.
    can_create: bool,
    /// Address of the stream of changes; `None` if the search is invalid or rejected.
    stream: Option<String>,
    address: String,
}

pub(crate) async fn list(request: UserRequest) -> Page<ListPage> {
    let UserRequest { state, visitor, fields } = request;
    let mut page = ListPage {
        layout: Layout::new(&state, &visitor, Section::Jobs, "Jobs"),
        search: fields.get("search").unwrap_or_default().to_owned(),
        canonical: String::new(),
        page: 1,
        search_problem: None,
        problem: None,
        view: ListView::new(&state, &Query::default(), None, None),
        empty: "No jobs.".to_owned(),
        can_create: false,
        stream: None,
        address: "/jobs".to_owned(),
    };
    let query = match Query::parse(&fields) {
        Ok(query) => query,
        Err(problem) => {
            page.search_problem = Some(problem);
            return Page(page);
        }
    };
    page.address = query.address();
    page.canonical = query.search.text();
    page.page = query.page;
    page.empty = match (query.page, query.search.is_empty()) {
        (1, true) => "No jobs yet.",
        (1, false) => "No jobs meet these conditions.",
        _ => "No jobs on this page.",
    }
    .to_owned();
    page.can_create = query == Query::default() && !state.settings.is_read_only;
    let (listing, counts, ()) =
        join!(query.read(&state), query.count(&state), state.compare_clocks());
    page.layout.ahead = state.cached.clock.ahead();
    page.layout.clock_note = state.cached.clock.note();
    let (found, counts) = (listing.as_ref().ok(), counts.ok());
    page.view = ListView::new(&state, &query, found, counts.as_ref());
    match listing {
        Ok(_) => page.stream = Some(page.view.stream_address(&query)),
        Err(problem) if problem.status.is_client_error() => {
            page.search_problem = Some(problem.message);
        }
        Err(problem) => {
            page.problem = Some(problem);
            page.stream = Some(query.stream_address(None));
        }
    }
    Page(page)
}

/// Redirects `/jobs/@latest` to the page of the newest job.
pub(super) async fn latest(
    Shared(state): Shared<State>,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Problem> {
    redirect(&state, "", query).await
}

/// Redirects addresses below `/jobs/@latest`, such as that of the logs, to the newest job.
pub(super) async fn below_latest(
    Shared(state): Shared<State>,
    Path(rest): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Problem> {
    // The path was percent-decoded, and must be encoded again.
    let rest = rest.split('/').map(|segment| {
        let segment = segment.as_bytes();
        percent_encoding::percent_encode(segment, percent_encoding::NON_ALPHANUMERIC).to_string()
    });
    let rest: String = rest.map(|segment| format!("/{segment}")).collect();
    redirect(&state, &rest, query).await
}

async fn redirect(state: &State, rest: &str, query: Option<String>) -> Result<Redirect, Problem> {
    let (jobs, _) = read(state, &Search::default(), 1, 0).await?;
    let job = jobs.first().ok_or_else(|| {
        Problem::not_found("the project has no jobs yet").with_advice("create one first")
    })?;
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok(Redirect::temporary(&format!("/jobs/{}{rest}{query}", job.id())))
}
