//! Page of one job.
//!
//! `frame` has what the tabs of a job share: `load`, the header, and the time line with
//! the diagnosis (`summary`). Each tab is a file with its own routes below `/jobs/{id}`. `actions`
//! has the changes, and `stream` sends what the poller of the job (`followed`) finds.

mod actions;
mod events;
pub(crate) mod followed;
pub(crate) mod frame;
mod logs;
mod overview;
mod request;
mod stream;
mod summary;
mod usage;

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .merge(actions::routes())
        .merge(events::routes())
        .merge(logs::routes())
        .merge(overview::routes())
        .merge(request::routes())
        .merge(stream::routes())
        .merge(usage::routes())
}
