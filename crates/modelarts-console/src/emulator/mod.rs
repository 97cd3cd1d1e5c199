//! Control of the emulator: clock, faults, requests.

pub(crate) mod administration;

use axum::Router;

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
}
