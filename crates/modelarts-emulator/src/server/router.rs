//! From a request to an answer: the table of routes, the gate before them, the faults behind it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};
use bytes::Bytes;
use uuid::Uuid;

use crate::{
    accounts::authenticate::{self, Admitted},
    api::{error::ApiError, response::ApiResponse},
    catalog::operations::Operation,
    handlers::{self, call::ApiCall},
    job::event_language::Language,
    server::{admin, host_guard, iam, request_body},
    state::EmulatorState,
    traffic::{faults::Fault, observer::Exchange, request_log::LoggedRequest},
};

/// Words that stand where ids stand (api-facts.md 1b): never taken for one.
const WORDS: [&str; 3] = ["batch-delete", "autosearch", "autosearch/{*rest}"];

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    For(Operation),
    /// A path of the API with a method that no document has there.
    WrongMethod,
    Unknown,
}

/// All routes. What is not in the table is answered with 501.
pub(crate) fn router(core: Arc<EmulatorState>) -> Router {
    let not_modelled = |State(core): State<Arc<EmulatorState>>, request: Request| {
        serve(core, Asked::Unknown, HashMap::new(), request)
    };
    let wrong_method = |State(core): State<Arc<EmulatorState>>, request: Request| {
        serve(core, Asked::WrongMethod, HashMap::new(), request)
    };
    let mut router = Router::new();
    for operation in Operation::ALL {
        let operation = *operation;
        let does = move |State(core): State<Arc<EmulatorState>>,
                         ids: Result<Path<HashMap<String, String>>, PathRejection>,
                         request: Request| {
            let known = match ids {
                Ok(_) => Asked::For(operation),
                Err(_) => Asked::Unknown,
            };
            let ids = ids.map(|Path(ids)| ids).unwrap_or_default();
            serve(core, known, ids, request)
        };
        let method = match operation.method() {
            "GET" => MethodFilter::GET,
            "PUT" => MethodFilter::PUT,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        let path = format!("/v2/{{project_id}}{}", operation.path());
        router = router.route(&path, on(method, does));
        // The tutorial writes these paths so (domain.md section 1).
        if let Some(rest) = operation.path().strip_prefix("/training-job-")
            && ["engines", "flavors"].contains(&rest)
        {
            let path = format!("/v2/{{project_id}}/job/training-job-{rest}");
            router = router.route(&path, on(method, does));
        }
    }
    for word in WORDS {
        let path = format!("/v2/{{project_id}}/training-jobs/{word}");
        let taken = Operation::ALL
            .iter()
            .any(|operation| format!("/v2/{{project_id}}{}", operation.path()) == path);
        if !taken {
            router = router.route(&path, any(not_modelled));
        }
    }
    router
        .merge(admin::routes())
        .merge(iam::routes())
        .fallback(not_modelled)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&core),
            tell_what_is_stored,
        ))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&core),
            keep_web_pages_out,
        ))
        .with_state(core)
}

async fn keep_web_pages_out(
    State(core): State<Arc<EmulatorState>>,
    request: Request,
    next: Next,
) -> Response {
    match host_guard::check(request.uri(), request.headers(), core.address.port()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::warn!(method = %request.method(), path = request.uri().path(), "refused: not from this machine's programs");
            let request_id = new_request_id();
            ApiResponse::error(&refusal, &request_id).into_response(&request_id)
        }
    }
}

/// No answer leaves before what it tells of, and what was changed for it, will survive.
async fn tell_what_is_stored(
    State(core): State<Arc<EmulatorState>>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    match core.store.database.committed().await {
        Ok(()) => response,
        Err(failure) => {
            let request_id = new_request_id();
            ApiResponse::error(&failure, &request_id).into_response(&request_id)
        }
    }
}

pub(crate) fn new_request_id() -> String {
    Uuid::new_v4().simple().to_string()
}

