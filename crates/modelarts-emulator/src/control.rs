//! The routes under `/_emulator`, for testers. They need no signature, but the same `Host` and
//! `Origin` as all others.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::core::Core;
use crate::error::ApiError;
use crate::faults::FaultRule;
use crate::routes::new_request_id;

pub(crate) fn routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/_emulator/health", get(health))
        .route(
            "/_emulator/faults",
            get(list_faults).post(add_fault).delete(clear_faults),
        )
        .route("/_emulator/requests", get(requests))
}

async fn health(State(core): State<Arc<Core>>) -> Response {
    let jobs = core.store.all(|jobs| jobs.count());
    reply(Ok(Answer::json(
        StatusCode::OK,
        json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "jobs": jobs}),
    )))
}

async fn list_faults(State(core): State<Arc<Core>>) -> Response {
    reply(Ok(Answer::json(StatusCode::OK, json!(core.faults.list()))))
}

async fn add_fault(State(core): State<Arc<Core>>, body: Bytes) -> Response {
    let rule = serde_json::from_slice::<Value>(&body)
        .map_err(|error| error.to_string())
        .and_then(|json| FaultRule::from_json(&json))
        .and_then(|rule| core.faults.add(rule.clone()).map(|()| rule));
    reply(match rule {
        Ok(rule) => Ok(Answer::json(StatusCode::CREATED, json!(rule))),
        Err(sentence) => Err(ApiError::bad_control_request(sentence)),
    })
}

async fn clear_faults(State(core): State<Arc<Core>>) -> Response {
    core.faults.clear();
    reply(Ok(Answer::empty(StatusCode::NO_CONTENT)))
}

async fn requests(State(core): State<Arc<Core>>) -> Response {
    reply(Ok(Answer::json(StatusCode::OK, json!(core.counts.all()))))
}

fn reply(result: Result<Answer, ApiError>) -> Response {
    let request_id = new_request_id();
    let answer = result.unwrap_or_else(|error| Answer::error(&error, &request_id));
    answer.into_response(&request_id)
}
