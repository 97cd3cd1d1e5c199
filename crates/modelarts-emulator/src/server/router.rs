//! Table of routes, with their middleware.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Router,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderValue, header::DATE},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodFilter, any, on},
};
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::{
    catalog::operations::{modelled, relative_path},
    server::{
        admin,
        dispatch::{Target, serve},
        host_guard, iam,
    },
    state::EmulatorState,
};

/// Path segments that belong to no operation and are not ids.
const RESERVED_WORDS: [&str; 2] = ["autosearch", "autosearch/{*rest}"];

/// Methods of the operations, in the order of the header `Allow`.
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

/// Builds the router. Requests for other routes are rejected, for example with status 501.
pub(crate) fn router(state: Arc<EmulatorState>) -> Router {
    let refuse = |target| {
        move |State(state): State<Arc<EmulatorState>>, request: Request| {
            serve(state, target, HashMap::new(), request)
        }
    };
    let mut router = Router::new();
    let mut operations: Vec<_> = modelled().collect();
    // The header `Allow` lists methods in the order in which they are added.
    operations.sort_by_key(|operation| METHODS.iter().position(|it| *it == operation.method));
    for operation in operations {
        let does = move |State(state): State<Arc<EmulatorState>>,
                         ids: Result<Path<HashMap<String, String>>, PathRejection>,
                         request: Request| {
            let known = match ids {
                Ok(_) => Target::Operation(operation),
                Err(_) => Target::Unknown,
            };
            let ids = ids.map(|Path(ids)| ids).unwrap_or_default();
            serve(state, known, ids, request)
        };
        let method = match operation.method {
            "GET" => MethodFilter::GET,
            "PUT" => MethodFilter::PUT,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        router = router.route(operation.path, on(method, does));
        // A use case in the documentation uses these paths (SOURCES D-71).
        if let Some(rest) = relative_path(operation).strip_prefix("/training-job-")
            && ["engines", "flavors"].contains(&rest)
        {
            let path = format!("/v2/{{project_id}}/job/training-job-{rest}");
            router = router.route(&path, on(method, does));
        }
    }
    for word in RESERVED_WORDS {
        let path = format!("/v2/{{project_id}}/training-jobs/{word}");
        router = router.route(&path, any(refuse(Target::Unknown)));
    }
    router
        .merge(admin::routes())
        .merge(iam::routes())
        .fallback(refuse(Target::Unknown))
        .method_not_allowed_fallback(refuse(Target::WrongMethod))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), wait_for_commit))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), refuse_web_pages))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), date))
        .with_state(state)
}

async fn refuse_web_pages(
    State(state): State<Arc<EmulatorState>>,
    request: Request,
    next: Next,
) -> Response {
    let port = state.address.port();
    match host_guard::check(request.uri(), request.headers(), port, |_| false) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::warn!(method = %request.method(), path = request.uri().path(), "refused: \
                 foreign Host or Origin");
            refusal.into_response()
        }
    }
}

/// Adds the header `Date`, with which clients compare their clock with that of the service.
async fn date(State(state): State<Arc<EmulatorState>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let date = jiff::Timestamp::try_from(state.clock.now())
        .and_then(|now| DateTimePrinter::new().timestamp_to_rfc9110_string(&now));
    if let Some(date) = date.ok().and_then(|date| HeaderValue::try_from(date).ok()) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

/// Delays responses until the database has committed. Reads succeed even if the commit fails.
async fn wait_for_commit(
    State(state): State<Arc<EmulatorState>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let is_read = request.method().is_safe()
        || path.ends_with("/training-job-searches")
        || path.contains("/resource-instances/");
    let response = next.run(request).await;
    match state.store.database.committed().await {
        Err(failure) if !is_read => failure.into_response(),
        _ => response,
    }
}
