//! Sends requests: signs, sends, reads the answer, and does it again if that is
//! safe and useful.

use std::{
    borrow::Cow,
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use futures::future::{Either, select};
use modelarts_api::{
    BoxFuture, Operation, Transport, TransportError, decode::OnDecode, types::Language,
};
use reqwest::{
    Request, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use tracing::Instrument;

use crate::{
    auth::{Credentials, Kind, ProvideCredentials, Tools},
    budget::Budget,
    clock::{Clock, since},
    error::{Error, ErrorKind},
    record::Record,
    refusal::{self, Refusal},
    retry::{Attempt, RetryPolicy, may_retry, pause, retry_after},
    sign::{self, Signing},
};

/// Answers longer than this are not read to their end.
const BODY_CAP: usize = 64 << 20;
/// Error answers longer than this are cut; no useful one is.
const ERROR_BODY_CAP: usize = 64 << 10;

const DATE: HeaderName = HeaderName::from_static(sign::DATE);
const PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");
const SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-security-token");
const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// The transport of this crate.
#[derive(Clone)]
pub(crate) struct Sender {
    pub(crate) endpoint: Url,
    pub(crate) project_id: String,
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    /// What the provider of the credentials works with.
    pub(crate) tools: Tools,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) signing: Signing,
    pub(crate) retry: RetryPolicy,
    /// How long a call may take, all attempts and pauses together.
    pub(crate) timeout: Duration,
    /// The language of messages, if the service is to be told.
    pub(crate) language: Option<Language>,
    /// What clones share.
    pub(crate) shared: Arc<Common>,
}

/// What the calls of one client have in common.
pub(crate) struct Common {
    /// What retries are paid from.
    budget: Budget,
    /// How far the clock of the gateway is ahead of ours, in seconds.
    skew: AtomicI64,
}

impl Common {
    pub(crate) fn new(policy: &RetryPolicy, now: SystemTime) -> Self {
        Self {
            budget: policy.make_budget(now),
            skew: AtomicI64::new(0),
        }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("endpoint", &self.endpoint.as_str())
            .finish_non_exhaustive()
    }
}

impl Transport for Sender {
    fn execute<'a>(
        &'a self,
        http: &'a reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        let span = tracing::info_span!(
            "modelarts",
            operation = operation.id,
            attempts = tracing::field::Empty,
            status = tracing::field::Empty,
            request_id = tracing::field::Empty,
            elapsed_ms = tracing::field::Empty,
        );
        Box::pin(
            async move {
                self.send(http, request, operation)
                    .await
                    .map_err(|error| TransportError::Other(Box::new(error)))
            }
            .instrument(span),
        )
    }
}

/// One answer, read to its end.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

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
struct Broken {
    attempt: Attempt,
    error: Error,
    /// Whether trying again cannot help, such as with a wrong certificate.
    permanent: bool,
}

