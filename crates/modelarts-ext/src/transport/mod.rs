//! Transport: authenticates and sends requests, reads the responses, and retries if a retry is safe
//! and useful.
//!
//! [`HttpTransport`] implements the retry loop. A [`connector`] sends the request of each attempt,
//! and `attempt` reads the response. `retry` determines whether another attempt follows, and
//! `retry_budget` limits the number of retries. `call` holds the metadata of a call, such as the
//! request id and the number of attempts, which is returned with the response. `deadline` sets one
//! time limit for a group of related calls, and `rate_limit` spreads the calls of a wait.

pub(crate) mod attempt;
pub(crate) mod call;
pub mod connector;
pub(crate) mod deadline;
pub(crate) mod rate_limit;
pub mod retry;
mod retry_budget;

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::future::{Either, select};
use http::Extensions;
use jiff::SignedDuration;
use modelarts_api::{
    BoxFuture, Operation, RawResponse, Transport, TransportError, error_body, types::Language,
};
use reqwest::{
    Request, StatusCode, Url,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};
use tracing::{Instrument, Span};

use crate::{
    clock::{Clock, since},
    credentials::{
        Credentials, ProvideCredentials, ProviderContext,
        authenticate::{authenticate, copy_without_auth},
        rejection::{self, Rejection},
        secrets::Secrets,
    },
    error::{Error, ErrorKind, call_summary::CallSummary},
    http::{headers, runtime, signing::SigningScheme},
    transport::{
        attempt::{AttemptError, read_response},
        call::CallInfo,
        connector::HttpConnector,
        deadline::Deadline,
        rate_limit::RateLimit,
        retry::{AttemptResult, RetryPolicy, may_retry},
        retry_budget::RetryBudget,
    },
};

static LANGUAGE: HeaderName = HeaderName::from_static("x-language");

/// Error code for a project that is not that of the credentials.
pub(crate) const OTHER_PROJECT: &str = "ModelArts.2786";

/// Transport of a client. Clones share the state in [`Shared`].
#[derive(Clone)]
pub(crate) struct HttpTransport {
    pub(crate) endpoint: Url,
    pub(crate) project_id: HeaderValue,
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    /// The variables or the file that the credentials are from, for messages.
    pub(crate) credentials_origin: Option<Arc<str>>,
    /// The setting that the id of the project is from, for messages.
    pub(crate) project_origin: Arc<str>,
    pub(crate) connector: Arc<dyn HttpConnector>,
    pub(crate) provider_context: ProviderContext,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) signing: SigningScheme,
    pub(crate) retry: RetryPolicy,
    /// The time limit of a call, including all attempts and pauses.
    pub(crate) timeout: Duration,
    /// Time limit of a group of related calls.
    pub(crate) overall_timeout: Duration,
    /// The language of messages; `None` for the default of the service.
    pub(crate) language: Option<Language>,
    pub(crate) shared: Arc<Shared>,
    /// Receives the metadata of each call while the call is in progress, so that it remains
    /// available if the caller drops the call.
    pub(crate) progress: Option<Arc<Mutex<CallSummary>>>,
    /// Rate limit of all attempts; `None` except in a wait for several jobs.
    pub(crate) rate_limit: Option<Arc<RateLimit>>,
}

/// State that all calls of a client share.
pub(crate) struct Shared {
    budget: RetryBudget,
    /// Clock skew of the gateway relative to the local clock, in seconds, that signatures assume. A
    /// gateway that rejects the time of a signature states it.
    skew: AtomicI64,
    /// The same skew as [`service_time`](HttpTransport::service_time) assumes. It is also learnt
    /// from the header `Date` of any response, which no gateway checks for requests with a token.
    service_skew: AtomicI64,
}

impl Shared {
    pub(crate) fn new(policy: &RetryPolicy, now: SystemTime) -> Self {
        Self {
            budget: RetryBudget::new(policy.budget_per_second, policy.budget_share, now),
            skew: AtomicI64::new(0),
            service_skew: AtomicI64::new(0),
        }
    }
}

