//! Handling of a request: authentication, execution of the operation, faults, and request log.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    extract::Request,
    http::{Method, request::Parts},
    response::Response,
};
use bytes::Bytes;
use modelarts_api::Operation;

use crate::{
    accounts::authenticate::{self, CheckedHead},
    api::{
        error::ApiError,
        response::{ApiResponse, new_request_id},
    },
    handlers::{self, call::ApiCall},
    job::event_language::Language,
    server::request_body,
    state::EmulatorState,
    traffic::{faults::Fault, request_log::Exchange},
};

#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Operation(&'static Operation),
    /// An API path with an undocumented method.
    WrongMethod,
    Unknown,
}

pub(super) async fn serve(
    state: Arc<EmulatorState>,
    target: Target,
    ids: HashMap<String, String>,
    request: Request,
) -> Response {
    let request_id = new_request_id();
    let (parts, body) = request.into_parts();
    // Axum accepts HEAD on GET routes, but the service does not document HEAD.
    let target = match target {
        Target::Operation(_) if parts.method == Method::HEAD => Target::WrongMethod,
        target => target,
    };
    let mut given = Bytes::new();
    let answer = async {
        let checked = check_head(&state, target, &parts)?;
        given = request_body::read(body).await?;
        let user = checked.check_body(&state.accounts, state.clock.now(), &parts, &given)?;
        respond(&state, target, (user, &ids), &parts, &given, &request_id).await
    };
    let answer = answer.await;
    let answer = answer.unwrap_or_else(|error| ApiResponse::error(&error, &request_id));
    if let Some(observer) = &state.traffic.observer {
        observer(&Exchange {
            operation: match target {
                Target::Operation(operation) => Some(operation.id),
                Target::WrongMethod | Target::Unknown => None,
            },
            method: parts.method.as_str(),
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            request: &given,
            status: answer.status().as_u16(),
            answer: &answer.bytes(),
            by_fault: answer.by_fault,
        });
    }
    tracing::info!(
        method = %parts.method,
        path = parts.uri.path(),
        status = answer.status().as_u16(),
        cut = answer.cut.is_some(),
        request_id,
    );
    answer.with_request_id(&request_id)
}

fn not_modelled(parts: &Parts) -> ApiError {
    let path = parts.uri.path();
    let mut error = ApiError::not_modelled(format!("{} {path}", parts.method));
    if path.contains("/ft-") {
        error.message += NO_FINE_TUNING;
    }
    error
}

/// Part of an error message: the reason why the operations on fine-tuning are not implemented.
const NO_FINE_TUNING: &str = " No source tells which products and metrics a fine-tuning job has.";

/// Checks the target and then the credentials, like the gateway of the service.
fn check_head<'a>(
    state: &EmulatorState,
    target: Target,
    parts: &'a Parts,
) -> Result<CheckedHead<'a>, ApiError> {
    let path = parts.uri.path();
    if !path.starts_with("/v2/") {
        return Err(not_modelled(parts));
    }
    let there = match target {
        Target::Operation(operation) => state.offer.cloud.has(operation),
        Target::Unknown => state.offer.cloud.may_have(path),
        Target::WrongMethod => state.offer.cloud.has_path(path),
    };
    if !there {
        return Err(ApiError::no_such_api());
    }
    authenticate::check_head(&state.accounts, state.clock.now(), parts)
}

async fn respond(
    state: &Arc<EmulatorState>,
    target: Target,
    (user, ids): (usize, &HashMap<String, String>),
    parts: &Parts,
    body: &Bytes,
    request_id: &str,
) -> Result<ApiResponse, ApiError> {
    let user = state.accounts.user(user);
    let project = parts.uri.path().split('/').nth(2).unwrap_or_default();
    if project != user.project_id {
        return Err(ApiError::of(2786, &[project, &user.project_id]));
    }
    let operation = match target {
        Target::Operation(operation) => operation,
        Target::WrongMethod => return Err(ApiError::of(2803, &[])),
        Target::Unknown => return Err(not_modelled(parts)),
    };

    let call = ApiCall {
        state,
        user,
        ids,
        query: parts.uri.query().unwrap_or_default(),
        body,
        language: Language::of(&parts.headers),
    };
    let answer = perform(operation, &call, request_id).await;
    let log = &state.traffic.request_log;
    log.add(operation.id, &parts.uri, body, answer.status());
    Ok(answer)
}

/// Executes the operation and applies its fault. Some faults replace the operation instead.
async fn perform(
    operation: &'static Operation,
    call: &ApiCall<'_>,
    request_id: &str,
) -> ApiResponse {
    let state = call.state;
    state.traffic.request_counts.add_received(operation.id);
    let fault = state.traffic.faults.take(operation.id);
    let replaced = fault.as_ref().and_then(|fault| fault.replacement(call.now()));
    if let Some(mut answer) = replaced {
        answer.by_fault = true;
        return answer;
    }
    let executed = handlers::execute(operation, call).await;
    if executed.is_ok() {
        state.traffic.request_counts.add_executed(operation.id);
    }
    let answer = executed.unwrap_or_else(|error| ApiResponse::error(&error, request_id));
    match fault {
        None => answer,
        Some(Fault::Delay { ms }) => {
            state.clock.sleep(Duration::from_millis(ms)).await;
            answer
        }
        Some(fault) => {
            let mut answer = fault.alter(answer);
            answer.by_fault = true;
            answer
        }
    }
}
