//! HTTP client for the crate `object_store`, with time limits and with [`ErrorFacts`] as the bodies
//! of error responses.

use std::{
    error::Error,
    io, iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::{HeaderValue, Method, StatusCode, header::AUTHORIZATION};
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::Frame;
use modelarts_ext::{client::Attempt, credentials::ProviderContext};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use reqwest::Url;
use sync_wrapper::SyncStream;

use crate::error::ErrorFacts;

/// Time limit for the headers of a response, each chunk of its body, and a whole error body.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for the headers of a response if the server copies contents before it responds: a
/// copy of up to 5 GiB, or the completion of a multipart upload.
const COPY_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Minimum speed of an upload, in bytes per second. It determines the additional time for a request
/// with a body.
const MIN_SPEED: u64 = 32 << 10;
/// Maximum size of the body of an error response, in bytes. A longer body counts as empty.
const MAX_ERROR_BODY: usize = 64 << 10;

/// HTTP client with time limits. The inner client uses the certificates of the modelarts-ext
/// client, and does not decode bodies, so that the contents of objects are returned as stored.
#[derive(Clone, Debug)]
pub(super) struct TimedClient {
    http: reqwest::Client,
    context: ProviderContext,
    /// Number of responses that throttled a request.
    throttled: Arc<AtomicU64>,
}

impl TimedClient {
    /// Creates a client for a server, with the certificates and the observer of a client.
    pub(super) fn new(
        context: &ProviderContext,
        server: &Url,
    ) -> Result<Self, modelarts_ext::Error> {
        let http = context.raw_client_for(server)?;
        Ok(Self { http, context: context.clone(), throttled: Arc::default() })
    }

    pub(super) fn throttled(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.throttled)
    }

    /// Passes the result of a request to the observer of the client.
    fn observe(
        &self,
        method: &Method,
        result: Result<u16, &(dyn Error + 'static)>,
        started: SystemTime,
    ) {
        let elapsed = self.context.clock.now().duration_since(started).unwrap_or_default();
        self.context.observe(&Attempt::new(&format!("OBS {method}"), result, elapsed));
    }
}

impl HttpConnector for TimedClient {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for TimedClient {
    /// Sends a request, and waits for the headers of the response. The time limit is 1 minute, or
    /// 15 minutes if the server copies contents. A request with a body has one more second for each
    /// 32 KiB of the body.
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let length = request.body().content_length();
        let authorization = request.headers().get(AUTHORIZATION).cloned();
        let sending = Duration::from_secs(u64::try_from(length).unwrap_or(u64::MAX) / MIN_SPEED);
        let timeout = response_timeout(&request).saturating_add(sending);
        let (method, started) = (request.method().clone(), self.context.clock.now());
        let response = limit(timeout, send(&self.http, request)).await;
        let result = match &response {
            Ok(response) => Ok(response.status().as_u16()),
            Err(error) => Err(error as _),
        };
        self.observe(&method, result, started);
        if matches!(result, Ok(429 | 503)) {
            self.throttled.fetch_add(1, Ordering::Relaxed);
        }
        let response = response?;
        let (mut parts, body) = response.into_parts();
        let is_error = !parts.status.is_success() && parts.status != StatusCode::NOT_MODIFIED;
        let body = if is_error {
            let body = limit(RESPONSE_TIMEOUT, async {
                // The body of an error response counts as empty if it is too long or incomplete.
                let body = Limited::new(body, MAX_ERROR_BODY).collect().await;
                Ok(body.map_or(Bytes::new(), http_body_util::Collected::to_bytes))
            });
            let body = body.await.unwrap_or_default();
            let facts = ErrorFacts::of_response(parts.status.as_u16(), &parts.headers, &body)
                .with_access_key(authorization.as_ref().and_then(access_key));
            if parts.status.is_redirection() {
                // For a redirection, the crate object_store would return an error without the
                // facts.
                parts.status = StatusCode::MISDIRECTED_REQUEST;
            }
            let text = Full::new(facts.to_text().into());
            HttpResponseBody::new(text.map_err(|never| match never {}))
        } else {
            let chunks = futures::stream::unfold(body.bytes_stream(), async |mut stream| {
                let next = limit(RESPONSE_TIMEOUT, async { stream.next().await.transpose() });
                Some((next.await.transpose()?, stream))
            });
            // Readers poll the body again after its end, so the stream is fused.
            let chunks = chunks.fuse();
            let frames = chunks.map_ok(Frame::data).boxed();
            HttpResponseBody::new(StreamBody::new(SyncStream::new(frames)))
        };
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// Sends a request, and waits for the headers of the response.
async fn send(client: &reqwest::Client, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let request = request.map(|body| match body.as_bytes() {
        Some(bytes) => reqwest::Body::from(bytes.clone()),
        None => reqwest::Body::wrap(body),
    });
    let request = reqwest::Request::try_from(request).map_err(http_error)?;
    let response = client.execute(request).await.map_err(http_error)?;
    let response = http::Response::<reqwest::Body>::from(response);
    Ok(response.map(|body| HttpResponseBody::new(body.map_err(http_error))))
}

/// Classifies an error of the HTTP client. The kind determines whether object_store retries.
fn http_error(error: reqwest::Error) -> HttpError {
    let kind = match &error {
        error if error.is_timeout() => HttpErrorKind::Timeout,
        error if error.is_connect() => HttpErrorKind::Connect,
        error if error.is_decode() => HttpErrorKind::Decode,
        error => {
            let causes = iter::successors(error.source(), |error| Error::source(*error));
            let mut kinds = causes.filter_map(kind_of_cause);
            kinds.next().unwrap_or(HttpErrorKind::Unknown)
        }
    };
    HttpError::new(kind, error.without_url())
}

/// Returns the kind of a timeout or of an interrupted connection, or `None` for any other error.
fn kind_of_cause(cause: &(dyn Error + 'static)) -> Option<HttpErrorKind> {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        let is_broken =
            error.is_closed() || error.is_incomplete_message() || error.is_body_write_aborted();
        return match error {
            _ if is_broken => Some(HttpErrorKind::Request),
            error if error.is_timeout() => Some(HttpErrorKind::Timeout),
            _ => None,
        };
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(HttpErrorKind::Timeout),
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some(HttpErrorKind::Interrupted),
        _ => None,
    }
}

/// Returns the time limit for the headers of a response, without the time to send a body.
fn response_timeout(request: &HttpRequest) -> Duration {
    let parameters = request.uri().query().unwrap_or_default().split('&');
    let names = |name: &str| {
        let mut all = parameters.clone();
        all.any(|it| it.split('=').next() == Some(name))
    };
    let completes = request.method() == Method::POST && names("uploadId") && !names("partNumber");
    match completes || request.headers().contains_key("x-amz-copy-source") {
        true => COPY_TIMEOUT,
        false => RESPONSE_TIMEOUT,
    }
}

/// Returns the access key in an `Authorization` header.
fn access_key(authorization: &HeaderValue) -> Option<String> {
    let (_, scope) = authorization.to_str().ok()?.split_once("Credential=")?;
    Some(scope.split_once('/')?.0.to_owned())
}

/// Waits for a part of a call. Returns an error of the kind `Timeout` when the time limit expires.
async fn limit<T>(
    timeout: Duration,
    part: impl Future<Output = Result<T, HttpError>>,
) -> Result<T, HttpError> {
    let result = tokio::time::timeout(timeout, part).await;
    result.unwrap_or_else(|elapsed| Err(HttpError::new(HttpErrorKind::Timeout, elapsed)))
}

#[cfg(test)]
mod tests {
    use object_store::client::HttpRequestBody;

    use super::*;

    #[test]
    fn requests_for_which_the_server_copies_bytes_have_more_time() {
        let minutes = |method: Method, query: &str, copies: bool| {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.method_mut() = method;
            *request.uri_mut() = format!("http://127.0.0.1:1/b/k{query}").parse().unwrap();
            if copies {
                let source = HeaderValue::from_static("b/other");
                request.headers_mut().insert("x-amz-copy-source", source);
            }
            response_timeout(&request).as_secs() / 60
        };
        assert_eq!(minutes(Method::POST, "?uploadId=1", false), 15);
        assert_eq!(minutes(Method::PUT, "", true), 15);
        assert_eq!(minutes(Method::PUT, "?partNumber=1&uploadId=1", true), 15);
        assert_eq!(minutes(Method::PUT, "?partNumber=1&uploadId=1", false), 1);
        assert_eq!(minutes(Method::DELETE, "?uploadId=1", false), 1);
        assert_eq!(minutes(Method::POST, "?uploads", false), 1);
        assert_eq!(minutes(Method::PUT, "", false), 1);
    }
}
