//! Checks of each request: host, origin, session and CSRF token.

use std::net::SocketAddr;

use askama::Template;
use axum::{
    Router,
    body::Body,
    extract::{Request, State as Shared},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN,
            REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use futures::StreamExt;

use crate::{
    access::{
        keys::SESSION_TIME,
        visitor::{Fields, Visitor},
    },
    page::{Layout, Page, Section, render_problem},
    problem::Problem,
    site::{State, UserRequest},
};

/// Header with the CSRF token.
const CSRF_HEADER: &str = "x-csrf-token";
/// Form field with the CSRF token.
const CSRF_FIELD: &str = "csrf";
/// Maximum size of a form, in bytes.
const MAX_FORM: usize = 1 << 20;
/// Headers that isolate this page from other sites and from other ports of this machine.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const LOGIN: &str = "/login";
const LOGOUT: &str = "/logout";
/// Path prefix of scripts and style sheets, which pages without a session need.
const ASSETS: &str = "/assets/";
/// Path of the check of a form, which a read-only page permits.
const CHECK: &str = "/create/check";
/// Content security policy: content of this server only, also data URLs of images, but no inline
/// scripts and styles. uPlot sets sizes through style properties, which is permitted.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri \
                      'none'; form-action 'self'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<State> {
    // A HEAD request must not use up the login link.
    let head = || async { StatusCode::NO_CONTENT };
    Router::new().route(LOGIN, get(log_in).head(head)).route("/logout", post(log_out))
}

/// Checks a request, passes it to its handler, and renders problems.
pub(crate) async fn guard(
    Shared(state): Shared<State>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let session = cookie(&headers, &state.settings.cookie);
    let csrf = session.and_then(|session| state.access.csrf(session));
    let visitor = Visitor { csrf: csrf.clone().unwrap_or_default() };
    request.extensions_mut().insert(visitor.clone());
    let mut response = match check(&state, request, csrf.as_deref()).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind == "text/event-stream");
    if let Some(session) = session.filter(|_| is_stream) {
        let end = state.access.wait_for_end(session);
        response = response.map(|body| Body::from_stream(body.into_data_stream().take_until(end)));
    }
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = render_problem(&state, &visitor, &headers, problem);
    }
    secure(response)
}

/// Returns an error if the host, session, origin, CSRF token or read-only mode forbids a request.
async fn check(state: &State, request: Request, csrf: Option<&str>) -> Result<Request, Problem> {
    let headers = request.headers();
    check_host(headers, state.settings.address)?;
    let path = request.uri().path();
    if path == LOGIN || path.starts_with(ASSETS) {
        return Ok(request);
    }
    let Some(csrf) = csrf else {
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "Log in",
            "this browser has no session, or the session has expired",
        )
        .with_advice(
            "open the link that the program printed; each link is valid once, and the program \
             prints the next one",
        ));
    };
    if request.method() == Method::GET || request.method() == Method::HEAD {
        return Ok(request);
    }
    if path != CHECK && path != LOGOUT {
        state.check_writable()?;
    }
    check_origin(headers, state.settings.address)?;
    let forged = || {
        Problem::forbidden("the request does not come from a page of this site")
            .with_advice("reload the page and try again")
    };
    if let Some(value) = headers.get(CSRF_HEADER) {
        return match value == csrf {
            true => Ok(request),
            false => Err(forged()),
        };
    }
    let is_form = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    if !is_form {
        return Err(forged());
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_FORM).await;
    let body = body.map_err(|error| Problem::invalid(format!("the form is too large: {error}")))?;
    match Fields::parse(&body).get(CSRF_FIELD) {
        Some(value) if value == csrf => Ok(Request::from_parts(parts, Body::from(body))),
        _ => Err(forged()),
    }
}

/// Returns an error if `Host` is not a loopback host with this port. Prevents DNS rebinding.
fn check_host(headers: &HeaderMap, own: SocketAddr) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    let (host, more) = (hosts.next(), hosts.next());
    match host.and_then(|host| host.to_str().ok()) {
        Some(host) if more.is_none() && is_own(host, own) => Ok(()),
        host => Err(Problem::forbidden(format!(
            "the host must be 127.0.0.1, localhost, [::1] or {}, with the port {}, and is {:?}",
            own.ip(),
            own.port(),
            host.unwrap_or_default()
        ))),
    }
}

/// Returns an error if a request has an `Origin` of another site.
fn check_origin(headers: &HeaderMap, own: SocketAddr) -> Result<(), Problem> {
    for origin in headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let is_own = origin.strip_prefix("http://").is_some_and(|host| is_own(host, own));
        if !is_own {
            return Err(Problem::forbidden(format!("the request comes from the site {origin:?}")));
        }
    }
    Ok(())
}

/// Returns `true` if a host and port denote this server.
fn is_own(host: &str, own: SocketAddr) -> bool {
    let Some((name, found)) = host.rsplit_once(':') else {
        return false;
    };
    found == own.port().to_string()
        && (["127.0.0.1", "[::1]"].contains(&name)
            || name.eq_ignore_ascii_case("localhost")
            || host == own.to_string())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let headers = headers.get_all(COOKIE).iter();
    let texts = headers.filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Adds the security headers to a response.
fn secure(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let values = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    for (name, value) in values {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Page after a login or a logout. After a login, the page itself opens the job list, because a
/// browser does not send the new cookie with a redirect if the login link was opened from another
/// site or from a file.
#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    layout: Layout,
    is_over: bool,
}

/// Exchanges the value of a login link for a session.
async fn log_in(request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let session = fields.get("token").and_then(|token| state.access.log_in(token));
    let Some(session) = session else {
        // The link was opened again in a browser that is logged in.
        if !visitor.csrf.is_empty() {
            return Ok(Redirect::to("/").into_response());
        }
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "Log in",
            "this link is not valid, or was used before",
        )
        .with_advice("open the newest link that the program printed"));
    };
    let seconds = SESSION_TIME.as_secs();
    Ok(set_session(&state, &visitor, &session, seconds))
}

/// Returns a page that sets the session cookie. An empty session removes the cookie.
fn set_session(state: &State, visitor: &Visitor, session: &str, seconds: u64) -> Response {
    let is_over = session.is_empty();
    let title = if is_over { "Logged out" } else { "Logged in" };
    let layout = Layout::new(state, visitor, Section::None, title);
    let name = &state.settings.cookie;
    let cookie = format!("{name}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}");
    let page = Page(SessionPage { layout, is_over });
    ([(SET_COOKIE, cookie)], page).into_response()
}

/// Ends the session on the server and in the browser.
async fn log_out(Shared(state): Shared<State>, headers: HeaderMap) -> Response {
    if let Some(session) = cookie(&headers, &state.settings.cookie) {
        state.access.log_out(session);
    }
    set_session(&state, &Visitor::default(), "", 0)
}