async fn serve(
    core: Arc<EmulatorState>,
    asked: Asked,
    ids: HashMap<String, String>,
    request: Request,
) -> Response {
    let request_id = new_request_id();
    let (parts, body) = request.into_parts();
    // Axum answers HEAD where there is a GET; the service's documents know no HEAD.
    let asked = match asked {
        Asked::For(_) if parts.method == Method::HEAD => Asked::WrongMethod,
        asked => asked,
    };
    let mut given = Bytes::new();
    let answer = async {
        let admitted = admit(&core, asked, &parts)?;
        given = request_body::whole(body).await?;
        let user = admitted.user(&core, &parts, &given)?;
        respond(&core, asked, (user, &ids), &parts, &given, &request_id).await
    };
    let answer = answer.await;
    let answer = answer.unwrap_or_else(|error| ApiResponse::error(&error, &request_id));
    if let Some(observer) = &core.observer {
        observer.tell(&Exchange {
            operation: match asked {
                Asked::For(operation) => Some(operation.id()),
                Asked::WrongMethod | Asked::Unknown => None,
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
    answer.into_response(&request_id)
}

fn not_modelled(parts: &Parts) -> ApiError {
    let path = parts.uri.path();
    let mut error = ApiError::not_modelled(format!("{} {path}", parts.method));
    if path.contains("/ft-") {
        error.message += FINE_TUNING;
    }
    error
}

/// The reason for which the operations on fine-tuning are missing.
const FINE_TUNING: &str = " No source tells which products and metrics a fine-tuning job has.";

/// Judges the head of a request. A gateway looks for the API before it looks at credentials.
fn admit<'a>(
    core: &EmulatorState,
    asked: Asked,
    parts: &'a Parts,
) -> Result<Admitted<'a>, ApiError> {
    let path = parts.uri.path();
    if !path.starts_with("/v2/") {
        return Err(not_modelled(parts));
    }
    let there = match asked {
        Asked::For(operation) => core.terms.cloud.has(operation),
        Asked::Unknown => core.terms.cloud.may_have(path),
        Asked::WrongMethod => core.terms.cloud.has_path(path),
    };
    if !there {
        return Err(ApiError::no_such_api());
    }
    authenticate::admit(core, parts)
}

/// Project, operation, fault, in this order.
async fn respond(
    core: &Arc<EmulatorState>,
    asked: Asked,
    (user, ids): (usize, &HashMap<String, String>),
    parts: &Parts,
    body: &Bytes,
    request_id: &str,
) -> Result<ApiResponse, ApiError> {
    let user = core.accounts.user(user);
    let project = parts.uri.path().split('/').nth(2).unwrap_or_default();
    if project != user.project_id {
        return Err(ApiError::wrong_project(project, &user.project_id));
    }
    let operation = match asked {
        Asked::For(operation) => operation,
        Asked::WrongMethod => return Err(ApiError::of(2803, &[])),
        Asked::Unknown => return Err(not_modelled(parts)),
    };

    let mut recorded = LoggedRequest::new(operation.id(), &parts.uri, body);
    let call = ApiCall {
        core,
        user,
        ids,
        query: parts.uri.query().unwrap_or_default(),
        body,
        language: Language::of(&parts.headers),
    };
    let answer = perform(operation, &call, request_id).await;
    recorded.status = answer.status().as_u16();
    core.journal.add(recorded);
    Ok(answer)
}

/// The operation, unless a fault takes its place, and what a fault makes of its answer.
async fn perform(operation: Operation, call: &ApiCall<'_>, request_id: &str) -> ApiResponse {
    let core = call.core;
    core.counts.received(operation);
    let fault = core.faults.take(operation);
    let instead = fault.as_ref().and_then(|fault| fault.instead(call.now()));
    if let Some(mut answer) = instead {
        answer.by_fault = true;
        return answer;
    }
    let executed = handlers::execute(operation, call).await;
    if executed.is_ok() {
        core.counts.executed(operation);
    }
    let answer = executed.unwrap_or_else(|error| ApiResponse::error(&error, request_id));
    match fault {
        None => answer,
        Some(Fault::Delay { ms }) => {
            core.clock.sleep(Duration::from_millis(ms)).await;
            answer
        }
        Some(fault) => {
            let mut answer = fault.spoil(answer);
            answer.by_fault = true;
            answer
        }
    }
}
