//! Page of one job.
//!
//! `frame` contains the parts that tabs share: the header, and the timeline with the diagnosis
//! (`summary`). Each tab is a module with its routes below `/jobs/{id}`. `actions` contains the
//! actions, `followed` the state of the poller, and `stream` sends its changes.

mod actions;
mod events;
pub(crate) mod followed;
pub(crate) mod frame;
pub(crate) mod logs;
pub(crate) mod outputs;
mod overview;
mod request;
mod stream;
mod summary;
mod usage;
pub(crate) mod values;

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .merge(actions::routes())
        .merge(events::routes())
        .merge(logs::routes())
        .merge(outputs::routes())
        .merge(overview::routes())
        .merge(request::routes())
        .merge(stream::routes())
        .merge(usage::routes())
        .merge(values::routes())
}
