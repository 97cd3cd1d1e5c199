//! Page of one job.

mod events;
pub(crate) mod followed;
mod logs;
mod stream;

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .merge(events::routes())
        .merge(logs::routes())
        .merge(stream::routes())
}