impl Transport for HttpTransport {
    fn execute<'a>(
        &'a self,
        _: &'a reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>> {
        let span = tracing::info_span!(
            "modelarts",
            operation = operation.id,
            attempts = tracing::field::Empty,
            status = tracing::field::Empty,
            request_id = tracing::field::Empty,
            elapsed_ms = tracing::field::Empty,
        );
        let sent = async move {
            let sent = self.send(&request, operation).await;
            sent.map_err(|error| TransportError::Other(error.into()))
        };
        Box::pin(sent.instrument(span))
    }

    fn is_late(&self, call: &Extensions) -> bool {
        let call = call.get::<CallInfo>();
        call.is_some_and(|call| call.is_late(&*self.clock))
    }

    fn mask(&self, call: &Extensions, text: &str) -> Option<String> {
        call.get::<CallInfo>()?.mask().document(text)
    }
}

impl HttpTransport {
    async fn send(
        &self,
        request: &Request,
        operation: &'static Operation,
    ) -> Result<RawResponse, Error> {
        let ready = self.require_runtime();
        if ready.is_ok() {
            // The time limit of the call begins with its turn.
            self.turn().await;
        }
        let started = self.clock.now();
        let mut call = CallInfo {
            timeout: self.timeout,
            ..CallInfo::default()
        };
        call.summary.operation = Some(operation.id);
        self.report(&call);
        let result = match ready {
            Ok(()) => {
                self.send_with_retries(request, operation, &mut call, started)
                    .await
            }
            Err(error) => Err(error),
        };
        call.summary.elapsed = since(&*self.clock, started);
        let span = Span::current();
        span.record("attempts", call.attempts());
        span.record("status", call.status);
        span.record("request_id", call.request_id());
        span.record(
            "elapsed_ms",
            u64::try_from(call.elapsed().as_millis()).unwrap_or(u64::MAX),
        );
        match result {
            Ok(mut response) => {
                call.answered_at = Some(self.clock.now());
                if !response.status.is_success() || response.body.first() == Some(&b'<') {
                    call.advice = self.advice(&response, &call);
                }
                response.extensions.insert(call);
                Ok(response)
            }
            Err(error) => Err(error.with_call(call.summary)),
        }
    }

    /// Waits until the rate limit permits another attempt.
    async fn turn(&self) {
        if let Some(limit) = &self.rate_limit {
            limit.turn(&*self.clock).await;
        }
    }

    /// Checks that the caller runs in a tokio runtime if the connector or the clock needs one.
    pub(crate) fn require_runtime(&self) -> Result<(), Error> {
        match self.connector.requires_tokio() || self.clock.requires_tokio() {
            true => runtime::require(),
            false => Ok(()),
        }
    }

    /// Returns advice for a response that rejects the project or the credentials of the last
    /// attempt, or is a page.
    #[cold]
    fn advice(&self, response: &RawResponse, call: &CallInfo) -> Option<String> {
        if error_body::html_page(&String::from_utf8_lossy(&response.body)).is_some() {
            return Some(format!(
                "the page is from a proxy, a login or another server, not from ModelArts; check \
                 the endpoint {} and the settings of the proxy",
                self.endpoint.as_str().trim_end_matches('/')
            ));
        }
        let origin = self.credentials_origin.as_deref();
        let code = error_body::find(&response.body).and_then(|(code, _)| code);
        if code.as_deref() == Some(OTHER_PROJECT) {
            let credentials = origin.map(|origin| format!(", the credentials from {origin}"));
            return Some(format!(
                "the project id is from {}{}",
                self.project_origin,
                credentials.unwrap_or_default()
            ));
        }
        let signed = call.canonical_request.as_deref();
        // The secrets in the response are masked already.
        let masked = signed.and_then(|signed| call.mask().text(signed));
        let advice = rejection::advice(
            response.status,
            &response.body,
            masked.as_deref().or(signed),
            &call.secrets.last()?.credentials,
            &*self.credentials,
            origin,
        )?;
        // The advice of a provider may quote a secret of its request.
        Some(call.mask().text(&advice).unwrap_or(advice))
    }

    /// Reports the progress of a call.
    fn report(&self, call: &CallInfo) {
        if let Some(progress) = &self.progress {
            // The metadata is replaced as a whole, so it is consistent even after a panic of
            // another thread.
            *progress.lock().unwrap_or_else(PoisonError::into_inner) = call.summary.clone();
        }
    }

