//! Addresses of the newest job.

use axum::{
    extract::{Path, RawQuery, State as Shared},
    response::Redirect,
};

use crate::{
    jobs::{query::read, search::Search},
    problem::Problem,
    site::State,
};

/// Redirects `/jobs/@latest` to the page of the newest job.
pub(super) async fn latest(
    Shared(state): Shared<State>,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Problem> {
    redirect(&state, "", query).await
}

/// Redirects the addresses below `/jobs/@latest`, such as that of its logs.
pub(super) async fn below_latest(
    Shared(state): Shared<State>,
    Path(rest): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Problem> {
    // Bytes that an address must encode were decoded.
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
