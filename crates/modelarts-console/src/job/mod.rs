//! Page of one job.
//!
//! `frame` has what the tabs of a job share: `load`, the header and the tabs. Each tab is a file with
//! its own routes below `/jobs/{id}`.

pub(crate) mod frame;
pub(crate) mod head;
mod overview;

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new().merge(overview::routes())
}