    async fn send_with_retries(
        &self,
        request: &Request,
        operation: &'static Operation,
        call: &mut CallInfo,
        started: SystemTime,
    ) -> Result<RawResponse, Error> {
        let mut retries = 0;
        let mut fixes = Fixes::default();
        self.shared.budget.deposit();
        let mut left = self.timeout;
        loop {
            // Clock skew assumed by the signature; `None` until the request is signed.
            let mut signed_skew = None;
            let was_uncertain = call.summary.uncertain;
            let response = {
                let attempt = pin!(async {
                    let credentials = match self.credentials.cached() {
                        Some(credentials) => credentials,
                        None => {
                            let fetched = self.credentials.credentials(&self.provider_context);
                            fetched.await.map_err(not_sent)?
                        }
                    };
                    // Concurrent calls may change the skew, so an attempt reads it only once.
                    let skew = self.shared.skew.load(Ordering::Relaxed);
                    let outgoing = self.authenticate(request, &credentials, skew, call);
                    // The copy is created inside the attempt, so that it is dropped while the
                    // response is pending.
                    let outgoing = outgoing.map_err(not_sent)?;
                    let authorization = outgoing.headers().get(AUTHORIZATION).cloned();
                    let response = self.connector.send(outgoing);
                    let secrets = Secrets {
                        credentials,
                        authorization,
                    };
                    call.secrets.push(secrets.clone());
                    call.summary.attempts += 1;
                    call.summary.uncertain = true;
                    signed_skew = Some(skew);
                    self.report(call);
                    read_response(response, &secrets, &self.endpoint).await
                });
                match select(attempt, self.clock.sleep(left)).await {
                    Either::Left((outcome, _)) => Some(outcome),
                    Either::Right(((), _)) => None,
                }
            };
            let response = response.unwrap_or_else(|| {
                let message = format!("no answer within {:?}", self.timeout);
                Err(AttemptError {
                    result: match signed_skew {
                        Some(_) => AttemptResult::Lost,
                        // The time limit passed before the provider returned credentials.
                        None => AttemptResult::NotSent,
                    },
                    error: Error::new(ErrorKind::Timeout, message),
                    permanent: true,
                })
            });
            if let Ok(answer) = &response
                && let Some(date) = headers::date(&answer.headers)
            {
                let ahead = self.seconds_until(date);
                self.shared.service_skew.store(ahead, Ordering::Relaxed);
            }
            let (result, wait, permanent) = match &response {
                Ok(answer) => (
                    AttemptResult::Response(answer.status),
                    headers::retry_after(&answer.headers, || self.service_time(self.clock.now())),
                    false,
                ),
                // The error may contain a `Retry-After` from IAM.
                Err(failed) => (failed.result, failed.error.retry_after(), failed.permanent),
            };
            call.summary.retry_after = wait;
            let secrets = signed_skew.and(call.secrets.last());
            (call.status, call.summary.request_id) = match (&response, secrets) {
                (Ok(answer), Some(secrets)) => (
                    Some(answer.status.as_u16()),
                    headers::request_id(&answer.headers).map(|id| secrets.mask_id(id)),
                ),
                // The response is a redirect or exceeds the maximum length.
                (Err(AttemptError { error, .. }), Some(_)) => {
                    (error.status(), error.request_id().map(str::to_owned))
                }
                (_, None) => (None, None),
            };
            if signed_skew.is_some() {
                call.summary.uncertain = was_uncertain || is_uncertain(result);
            }
            self.report(call);
            if let AttemptResult::Response(status) = result
                && status.is_success()
            {
                return response.map_err(|failed| failed.error);
            }
            if let (Ok(answer), Some(skew), Some(secrets)) =
                (&response, signed_skew, call.secrets.last())
                && self.fix_rejection(answer, &secrets.credentials, skew, &mut fixes)
            {
                self.turn().await;
                left = self.left(started);
                continue;
            }
            let delay = (!permanent && may_retry(operation.effect, result))
                .then(|| {
                    self.retry
                        .delay(retries, wait, since(&*self.clock, started))
                })
                .flatten()
                .filter(|delay| *delay < self.left(started))
                .filter(|_| self.take_retry());
            let Some(delay) = delay else {
                return response.map_err(|failed| failed.error);
            };
            tracing::debug!(attempt = ?result, pause = ?delay, "sending again");
            self.clock.sleep(delay).await;
            self.turn().await;
            retries += 1;
            left = self.left(started);
        }
    }

