//! The part of IAM that a login needs: tokens, projects, temporary keys.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header::HeaderName},
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{
    accounts::{User, authenticate::check_head},
    api::{error::ApiError, query::decode, response::ApiResponse},
    clock::timestamp::Timestamp,
    server::{reply::new_request_id, request_body},
    state::EmulatorState,
};

pub(crate) fn routes() -> Router<Arc<EmulatorState>> {
    Router::new()
        .route("/v3/auth/tokens", post(log_in))
        .route("/v3/projects", get(list_projects))
        .route("/v3.0/OS-CREDENTIAL/securitytokens", post(create_keys))
}

/// An error in the format of IAM.
fn error(status: StatusCode, message: &str) -> ApiResponse {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({"error": {"code": status.as_u16(), "message": message, "title": title}});
    ApiResponse::json(status, body)
}

/// A response with one id for the header, IAM's own header, and the body of an error.
fn reply(result: Result<ApiResponse, ApiError>) -> Response {
    let id = new_request_id();
    let answer = result.unwrap_or_else(|error| ApiResponse::error(&error, &id));
    let trace = HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-"));
    answer
        .header(HeaderName::from_static("x-iam-trace-id"), trace)
        .into_response(&id)
}

async fn log_in(State(state): State<Arc<EmulatorState>>, request: Request) -> Response {
    let body = request_body::read(request.into_body()).await;
    reply(body.and_then(|body| match serde_json::from_slice(&body) {
        Ok(body) => Ok(issue_token(&state, &body)?),
        Err(_) => Ok(error(StatusCode::BAD_REQUEST, "Request body is invalid.")),
    }))
}

fn issue_token(state: &EmulatorState, body: &Value) -> Result<ApiResponse, ApiError> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let user = "/auth/identity/password/user";
    let methods = body.pointer("/auth/identity/methods");
    if methods != Some(&json!(["password"])) {
        return Ok(error(
            StatusCode::BAD_REQUEST,
            "Request parameter 'methods' must be [\"password\"].",
        ));
    }
    let found = match (
        text(&format!("{user}/name")),
        text(&format!("{user}/password")),
    ) {
        (Some(name), Some(password)) => {
            let domain = text(&format!("{user}/domain/name"));
            state.accounts.log_in(name, domain, password)
        }
        _ => None,
    };
    let Some(at) = found else {
        return Ok(error(
            StatusCode::UNAUTHORIZED,
            "The username or password is wrong.",
        ));
    };
    let user = state.accounts.user(at);
    let project = (
        text("/auth/scope/project/name"),
        text("/auth/scope/project/id"),
    );
    let fits = match project {
        (_, Some(id)) => id == user.project_id,
        (Some(name), None) => name == user.project_name,
        // A token of the domain is refused: the service is regional and needs a project.
        (None, None) => false,
    };
    if !fits {
        return Ok(error(
            StatusCode::UNAUTHORIZED,
            "The project of the scope is not one of the user.",
        ));
    }
    let now = Timestamp::now(state.clock.as_ref());
    let (token, expires) = state.accounts.issue_token(at, now)?;
    let domain = json!({"id": user.domain, "name": user.domain});
    let answer = ApiResponse::json(
        StatusCode::CREATED,
        json!({"token": {
            "expires_at": expires.utc_micros(),
            "issued_at": now.utc_micros(),
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
        }}),
    );
    Ok(match HeaderValue::from_str(&token) {
        Ok(token) => answer.header(HeaderName::from_static("x-subject-token"), token),
        Err(_) => answer,
    })
}

/// Authenticates a request, and returns its user and its body.
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

/// Lists the projects of the user: those of all users with this name.
async fn list_projects(State(state): State<Arc<EmulatorState>>, request: Request) -> Response {
    let (at, query, _) = match authenticate(&state, request).await {
        Ok(admitted) => admitted,
        Err(error) => return reply(Err(error)),
    };
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix("name="));
    // A value that is not valid text is compared as sent, and matches no project.
    let wanted = wanted.map(|name| decode(name).unwrap_or_else(|| name.to_owned()));
    let user = state.accounts.user(at);
    let mut listed = BTreeSet::new();
    let own = state.accounts.users().iter().filter(|other| {
        other.name == user.name && other.domain == user.domain && listed.insert(&other.project_id)
    });
    let projects: Vec<Value> = own
        .filter(|other| {
            wanted
                .as_ref()
                .is_none_or(|name| *name == other.project_name)
        })
        .map(|other| project(&state, other))
        .collect();
    let links = json!({
        "next": null,
        "previous": null,
        "self": format!("http://{}/v3/projects", state.address),
    });
    reply(Ok(ApiResponse::json(
        StatusCode::OK,
        json!({"projects": projects, "links": links}),
    )))
}

fn project(state: &EmulatorState, user: &User) -> Value {
    json!({
        "domain_id": user.domain,
        "is_domain": false,
        "parent_id": user.domain,
        "name": user.project_name,
        "description": "",
        "links": {
            "next": null,
            "previous": null,
            "self": format!("http://{}/v3/projects/{}", state.address, user.project_id),
        },
        "id": user.project_id,
        "enabled": true,
    })
}

/// Issues temporary keys with a security token.
async fn create_keys(State(state): State<Arc<EmulatorState>>, request: Request) -> Response {
    let (at, _, body) = match authenticate(&state, request).await {
        Ok(admitted) => admitted,
        Err(error) => return reply(Err(error)),
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = body.pointer("/auth/identity/token/duration_seconds");
    let seconds = asked.map_or(Some(900), Value::as_u64);
    let Some(seconds) = seconds.filter(|seconds| (900..=86_400).contains(seconds)) else {
        return reply(Ok(error(
            StatusCode::BAD_REQUEST,
            "Request parameter 'duration_seconds' must be between 900 and 86400.",
        )));
    };
    let now = Timestamp::now(state.clock.as_ref());
    let life = Duration::from_secs(seconds);
    let keys = match state.accounts.issue_keys(at, life, now) {
        Ok(keys) => keys,
        Err(error) => return reply(Err(error.into())),
    };
    reply(Ok(ApiResponse::json(
        StatusCode::CREATED,
        json!({"credential": {
            "access": keys.access_key,
            "secret": keys.secret_key,
            "securitytoken": keys.security_token,
            "expires_at": keys.expires.utc_micros(),
        }}),
    )))
}
