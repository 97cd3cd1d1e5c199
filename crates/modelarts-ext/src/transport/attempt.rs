//! Attempt of a call: reading of the response, and conversion of connection errors.

use std::{error::Error as StdError, io, iter};

use modelarts_api::{BoxError, RawResponse};
use reqwest::{StatusCode, Url, header::LOCATION};

use crate::{
    credentials::authenticate::Secrets,
    error::{CallSummary, Error, ErrorKind},
    http::{
        body,
        connection::{ProxyUrl, explain_failure},
        headers,
        url::is_loopback,
    },
    transport::{connector::ConnectorError, retry::AttemptResult},
};

const BODY_CAP: usize = 64 << 20;
const ERROR_BODY_CAP: usize = 64 << 10;

pub(crate) struct AttemptError {
    pub(crate) result: AttemptResult,
    pub(crate) error: Error,
    /// `true` if a retry would fail as well, for example because of an invalid certificate.
    pub(crate) permanent: bool,
}

/// Reads a response, and masks secrets in a failed one. Redirects and too long bodies are errors.
pub(super) async fn read_response(
    response: impl Future<Output = Result<reqwest::Response, ConnectorError>>,
    secrets: &Secrets,
    endpoint: &Url,
    proxy: Option<&ProxyUrl>,
) -> Result<RawResponse, AttemptError> {
    let attempt_error = |error| {
        let mut error = connection_error(error, endpoint, proxy);
        error.error = error.error.with_mask(&secrets.mask());
        error
    };
    let mut response = response.await.map_err(attempt_error)?;
    let status = response.status();
    let failed = status.as_u16() >= 300;
    let cap = if failed { ERROR_BODY_CAP } else { BODY_CAP };
    let body = body::read(&mut response, cap).await;
    let body::Body { bytes: mut body, is_cut } =
        body.map_err(|error| attempt_error(error.into()))?;
    let mut headers = std::mem::take(response.headers_mut());
    if !status.is_success() {
        let mask = secrets.mask();
        mask.mask_headers(&mut headers);
        mask.mask_body(&mut body);
        if is_cut {
            // A truncated body may end with a part of a secret, which the mask does not match.
            body.truncate(body.len().saturating_sub(mask.longest_form()));
        }
    }
    let unexpected = |message| {
        let error = Error::new(ErrorKind::Unexpected, message).with_status(status.as_u16());
        AttemptError {
            result: AttemptResult::Response(status),
            error: error.with_call(CallSummary {
                request_id: headers::request_id(&headers).map(|id| secrets.mask_id(id)),
                ..CallSummary::default()
            }),
            permanent: true,
        }
    };
    if is_cut && !failed {
        let message = format!("the answer is longer than {} MiB", BODY_CAP >> 20);
        return Err(unexpected(message));
    }
    if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
        // Following a redirect would forward the credentials to another host.
        let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let mut redirect = unexpected(format!(
            "the service redirects to {}, which is not followed; check the endpoint",
            target.and_then(origin).unwrap_or("an unknown place".into()),
        ));
        redirect.error = redirect.error.with_retryable(false);
        return Err(redirect);
    }
    Ok(RawResponse::new(status, headers, body))
}

#[cold]
pub(crate) fn connection_error(
    error: ConnectorError,
    endpoint: &Url,
    proxy: Option<&ProxyUrl>,
) -> AttemptError {
    let (result, kind, source): (_, _, BoxError) = match error {
        ConnectorError::NotSent(error) => (AttemptResult::NotSent, ErrorKind::Connection, error),
        ConnectorError::Lost(error) => (AttemptResult::Lost, ErrorKind::Connection, error),
        ConnectorError::Http(error) => {
            let result = match error.is_connect() || error.is_builder() {
                true => AttemptResult::NotSent,
                false => AttemptResult::Lost,
            };
            let kind = match (error.is_timeout(), error.is_builder()) {
                (true, _) => ErrorKind::Timeout,
                (false, true) => ErrorKind::Invalid,
                (false, false) => ErrorKind::Connection,
            };
            // The message contains the operation, so the URL is redundant.
            (result, kind, error.without_url().into())
        }
    };
    let place = endpoint.as_str().trim_end_matches('/');
    // The message contains the innermost error, because outer errors only state "client error".
    let cause = causes(&*source).last().map(ToString::to_string);
    let cause = cause.unwrap_or_default();
    let (proxy, advice) = match result {
        AttemptResult::NotSent => explain_failure(endpoint, &cause, proxy),
        _ => Default::default(),
    };
    let message = match (kind, result) {
        (ErrorKind::Invalid, _) => format!("the request cannot be sent: {cause}"),
        (ErrorKind::Timeout, AttemptResult::NotSent) => {
            format!("no connection to {place}{proxy} in time")
        }
        (ErrorKind::Timeout, _) => format!("{place} stopped answering"),
        (_, AttemptResult::NotSent) => format!("cannot connect to {place}{proxy}: {cause}"),
        _ => format!("the connection to {place} broke: {cause}"),
    };
    let permanent = kind == ErrorKind::Invalid || causes(&*source).any(is_tls_error);
    let is_plain = endpoint.scheme() == "https"
        && is_loopback(endpoint)
        && causes(&*source).any(is_plain_text);
    let plain = is_plain.then(|| {
        let address = place.replacen("https", "http", 1);
        format!("the server on this machine responds without TLS; set the endpoint to {address}")
    });
    let mut error = Error::new(kind, message).with_source(source).with_advice(plain.or(advice));
    if permanent {
        error = error.with_retryable(false);
    }
    AttemptError { result, error, permanent }
}

/// Returns scheme, host and port of a URL. Omits path and query, which may contain secrets.
pub(crate) fn origin(location: &str) -> Option<String> {
    let url = Url::parse(location).ok()?;
    url.host_str()?;
    Some(url.origin().ascii_serialization())
}

/// Returns an error and its sources, including the error inside an I/O error.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |error| {
        let error: &'a (dyn StdError + 'static) = *error;
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

#[cfg(feature = "rustls")]
fn is_plain_text(error: &(dyn StdError + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(rustls::Error::InvalidMessage(_)))
}

#[cfg(not(feature = "rustls"))]
fn is_plain_text(_: &(dyn StdError + 'static)) -> bool {
    false
}

#[cfg(feature = "rustls")]
fn is_tls_error(error: &(dyn StdError + 'static)) -> bool {
    error.is::<rustls::Error>()
}

#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
fn is_tls_error(error: &(dyn StdError + 'static)) -> bool {
    // native-tls also returns its error if the connection breaks during the handshake.
    error.is::<native_tls::Error>() && !causes(error).any(|cause| cause.is::<io::Error>())
}

#[cfg(not(any(feature = "rustls", feature = "native-tls")))]
fn is_tls_error(_: &(dyn StdError + 'static)) -> bool {
    false
}