impl Sender {
    async fn send(
        &self,
        http: &reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> Result<Response, Error> {
        let record = Record::current();
        let started = self.clock.now();
        record.update(|facts| facts.operation = Some(operation.id));
        let result = self
            .attempts(http, &request, operation, &record, started)
            .await;
        let elapsed = since(&*self.clock, started);
        record.update(|facts| {
            facts.elapsed = elapsed;
            let span = tracing::Span::current();
            span.record("attempts", facts.attempts);
            span.record("status", facts.status);
            span.record("request_id", facts.request_id.as_deref());
            span.record(
                "elapsed_ms",
                u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            );
        });
        let answer = result?;
        let mut response = http::Response::new(reqwest::Body::from(answer.body));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        response.extensions_mut().insert(OnDecode(record));
        Ok(Response::from(response))
    }

    async fn attempts(
        &self,
        http: &reqwest::Client,
        request: &Request,
        operation: &'static Operation,
        record: &Record,
        started: SystemTime,
    ) -> Result<Answer, Error> {
        let mut ceilings = self.retry.ceilings();
        let mut second_chance = SecondChance::default();
        self.shared.budget.deposit();
        loop {
            let left = self.timeout.saturating_sub(since(&*self.clock, started));
            let mut used = None;
            let mut outcome = self
                .within(left, async {
                    let (outgoing, credentials) = self.prepare(request, record).await.map_err(
                        // An IAM that cannot be reached for the moment is like a service
                        // that cannot be: nothing was sent.
                        |error| Broken {
                            attempt: Attempt::NotSent,
                            permanent: !error.is_retryable(),
                            error,
                        },
                    )?;
                    used = Some(credentials);
                    record.update(|facts| facts.attempts += 1);
                    self.attempt(http, outgoing).await
                })
                .await;
            if let (Err(broken), None) = (&mut outcome, &used) {
                // Time ran out while there were no credentials yet.
                broken.attempt = Attempt::NotSent;
            }
            let (attempt, wait, permanent) = match &outcome {
                Ok(answer) => (
                    Attempt::Answer(answer.status),
                    retry_after(&answer.headers, self.now()),
                    false,
                ),
                // An IAM that is asked for credentials may want to be left alone, too.
                Err(broken) => (broken.attempt, broken.error.retry_after(), broken.permanent),
            };
            record.update(|facts| {
                facts.uncertain |= is_uncertain(attempt);
                facts.retry_after = wait;
                let answer = outcome.as_ref().ok();
                facts.status = answer.map(|answer| answer.status.as_u16());
                facts.request_id = answer.and_then(|answer| request_id(&answer.headers));
            });
            if let (Ok(answer), Some(credentials)) = (&outcome, &used)
                && self.has_second_chance(answer, credentials, &mut second_chance)
            {
                continue;
            }
            let again = !permanent && may_retry(operation.effect, attempt);
            let pause = again
                .then(|| ceilings.next())
                .flatten()
                .map(|ceiling| pause(wait, ceiling))
                .filter(|pause| {
                    let after = since(&*self.clock, started).saturating_add(*pause);
                    after < self.retry.max_elapsed && after < self.timeout
                })
                .filter(|_| self.shared.budget.withdraw(self.clock.now()));
            let Some(pause) = pause else {
                return outcome.map_err(|broken| broken.error);
            };
            tracing::debug!(?attempt, ?pause, "sending again");
            self.clock.sleep(pause).await;
        }
    }

    /// Whether a refusal of the credentials can be mended: by newer ones, or by
    /// the right time. Each once in a call, because a gateway that refuses five
    /// signatures in a row locks the key for five minutes.
    fn has_second_chance(
        &self,
        answer: &Answer,
        credentials: &Credentials,
        chance: &mut SecondChance,
    ) -> bool {
        let Some(refusal) = refusal::read(answer.status, &answer.body) else {
            return false;
        };
        match refusal {
            Refusal::Expired => {
                !std::mem::replace(&mut chance.renewed, true) && self.credentials.renew(credentials)
            }
            Refusal::Clock { server } => {
                let ahead = match server.duration_since(self.clock.now()) {
                    Ok(ahead) => i64::try_from(ahead.as_secs()).unwrap_or_default(),
                    Err(behind) => -i64::try_from(behind.duration().as_secs()).unwrap_or_default(),
                };
                let known = self.shared.skew.swap(ahead, Ordering::Relaxed);
                tracing::warn!(
                    seconds = ahead,
                    "the clock of the service is ahead of this one"
                );
                !std::mem::replace(&mut chance.clock, true) && known != ahead
            }
        }
    }

    /// Runs one attempt for as long as the call has left.
    async fn within(
        &self,
        left: Duration,
        attempt: impl Future<Output = Result<Answer, Broken>>,
    ) -> Result<Answer, Broken> {
        let attempt = std::pin::pin!(attempt);
        match select(attempt, self.clock.sleep(left)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), _)) => Err(Broken {
                attempt: Attempt::Lost,
                error: Error::new(
                    ErrorKind::Timeout,
                    format!("no answer within {:?}", self.timeout),
                ),
                permanent: true,
            }),
        }
    }

    async fn attempt(&self, http: &reqwest::Client, request: Request) -> Result<Answer, Broken> {
        let mut response = http
            .execute(request)
            .await
            .map_err(|error| self.broken(error))?;
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let failed = status.as_u16() >= 300;
        let cap = if failed { ERROR_BODY_CAP } else { BODY_CAP };
        let mut body = Gathered::default();
        while let Some(mut chunk) = response.chunk().await.map_err(|error| self.broken(error))? {
            let room = cap - body.len();
            if chunk.len() <= room {
                body.push(chunk);
            } else if failed {
                chunk.truncate(room);
                body.push(chunk);
                break;
            } else {
                return Err(Broken {
                    attempt: Attempt::Answer(status),
                    error: Error::new(
                        ErrorKind::Unexpected,
                        format!("the answer is longer than {} MiB", BODY_CAP >> 20),
                    )
                    .with_status(status.as_u16())
                    .with_request_id(request_id(&headers)),
                    permanent: true,
                });
            }
        }
        if status.is_redirection() {
            // A redirect would take the credentials along.
            let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
            return Err(Broken {
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
                .with_request_id(request_id(&headers)),
                permanent: true,
            });
        }
        Ok(Answer {
            status,
            headers,
            body: body.finish(),
        })
    }

    fn broken(&self, error: reqwest::Error) -> Broken {
        // The URL says nothing that the operation does not.
        let error = error.without_url();
        let place = self.endpoint.as_str().trim_end_matches('/');
        let permanent = tls_refused(&error);
        let (attempt, error) = if error.is_connect() && error.is_timeout() {
            let message = format!("no connection to {place} in time");
            (
                Attempt::NotSent,
                Error::new(ErrorKind::Timeout, message).with_source(error),
            )
        } else if error.is_connect() {
            let message = format!("cannot connect to {place}: {}", cause(&error));
            (
                Attempt::NotSent,
                Error::new(ErrorKind::Connection, message).with_source(error),
            )
        } else if error.is_timeout() {
            let message = format!("{place} stopped answering");
            (
                Attempt::Lost,
                Error::new(ErrorKind::Timeout, message).with_source(error),
            )
        } else if error.is_builder() {
            let message = format!("the request cannot be sent: {}", cause(&error));
            (
                Attempt::NotSent,
                Error::new(ErrorKind::Invalid, message).with_source(error),
            )
        } else {
            let message = format!("the connection to {place} broke: {}", cause(&error));
            (
                Attempt::Lost,
                Error::new(ErrorKind::Connection, message).with_source(error),
            )
        };
        Broken {
            attempt,
            permanent: permanent || error.kind() == ErrorKind::Invalid,
            error: if permanent { error.permanent() } else { error },
        }
    }

    /// A copy of the request with the credentials of this moment, and these.
    async fn prepare(
        &self,
        request: &Request,
        record: &Record,
    ) -> Result<(Request, Credentials), Error> {
        let mut outgoing = request.try_clone().ok_or_else(|| {
            Error::invalid("a streaming body cannot be signed, and so it cannot be sent")
        })?;
        let credentials = self.credentials.credentials(&self.tools).await?;
        match &credentials.0 {
            Kind::Token(token) => {
                outgoing
                    .headers_mut()
                    .insert(AUTH_TOKEN, secret_header("token", token)?);
                outgoing
                    .headers_mut()
                    .insert(PROJECT_ID, header("project id", &self.project_id)?);
            }
            Kind::Keys {
                access_key,
                secret_key,
                security_token,
            } => {
                let signed = self.sign(
                    &mut outgoing,
                    access_key,
                    secret_key,
                    security_token.as_deref(),
                )?;
                record.update(|facts| facts.canonical_request = Some(signed));
            }
        }
        if let Some(language) = self.language {
            let value = header("language", &language.to_string())?;
            outgoing.headers_mut().entry("x-language").or_insert(value);
        }
        Ok((outgoing, credentials))
    }

    /// The time of the gateway, as far as it is known.
    fn now(&self) -> SystemTime {
        let now = self.clock.now();
        let skew = self.shared.skew.load(Ordering::Relaxed);
        let distance = Duration::from_secs(skew.unsigned_abs());
        let corrected = if skew >= 0 {
            now.checked_add(distance)
        } else {
            now.checked_sub(distance)
        };
        corrected.unwrap_or(now)
    }

    /// Signs the request; gives back what was signed.
    fn sign(
        &self,
        request: &mut Request,
        access_key: &str,
        secret_key: &str,
        security_token: Option<&str>,
    ) -> Result<String, Error> {
        let url = request.url();
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => return Err(Error::invalid("the request has no host")),
        };
        // What is added to the request.
        let mut added: Vec<(HeaderName, Cow<'_, str>)> = vec![
            (DATE, sign::date(self.now()).into()),
            (PROJECT_ID, self.project_id.as_str().into()),
        ];
        if let Some(token) = security_token {
            added.push((SECURITY_TOKEN, token.into()));
        }
        // What is signed beside it: this is there already.
        let mut headers: Vec<(&str, Cow<'_, str>)> = added
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_ref().into()))
            .collect();
        headers.push(("host", host.into()));
        if let Some(kind) = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
        {
            headers.push((CONTENT_TYPE.as_str(), kind.into()));
        }
        let query: Vec<(String, String)> = match url.query() {
            Some(_) => url.query_pairs().into_owned().collect(),
            None => Vec::new(),
        };
        let signature = sign::sign(
            &sign::Request {
                method: request.method().as_str(),
                path: url.path(),
                query: &query,
                headers: &headers,
                body: request
                    .body()
                    .and_then(reqwest::Body::as_bytes)
                    .unwrap_or_default(),
            },
            access_key,
            secret_key,
            &self.signing,
        );
        drop(headers);
        let authorization = secret_header("signature", &signature.authorization)?;
        for (name, value) in added {
            let value = secret_header(name.as_str(), &value)?;
            request.headers_mut().insert(name, value);
        }
        request
            .headers_mut()
            .insert(reqwest::header::AUTHORIZATION, authorization);
        if !signature.query.is_empty() {
            // What was signed is what is sent.
            request.url_mut().set_query(Some(&signature.query));
        }
        Ok(signature.canonical_request)
    }
}