    /// Returns a copy of the request, authenticated with these credentials for a gateway whose
    /// clock is ahead by `skew` seconds.
    fn authenticate(
        &self,
        request: &Request,
        credentials: &Credentials,
        skew: i64,
        call: &mut CallInfo,
    ) -> Result<Request, Error> {
        let now = add_seconds(self.clock.now(), skew);
        let (signing, project_id) = (&self.signing, Some(&self.project_id));
        let mut outgoing = copy_without_auth(request)?;
        let canonical = authenticate(&mut outgoing, credentials, signing, project_id, now)?;
        call.canonical_request = canonical.or(call.canonical_request.take());
        if let Some(language) = self.language {
            let value = HeaderValue::try_from(language.to_string())
                .map_err(|_| Error::config("the language cannot be sent as a header"))?;
            outgoing.headers_mut().entry(&LANGUAGE).or_insert(value);
        }
        Ok(outgoing)
    }

    /// Converts a local time to the time of the gateway.
    pub(crate) fn service_time(&self, local: SystemTime) -> SystemTime {
        add_seconds(local, self.shared.service_skew.load(Ordering::Relaxed))
    }

    /// Returns the seconds from now, by the local clock, to a time of the gateway.
    fn seconds_until(&self, server: SystemTime) -> i64 {
        let ahead = SignedDuration::system_until(self.clock.now(), server);
        ahead.map_or(0, |ahead| ahead.as_secs())
    }

    /// Starts the deadline of a group of related calls.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::new(&*self.clock, Some(self.overall_timeout))
    }

    /// Returns the remaining time of a call.
    fn left(&self, started: SystemTime) -> Duration {
        self.timeout.saturating_sub(since(&*self.clock, started))
    }

    /// Takes the token of one retry from the budget. Returns `false` if the budget is empty.
    pub(crate) fn take_retry(&self) -> bool {
        self.shared.budget.withdraw(self.clock.now())
    }

    /// Corrects the cause of a rejected request: renews the credentials, or adopts the time of the
    /// gateway. Returns `false` if neither is possible. Each correction is tried once per call,
    /// because a gateway that rejects five consecutive signatures locks the key for five minutes.
    fn fix_rejection(
        &self,
        answer: &RawResponse,
        credentials: &Credentials,
        skew: i64,
        fixes: &mut Fixes,
    ) -> bool {
        let Some(rejection) = rejection::parse(answer.status, &answer.body) else {
            return false;
        };
        match rejection {
            Rejection::Expired => {
                !std::mem::replace(&mut fixes.renewed, true) && self.credentials.renew(credentials)
            }
            Rejection::Clock { server } => {
                let ahead = self.seconds_until(server);
                self.shared.skew.store(ahead, Ordering::Relaxed);
                self.shared.service_skew.store(ahead, Ordering::Relaxed);
                tracing::warn!(
                    seconds = ahead,
                    "the clock of the service is ahead of this one"
                );
                // Compared with the skew of this attempt, because concurrent calls may have changed
                // the shared skew.
                !std::mem::replace(&mut fixes.clock, true) && skew != ahead
            }
        }
    }
}

/// Corrections that a call has already tried.
#[derive(Default)]
struct Fixes {
    renewed: bool,
    clock: bool,
}

/// Returns the error of an attempt that ended before the request was sent. An unreachable IAM is
/// reported like an unreachable service.
#[cold]
fn not_sent(error: Error) -> AttemptError {
    AttemptError {
        result: AttemptResult::NotSent,
        permanent: !error.is_retryable(),
        error,
    }
}

/// Returns `true` if the service may have executed a request with this result.
fn is_uncertain(result: AttemptResult) -> bool {
    match result {
        AttemptResult::NotSent => false,
        AttemptResult::Lost => true,
        AttemptResult::Response(status) => match status {
            // The gateway stopped waiting for the request, but may have received all of it.
            StatusCode::REQUEST_TIMEOUT => true,
            // A server that lacks an operation cannot have executed it.
            StatusCode::NOT_IMPLEMENTED => false,
            // For a success or a rejection, the body determines the result; see
            // `Error::is_uncertain`.
            status if status.is_success() || status.is_client_error() => false,
            // The request may have been executed: the response was late, or a gateway in between
            // sent it.
            _ => true,
        },
    }
}

/// Adds a positive or negative number of seconds to a time.
fn add_seconds(time: SystemTime, seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let sum = if seconds >= 0 {
        time.checked_add(distance)
    } else {
        time.checked_sub(distance)
    };
    sum.unwrap_or(time)
}
