//! Tab with the logs of a job.
//!
//! `page` renders the page, `lines` returns windows of lines, `search` jumps between hits, and
//! `download` returns complete logs and lines. In addresses and in JSON, line numbers begin with 1.

mod download;
pub(crate) mod lines;
mod page;
pub(crate) mod query;
mod search;

use axum::{Router, routing::get};

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .route("/jobs/{id}/logs", get(page::show))
        .route("/jobs/{id}/logs/lines", get(lines::read))
        .route("/jobs/{id}/logs/search", get(search::find))
        .route("/jobs/{id}/logs/line", get(download::line))
        .route("/jobs/{id}/logs/download", get(download::log))
}
