//! Page of one job.
//!
//! `frame` has what the tabs of a job share: `load`, the header (`head`), and the time line with the
//! diagnosis (`summary`). Each tab is a file with its own routes below `/jobs/{id}`. `actions` has
//! the changes.

mod actions;
pub(crate) mod frame;
pub(crate) mod head;
mod overview;
mod request;
mod summary;
mod usage;

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .merge(actions::routes())
        .merge(overview::routes())
        .merge(request::routes())
        .merge(usage::routes())
}