/// The exceptions to the rule that a refusal is final, as far as they are used up.
#[derive(Default)]
struct SecondChance {
    renewed: bool,
    clock: bool,
}

/// Whether the service may have executed a request that ended like this.
fn is_uncertain(attempt: Attempt) -> bool {
    match attempt {
        Attempt::NotSent => false,
        Attempt::Lost => true,
        // 501 is a refusal; all others may have come too late.
        Attempt::Answer(status) => {
            status == StatusCode::REQUEST_TIMEOUT
                || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        }
    }
}

fn header(what: &str, value: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(value)
        .map_err(|_| Error::config(format!("the {what} cannot be sent as a header")))
}

/// A header that `Debug` does not show.
fn secret_header(what: &str, value: &str) -> Result<HeaderValue, Error> {
    let mut value = header(what, value)?;
    value.set_sensitive(true);
    Ok(value)
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-request-id", "x-iam-trace-id"]
        .into_iter()
        .find_map(|name| headers.get(name)?.to_str().ok().map(str::to_owned))
}

/// Where a redirect leads, without what may be secret in it.
fn host_of(location: &str) -> Option<String> {
    let url = Url::parse(location).ok()?;
    url.host_str()?;
    Some(url.origin().ascii_serialization())
}

/// The innermost cause, which says the most; those around it say "client error".
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &(dyn std::error::Error + 'static) = error;
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
