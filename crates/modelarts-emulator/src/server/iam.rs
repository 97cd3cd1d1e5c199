//! IAM operations that clients require.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header::HeaderName},
    middleware,
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{
    accounts::{User, authenticate::check_head},
    api::{
        error::ApiError,
        query::decode,
        response::{ApiResponse, Reply},
    },
    clock::timestamp::Timestamp,
    server::request_body::{self, RequestBody},
    state::EmulatorState,
};

pub(crate) fn routes() -> Router<Arc<EmulatorState>> {
    Router::new()
        .route("/v3/auth/tokens", post(log_in).get(show_token))
        .route("/v3/projects", get(list_projects))
        .route("/v3.0/OS-CREDENTIAL/securitytokens", post(create_keys))
        .route("/v3.0/OS-CREDENTIAL/credentials/{access_key}", get(show_access_key))
        .route_layer(middleware::map_response(add_trace_id))
}

/// Returns an error in the format of IAM.
fn error(status: StatusCode, message: &str) -> Reply {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({"error": {"code": status.as_u16(), "message": message, "title": title}});
    Ok(ApiResponse::json(status, body))
}

/// Adds the request id to the response, in the header that IAM uses.
async fn add_trace_id(mut response: Response) -> Response {
    let headers = response.headers_mut();
    if let Some(id) = headers.get("x-request-id").cloned() {
        headers.insert("x-iam-trace-id", id);
    }
    response
}

async fn log_in(State(state): State<Arc<EmulatorState>>, RequestBody(body): RequestBody) -> Reply {
    match serde_json::from_slice(&body) {
        Ok(body) => issue_token(&state, &body),
        Err(_) => error(StatusCode::BAD_REQUEST, "Request body is invalid."),
    }
}

fn issue_token(state: &EmulatorState, body: &Value) -> Reply {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let methods = body.pointer("/auth/identity/methods");
    if methods != Some(&json!(["password"])) {
        return error(
            StatusCode::BAD_REQUEST,
            "Request parameter 'methods' must be [\"password\"].",
        );
    }
    let of_user = |member: &str| text(&format!("/auth/identity/password/user/{member}"));
    let (name, password) = (of_user("name"), of_user("password"));
    let found = name.zip(password).and_then(|(name, password)| {
        let accounts = &state.accounts;
        accounts.log_in(name, of_user("domain/name"), password)
    });
    let Some(at) = found else {
        return error(StatusCode::UNAUTHORIZED, "The username or password is wrong.");
    };
    let user = state.accounts.user(at);
    let of_project = |member: &str| text(&format!("/auth/scope/project/{member}"));
    let fits = match of_project("id") {
        Some(id) => id == user.project_id,
        // A token for a domain is rejected, because the service is regional and requires a project.
        None => of_project("name").is_some_and(|name| name == user.project_name),
    };
    if !fits {
        return error(StatusCode::UNAUTHORIZED, "The project of the scope is not one of the user.");
    }
    let now = Timestamp::now(state.clock.as_ref());
    let (token, expires) = state.accounts.issue_token(at, now)?;
    let mut shown = token_of(user);
    shown["expires_at"] = expires.utc_micros().into();
    shown["issued_at"] = now.utc_micros().into();
    let answer = ApiResponse::json(StatusCode::CREATED, json!({"token": shown}));
    let token = HeaderValue::from_str(&token).map_err(|_| ApiError::internal("Invalid token."))?;
    Ok(answer.header(HeaderName::from_static("x-subject-token"), token))
}

fn token_of(user: &User) -> Value {
    let domain = json!({"id": user.domain, "name": user.domain});
    json!({
        "methods": ["password"],
        "catalog": [],
        "roles": [{"id": "0", "name": "te_admin"}],
        "project": {"domain": domain, "id": user.project_id, "name": user.project_name},
        "user": {
            "domain": domain,
            "id": user.id,
            "name": user.name,
            "password_expires_at": "",
        },
    })
}

