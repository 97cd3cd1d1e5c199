//! Form that creates a job.

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
}
