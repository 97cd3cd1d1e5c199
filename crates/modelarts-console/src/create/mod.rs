//! Form that creates a job.
//!
//! `crate::parameters` defines the controls in the order of the console of the service. `form`
//! reads the submitted values, and `plan` creates the job from them, with the files that `drafts`
//! keeps until they are staged. `check` returns the violations by control, and `prefill` returns
//! the form of an existing job.

mod algorithm;
mod browse;
mod check;
mod files;
mod finding;
mod form;
mod input_size;
mod plan;
mod prefill;
mod submit;
mod view;

use axum::{
    Router,
    routing::{delete, get, post},
};

use crate::site::State;

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .route("/create", get(submit::show).post(submit::create))
        .route("/create/algorithms/{id}", get(algorithm::read))
        .route("/create/objects", get(browse::browse))
        .route("/create/check", post(check::check))
        .route("/create/files/{draft}/{slot}", delete(files::clear))
        .route("/create/files/{draft}/{slot}/{*path}", post(files::receive))
        .route("/create/progress/{draft}", get(files::progress))
}
