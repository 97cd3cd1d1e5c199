//! Page with the list of jobs.

// `search` defines the conditions, `query` reads a page of a search, and `view` renders its parts,
// which `list` shows as a page and `stream` sends when they change. `compare` shows jobs side by side.

mod bulk;
mod compare;
mod list;
mod query;
mod search;
mod stream;
mod view;

use axum::{
    Router,
    routing::{get, post},
};

use crate::{action::Action, site::State};

pub(crate) fn routes() -> Router<State> {
    let stop = |headers, request| bulk::change(headers, request, Action::Stop);
    let delete = |headers, request| bulk::change(headers, request, Action::Delete);
    Router::new()
        .route("/jobs", get(list::list))
        .route("/jobs/stream", get(stream::stream))
        .route("/jobs/compare", get(compare::show))
        .route("/jobs/compare/data", get(compare::data))
        .route("/jobs/confirm", get(bulk::confirm))
        .route("/jobs/stop", post(stop))
        .route("/jobs/delete", post(delete))
        .route("/jobs/@latest", get(list::latest))
        .route("/jobs/@latest/{*rest}", get(list::below_latest))
}
