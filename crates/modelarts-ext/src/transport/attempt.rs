//! Attempt: one request of a call, up to the end of its response or its error.

use modelarts_api::{BoxError, Response};
use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, LOCATION},
};

use crate::{
    credentials::secrets::Secrets,
    error::{Error, ErrorKind},
    http::{body, headers},
    transport::{connector::ConnectorError, retry::AttemptResult},
};

/// The length at which reading a response fails.
const BODY_CAP: usize = 64 << 20;
/// The length at which an error response is truncated. Useful ones are shorter.
const ERROR_BODY_CAP: usize = 64 << 10;

/// The reason why an attempt has no response.
pub(super) struct AttemptError {
    pub(super) result: AttemptResult,
    pub(super) error: Error,
    /// `true` if another attempt cannot help, as with an invalid certificate.
    pub(super) permanent: bool,
}

/// Waits for the response to a request and reads it to its end. Masks the secrets in a response
/// that is not a success.
pub(super) async fn read_response(
    response: impl Future<Output = Result<reqwest::Response, ConnectorError>>,
    secrets: &Secrets,
    endpoint: &Url,
) -> Result<Response, AttemptError> {
    let attempt_error = |error| {
        let mut error = connection_error(error, endpoint);
        error.error = error.error.with_mask(&secrets.mask());
        error
    };
    let request_id =
        |headers: &HeaderMap| headers::request_id(headers).map(|id| secrets.mask_id(id));
    let mut response = response.await.map_err(attempt_error)?;
    let status = response.status();
    let failed = status.as_u16() >= 300;
    let cap = if failed { ERROR_BODY_CAP } else { BODY_CAP };
    let body = body::read(&mut response, cap).await;
    let body = body.map_err(|error| attempt_error(error.into()))?;
    if body.is_cut && !failed {
        return Err(AttemptError {
            result: AttemptResult::Response(status),
            error: Error::new(
                ErrorKind::Unexpected,
                format!("the answer is longer than {} MiB", BODY_CAP >> 20),
            )
            .with_status(status.as_u16())
            .with_request_id(request_id(response.headers())),
            permanent: true,
        });
    }
    let mut headers = std::mem::take(response.headers_mut());
    let is_cut = body.is_cut;
    let mut body = body.bytes;
    if !status.is_success() {
        let mask = secrets.mask();
        mask.mask_headers(&mut headers);
        mask.mask_body(&mut body);
        if is_cut {
            // The end may be the first part of a secret, which the mask does not find.
            body.truncate(body.len().saturating_sub(mask.longest_form()));
        }
    }
    if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
        // Following a redirect would forward the credentials.
        let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
        return Err(AttemptError {
            result: AttemptResult::Response(status),
            error: Error::new(
                ErrorKind::Unexpected,
                format!(
                    "the service redirects to {}, which is not followed; check the endpoint",
                    target.and_then(origin).unwrap_or("an unknown place".into()),
                ),
            )
            .with_status(status.as_u16())
            .with_request_id(request_id(&headers))
            .with_retryable(false),
            permanent: true,
        });
    }
    Ok(Response::new(status, headers, body))
}

#[cold]
fn connection_error(error: ConnectorError, endpoint: &Url) -> AttemptError {
    let place = endpoint.as_str().trim_end_matches('/');
    let unreachable = |cause| format!("cannot connect to {place}: {cause}");
    let lost = |cause| format!("the connection to {place} broke: {cause}");
    let (result, kind, message, source): (_, _, _, BoxError) = match error {
        ConnectorError::NotSent(error) => {
            let message = unreachable(root_cause(&*error));
            (
                AttemptResult::NotSent,
                ErrorKind::Connection,
                message,
                error,
            )
        }
        ConnectorError::Lost(error) => {
            let message = lost(root_cause(&*error));
            (AttemptResult::Lost, ErrorKind::Connection, message, error)
        }
        ConnectorError::Http(error) => {
            // The operation names the URL already.
            let error = error.without_url();
            let (result, kind, message) = if error.is_connect() && error.is_timeout() {
                let message = format!("no connection to {place} in time");
                (AttemptResult::NotSent, ErrorKind::Timeout, message)
            } else if error.is_connect() {
                let message = unreachable(root_cause(&error));
                (AttemptResult::NotSent, ErrorKind::Connection, message)
            } else if error.is_timeout() {
                let message = format!("{place} stopped answering");
                (AttemptResult::Lost, ErrorKind::Timeout, message)
            } else if error.is_builder() {
                let message = format!("the request cannot be sent: {}", root_cause(&error));
                (AttemptResult::NotSent, ErrorKind::Invalid, message)
            } else {
                let message = lost(root_cause(&error));
                (AttemptResult::Lost, ErrorKind::Connection, message)
            };
            (result, kind, message, error.into())
        }
    };
    let permanent = kind == ErrorKind::Invalid || is_tls_error(&*source);
    let error = Error::new(kind, message).with_source(source);
    AttemptError {
        result,
        permanent,
        error: if permanent {
            error.with_retryable(false)
        } else {
            error
        },
    }
}

/// Scheme and host of a redirect; path and query may hold secrets.
fn origin(location: &str) -> Option<String> {
    let url = Url::parse(location).ok()?;
    url.host_str()?;
    Some(url.origin().ascii_serialization())
}

/// The message of the innermost cause; the outer ones only say "client error".
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(feature = "rustls")]
fn is_tls_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        // `source` of an io::Error skips the error that it wraps; and io errors may be nested.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

#[cfg(not(feature = "rustls"))]
fn is_tls_error(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}