/// Describes a token. Users may only describe tokens of their own.
async fn show_token(State(state): State<Arc<EmulatorState>>, request: Request) -> Reply {
    let subject = request.headers().get("x-subject-token").cloned();
    let (at, ..) = authenticate(&state, request).await?;
    let Some(subject) = subject else {
        return error(StatusCode::BAD_REQUEST, "Request parameter 'X-Subject-Token' is missing.");
    };
    let now = Timestamp::now(state.clock.as_ref());
    match state.accounts.user_by_token(subject.as_bytes(), now) {
        Ok(owner) if owner == at => {
            let token = token_of(state.accounts.user(owner));
            let answer = ApiResponse::json(StatusCode::OK, json!({"token": token}));
            Ok(answer.header(HeaderName::from_static("x-subject-token"), subject))
        }
        Ok(_) => {
            error(StatusCode::FORBIDDEN, "You are not authorized to perform the requested action.")
        }
        Err(_) => error(StatusCode::NOT_FOUND, "Could not find token."),
    }
}

/// Describes a permanent access key. Users may only describe keys of their own.
async fn show_access_key(
    State(state): State<Arc<EmulatorState>>,
    Path(access_key): Path<String>,
    request: Request,
) -> Reply {
    let (at, ..) = authenticate(&state, request).await?;
    let user = state.accounts.user(at);
    if user.access_key != access_key || user.security_token.is_some() {
        return error(StatusCode::NOT_FOUND, "Could not find credential.");
    }
    Ok(ApiResponse::json(
        StatusCode::OK,
        json!({"credential": {
            "user_id": user.id,
            "access": user.access_key,
            "status": "active",
            "create_time": "2026-01-15T08:30:00.000000Z",
            "last_use_time": Timestamp::now(state.clock.as_ref()).utc_micros(),
            "description": "",
        }}),
    ))
}

async fn authenticate(
    state: &EmulatorState,
    request: Request,
) -> Result<(usize, String, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let checked = check_head(&state.accounts, state.clock.now(), &parts)?;
    let body = request_body::read(body).await?;
    let user = checked.check_body(&state.accounts, state.clock.now(), &parts, &body)?;
    let query = parts.uri.query().unwrap_or_default().to_owned();
    Ok((user, query, body))
}

/// Lists the projects of the user: those of all users with the same name and domain.
async fn list_projects(State(state): State<Arc<EmulatorState>>, request: Request) -> Reply {
    let (at, query, _) = authenticate(&state, request).await?;
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix("name="));
    // A value that cannot be decoded is compared as received, and matches no project.
    let wanted = wanted.map(|name| decode(name).unwrap_or_else(|| name.to_owned()));
    let user = state.accounts.user(at);
    let mut listed = BTreeSet::new();
    let own = state.accounts.users().iter().filter(|other| {
        other.name == user.name && other.domain == user.domain && listed.insert(&other.project_id)
    });
    let named = own.filter(|other| wanted.as_ref().is_none_or(|name| *name == other.project_name));
    let projects: Vec<Value> = named.map(|other| project(&state, other)).collect();
    Ok(ApiResponse::json(StatusCode::OK, json!({"projects": projects, "links": links(&state, "")})))
}

fn links(state: &EmulatorState, below: &str) -> Value {
    let own = format!("http://{}/v3/projects{below}", state.address);
    json!({"next": null, "previous": null, "self": own})
}

fn project(state: &EmulatorState, user: &User) -> Value {
    json!({
        "domain_id": user.domain,
        "is_domain": false,
        "parent_id": user.domain,
        "name": user.project_name,
        "description": "",
        "links": links(state, &format!("/{}", user.project_id)),
        "id": user.project_id,
        "enabled": true,
    })
}

async fn create_keys(State(state): State<Arc<EmulatorState>>, request: Request) -> Reply {
    let (at, _, body) = authenticate(&state, request).await?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = body.pointer("/auth/identity/token/duration_seconds");
    let seconds = asked.map_or(Some(900), Value::as_u64);
    let Some(seconds) = seconds.filter(|seconds| (900..=86_400).contains(seconds)) else {
        return error(
            StatusCode::BAD_REQUEST,
            "Request parameter 'duration_seconds' must be between 900 and 86400.",
        );
    };
    let now = Timestamp::now(state.clock.as_ref());
    let life = Duration::from_secs(seconds);
    let keys = state.accounts.issue_keys(at, life, now)?;
    Ok(ApiResponse::json(
        StatusCode::CREATED,
        json!({"credential": {
            "access": keys.access_key,
            "secret": keys.secret_key,
            "securitytoken": keys.security_token,
            "expires_at": keys.expires.utc_micros(),
        }}),
    ))
}
