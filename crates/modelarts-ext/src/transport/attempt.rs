//! Sends a request once, and reads the answer to its end.

use bytes::{Bytes, BytesMut};
use modelarts_api::{BoxError, Response};
use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, HeaderName, LOCATION},
};

use crate::{
    error::mask::Secrets,
    error::{Error, ErrorKind},
    transport::{HttpTransport, connector::ConnectorError, retry::Attempt},
};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// What IAM calls it.
static TRACE_ID: HeaderName = HeaderName::from_static("x-iam-trace-id");

/// Answers longer than this are not read to their end.
const BODY_CAP: usize = 64 << 20;
/// Error answers longer than this are cut; no useful one is.
const ERROR_BODY_CAP: usize = 64 << 10;

/// A body as it comes. Most come in one piece, which is not copied.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    rest: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn push(&mut self, chunk: Bytes) {
        if self.first.is_empty() {
            self.first = chunk;
        } else {
            self.rest.extend_from_slice(&chunk);
        }
    }

    fn finish(self) -> Bytes {
        if self.rest.is_empty() {
            return self.first;
        }
        let mut whole = BytesMut::with_capacity(self.first.len() + self.rest.len());
        whole.extend_from_slice(&self.first);
        whole.extend_from_slice(&self.rest);
        whole.freeze()
    }
}

/// Why an attempt brought no answer.
pub(crate) struct AttemptError {
    pub(crate) attempt: Attempt,
    pub(crate) error: Error,
    /// Whether trying again cannot help, such as with a wrong certificate.
    pub(crate) permanent: bool,
}

impl HttpTransport {
    pub(crate) async fn attempt(
        &self,
        answer: impl Future<Output = Result<reqwest::Response, ConnectorError>>,
        secrets: &Secrets,
    ) -> Result<Response, AttemptError> {
        let broken = |error| {
            let mut broken = self.broken(error);
            broken.error = broken.error.masked(&secrets.mask());
            broken
        };
        let mut response = answer.await.map_err(broken)?;
        let status = response.status();
        let failed = status.as_u16() >= 300;
        let cap = if failed { ERROR_BODY_CAP } else { BODY_CAP };
        let mut body = Gathered::default();
        let mut is_cut = false;
        while let Some(mut chunk) = response
            .chunk()
            .await
            .map_err(|error| broken(error.into()))?
        {
            let room = cap - body.len();
            if chunk.len() <= room {
                body.push(chunk);
            } else if failed {
                chunk.truncate(room);
                is_cut = true;
                body.push(chunk);
                break;
            } else {
                return Err(AttemptError {
                    attempt: Attempt::Answer(status),
                    error: Error::new(
                        ErrorKind::Unexpected,
                        format!("the answer is longer than {} MiB", BODY_CAP >> 20),
                    )
                    .with_status(status.as_u16())
                    .with_request_id(request_id(response.headers(), secrets)),
                    permanent: true,
                });
            }
        }
        let mut headers = std::mem::take(response.headers_mut());
        let mut body = body.finish();
        if !status.is_success() {
            let mask = secrets.mask();
            mask.headers(&mut headers);
            mask.body(&mut body);
            if is_cut {
                // The end may be the beginning of a secret, which is not masked.
                body.truncate(body.len().saturating_sub(mask.longest()));
            }
        }
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            // A redirect would take the credentials along.
            let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
            return Err(AttemptError {
                attempt: Attempt::Answer(status),
                error: Error::new(
                    ErrorKind::Unexpected,
                    format!(
                        "the service redirects to {}, which is not followed; check the endpoint",
                        target
                            .and_then(host_of)
                            .unwrap_or("an unknown place".into()),
                    ),
                )
                .with_status(status.as_u16())
                .with_request_id(request_id(&headers, secrets))
                .permanent(),
                permanent: true,
            });
        }
        Ok(Response::new(status, headers, body))
    }

    #[cold]
    fn broken(&self, error: ConnectorError) -> AttemptError {
        let place = self.endpoint.as_str().trim_end_matches('/');
        let unreachable = |cause| format!("cannot connect to {place}: {cause}");
        let lost = |cause| format!("the connection to {place} broke: {cause}");
        let (attempt, kind, message, source): (_, _, _, BoxError) = match error {
            ConnectorError::NotSent(error) => {
                let message = unreachable(cause(&*error));
                (Attempt::NotSent, ErrorKind::Connection, message, error)
            }
            ConnectorError::Lost(error) => {
                let message = lost(cause(&*error));
                (Attempt::Lost, ErrorKind::Connection, message, error)
            }
            ConnectorError::Http(error) => {
                // The URL says nothing that the operation does not.
                let error = error.without_url();
                let (attempt, kind, message) = if error.is_connect() && error.is_timeout() {
                    let message = format!("no connection to {place} in time");
                    (Attempt::NotSent, ErrorKind::Timeout, message)
                } else if error.is_connect() {
                    let message = unreachable(cause(&error));
                    (Attempt::NotSent, ErrorKind::Connection, message)
                } else if error.is_timeout() {
                    let message = format!("{place} stopped answering");
                    (Attempt::Lost, ErrorKind::Timeout, message)
                } else if error.is_builder() {
                    let message = format!("the request cannot be sent: {}", cause(&error));
                    (Attempt::NotSent, ErrorKind::Invalid, message)
                } else {
                    let message = lost(cause(&error));
                    (Attempt::Lost, ErrorKind::Connection, message)
                };
                (attempt, kind, message, error.into())
            }
        };
        let permanent = kind == ErrorKind::Invalid || tls_refused(&*source);
        let error = Error::new(kind, message).with_source(source);
        AttemptError {
            attempt,
            permanent,
            error: if permanent { error.permanent() } else { error },
        }
    }
}

/// The id of a request in the headers of the answer to it.
pub(crate) fn said_id(headers: &HeaderMap) -> Option<&str> {
    [&REQUEST_ID, &TRACE_ID]
        .into_iter()
        .find_map(|name| headers.get(name)?.to_str().ok())
}

/// As [`said_id`], without secrets.
pub(crate) fn request_id(headers: &HeaderMap, secrets: &Secrets) -> Option<String> {
    let id = said_id(headers)?;
    // Most secrets are longer than an id is, and in no way of writing they become shorter.
    let room = secrets.texts().any(|secret| secret.len() <= id.len());
    let masked = room.then(|| secrets.mask().text(id)).flatten();
    Some(masked.unwrap_or_else(|| id.to_owned()))
}

/// Where a redirect leads, without what may be secret in it.
fn host_of(location: &str) -> Option<String> {
    let url = Url::parse(location).ok()?;
    url.host_str()?;
    Some(url.origin().ascii_serialization())
}

/// The innermost cause, which says the most; those around it say "client error".
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(feature = "rustls")]
fn tls_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        // The source of an io::Error is that of what it wraps, not what it wraps; and
        // one may wrap another.
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
fn tls_refused(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}
