//! Processing of requests to OBS around s3s: host check, faults, counts and logs.

use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, HttpBody},
    extract::Request,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{AUTHORIZATION, CONNECTION, DATE, EXPECT, HeaderName, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use s3s::{
    S3Error, S3ErrorCode, S3Result, s3_error,
    service::{S3Service, S3ServiceBuilder},
};

use crate::{
    api::response::{ApiResponse, Cut, cut_in_half, new_request_id},
    clock::timestamp::Timestamp,
    files::confined_dir::ConfinedDir,
    obs::{
        access::{Access, AnyName, Hosts, Keys, ObsRequest, bucket_of_host},
        service::ObsService,
        store::ObjectStore,
    },
    server::host_guard,
    state::EmulatorState,
    traffic::faults::Fault,
};

/// Header with the date of a signature.
const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");

struct ObsServer {
    state: Arc<EmulatorState>,
    service: S3Service,
    /// Port of the listener, for the check of the headers `Host` and `Origin`.
    port: u16,
    /// Address of a second listener, for the nodes of a cluster.
    on_cluster: Option<SocketAddr>,
}

/// Creates the router for objects below `root`. Returns an error if `obs-uploads` is unusable.
pub(crate) fn router(
    state: Arc<EmulatorState>,
    root: ConfinedDir,
    data_dir: &Path,
    port: u16,
    on_cluster: Option<SocketAddr>,
) -> io::Result<Router> {
    let database = Arc::clone(&state.store.database);
    let store = ObjectStore::open(root, data_dir, database)?;
    let mut service = S3ServiceBuilder::new(ObsService::new(store, Arc::clone(&state)));
    service.set_auth(Keys(Arc::clone(&state)));
    service.set_access(Access(Arc::clone(&state)));
    service.set_host(Hosts);
    service.set_validation(AnyName);
    let server = Arc::new(ObsServer { state, service: service.build(), port, on_cluster });
    let serve = move |request: Request| {
        let server = Arc::clone(&server);
        async move { server.serve(request).await }
    };
    Ok(Router::new().fallback(serve))
}

impl ObsServer {
    /// Responds to a request after the changes of the request are stored.
    async fn serve(&self, request: Request) -> Response {
        let request_id = new_request_id();
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let expects_continue = request.headers().contains_key(EXPECT);
        let is_empty = HttpBody::is_end_stream(request.body());
        let context = Arc::new(ObsRequest::default());
        let mut response = match self.check_host(&request) {
            Ok(()) => self.perform(request, &context).await,
            Err(refusal) => {
                tracing::warn!(%method, path = uri.path(), "refused: foreign Host or Origin");
                error_response(refusal)
            }
        };
        let state = &self.state;
        if let Err(failure) = state.store.database.committed().await
            && !method.is_safe()
        {
            response = error_response(s3_error!(InternalError, "{}", failure.message));
        }
        let status = response.status();
        if let Some(operation) = context.operation.get() {
            state.traffic.request_log.add(operation, &uri, &[], status);
        }
        tracing::info!(%method, path = uri.path(), status = status.as_u16(), request_id, "OBS");
        if let Ok(id) = HeaderValue::from_str(&request_id) {
            response.headers_mut().insert("x-amz-request-id", id);
        }
        // Otherwise botocore misreads the next response on the connection.
        if expects_continue && (is_empty || !status.is_success()) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }

    fn check_host(&self, request: &Request) -> S3Result<()> {
        let is_own = |host: &str| {
            let on_cluster = self.on_cluster.map(|address| address.to_string());
            bucket_of_host(host).is_some() || on_cluster.as_deref() == Some(host)
        };
        host_guard::check(request.uri(), request.headers(), self.port, is_own)
            .map_err(|refusal| s3_error!(AccessDenied, "{}", refusal.message))
    }

    async fn perform(&self, request: Request, context: &Arc<ObsRequest>) -> Response {
        let mut request = request.map(s3s::Body::http_body_unsync);
        add_amz_date(request.headers_mut());
        request.extensions_mut().insert(Arc::clone(context));
        let response = match self.service.call(request).await {
            Ok(response) => response.map(Body::new),
            Err(error) => {
                let error: s3s::StdError = error.into();
                error_response(s3_error!(InternalError, "{error}"))
            }
        };
        let status = response.status();
        let fault = context.fault.lock().take();
        let now = Timestamp::now(self.state.clock.as_ref());
        if let Some(replacement) = fault.as_ref().and_then(|fault| replacement(fault, now)) {
            return replacement;
        }
        if let Some(operation) = context.operation.get()
            && (status.is_success() || status == StatusCode::NOT_MODIFIED)
        {
            self.state.traffic.request_counts.add_executed(operation);
        }
        match fault {
            Some(Fault::Delay { ms }) => {
                self.state.clock.sleep(Duration::from_millis(ms)).await;
                response
            }
            Some(Fault::LostAnswer) => ApiResponse::cut(Cut::BeforeAnswer).into_response(),
            Some(Fault::ResetMidBody) => cut_in_half(response),
            _ => response,
        }
    }
}

/// Adds the header `x-amz-date`, which s3s requires, to requests that are signed by AWS V4 with the
/// header `Date` instead, such as those of the vendor's SDK.
fn add_amz_date(headers: &mut HeaderMap) {
    let text = |name| headers.get(name)?.to_str().ok();
    if headers.contains_key(AMZ_DATE)
        || !text(AUTHORIZATION).is_some_and(|value: &str| value.starts_with("AWS4-"))
    {
        return;
    }
    let date = text(DATE).and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
    let date = date.map(|date| date.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string());
    if let Some(date) = date.and_then(|date| HeaderValue::try_from(date).ok()) {
        headers.insert(AMZ_DATE, date);
    }
}

fn error_response(error: S3Error) -> Response {
    match error.to_http_response() {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns the OBS response of a fault that replaces the operation, or `None` for other faults.
fn replacement(fault: &Fault, now: Timestamp) -> Option<Response> {
    let (status, retry_after, code, message) = match fault {
        Fault::Status { status, retry_after, error_code, error_msg } => {
            let retry_after = retry_after.map(HeaderValue::from);
            (*status, retry_after, error_code.clone(), error_msg.clone())
        }
        Fault::StatusUntil { status, seconds } => {
            let until = now.plus(Duration::from_secs(u64::from(*seconds))).http();
            (*status, HeaderValue::from_str(&until).ok(), None, None)
        }
        other => return Some(other.replacement(now)?.into_response()),
    };
    let usual = match status {
        403 => "AccessDenied",
        404 => "NoSuchKey",
        500 => "InternalError",
        503 => "SlowDown",
        _ => "InjectedFault",
    };
    let code = code.unwrap_or_else(|| usual.to_owned());
    let mut error = S3Error::new(S3ErrorCode::Custom(code.into()));
    error.set_message(message.unwrap_or_else(|| "Injected fault".to_owned()));
    error.set_status_code(StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE));
    let mut response = error_response(error);
    if let Some(value) = retry_after {
        let headers: &mut HeaderMap = response.headers_mut();
        headers.insert(RETRY_AFTER, value);
    }
    Some(response)
}
