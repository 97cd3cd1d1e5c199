//! Transport: authenticates and sends requests, reads responses, and retries if it is safe.
//!
//! [`HttpTransport`] sends calls with `retry_loop`. A [`connector`] sends each attempt, and
//! `attempt` reads the response. `retry` decides on retries, within a budget. `call` contains the
//! metadata of a call, and `deadline` the time limits of several calls and rate limits.

pub(crate) mod attempt;
pub(crate) mod call;
pub mod connector;
pub(crate) mod deadline;
pub mod retry;
mod retry_loop;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};

use http::Extensions;
use jiff::SignedDuration;
use modelarts_api::{
    BoxFuture, Operation, RawResponse, Transport, TransportError, codes, error_body,
    types::Language,
};
use reqwest::{Request, Url, header::HeaderValue};
use tracing::{Instrument, Span};

use crate::{
    clock::{Clock, since},
    credentials::{ProvideCredentials, ProviderContext, rejection},
    error::{CallSummary, Error},
    http::{observer::Observer, runtime, signing::SigningScheme},
    transport::{
        call::CallInfo,
        connector::HttpConnector,
        deadline::{Deadline, RateLimit},
        retry::{RetryBudget, RetryPolicy},
    },
};

#[derive(Clone)]
pub(crate) struct HttpTransport {
    pub(crate) endpoint: Url,
    pub(crate) access: Access,
    pub(crate) connector: Arc<dyn HttpConnector>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Duration,
    pub(crate) language: Option<Language>,
    pub(crate) shared: Arc<Shared>,
    /// Receives the summary of a call in progress, even if the caller drops the call.
    pub(crate) progress: Option<Arc<Mutex<CallSummary>>>,
    pub(crate) rate_limit: Option<Arc<RateLimit>>,
    pub(crate) observer: Observer,
}

#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) project_id: HeaderValue,
    pub(crate) project_origin: Arc<str>,
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    pub(crate) credentials_origin: Option<Arc<str>>,
    pub(crate) context: ProviderContext,
    pub(crate) signing: SigningScheme,
}

pub(crate) struct Shared {
    budget: RetryBudget,
    /// Clock skew of the gateway in seconds, from rejections of the request time.
    skew: AtomicI64,
    /// Clock skew in seconds for [`service_time`](HttpTransport::service_time), from rejections and
    /// from the header `Date`, because gateways do not check the time of requests with a token.
    service_skew: AtomicI64,
    overall_timeout: Duration,
    /// State of other modules, by type.
    extensions: Mutex<Extensions>,
}

impl Shared {
    pub(crate) fn new(policy: &RetryPolicy, overall_timeout: Duration, now: SystemTime) -> Self {
        Self {
            overall_timeout,
            budget: RetryBudget::new(policy.budget_per_second, policy.budget_share, now),
            skew: AtomicI64::new(0),
            service_skew: AtomicI64::new(0),
            extensions: Mutex::default(),
        }
    }

    /// Returns the state of this type, which all clones of a client share.
    pub(crate) fn extension<T: Clone + Default + Send + Sync + 'static>(&self) -> T {
        // The state is valid after each change.
        let mut extensions = self.extensions.lock().unwrap_or_else(PoisonError::into_inner);
        extensions.get_or_insert_default::<T>().clone()
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
            // The time limit of the call does not include this wait for a permit.
            self.await_permit().await;
        }
        let started = self.clock.now();
        let mut call = CallInfo { timeout: self.timeout, ..CallInfo::default() };
        call.summary.operation = Some(operation.id);
        self.report(&call);
        let result = match ready {
            Ok(()) => self.send_with_retries(request, operation, &mut call, started).await,
            Err(error) => Err(error),
        };
        call.summary.elapsed = since(&*self.clock, started);
        let span = Span::current();
        span.record("attempts", call.attempts());
        span.record("status", call.status);
        span.record("request_id", call.request_id());
        span.record("elapsed_ms", u64::try_from(call.elapsed().as_millis()).unwrap_or(u64::MAX));
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

    /// Waits for the rate limit. Returns the waiting time, which time limits of calls exclude.
    async fn await_permit(&self) -> Duration {
        let Some(limit) = &self.rate_limit else {
            return Duration::ZERO;
        };
        let started = self.clock.now();
        limit.await_permit(&*self.clock).await;
        since(&*self.clock, started)
    }

    pub(crate) fn require_runtime(&self) -> Result<(), Error> {
        match self.connector.requires_tokio() || self.clock.requires_tokio() {
            true => runtime::require(),
            false => Ok(()),
        }
    }

    #[cold]
    fn advice(&self, response: &RawResponse, call: &CallInfo) -> Option<String> {
        if error_body::html_page(&String::from_utf8_lossy(&response.body)).is_some() {
            return Some(format!(
                "the page is from a proxy, a login or another server, not from ModelArts; check \
                 the endpoint {} and the settings of the proxy",
                self.endpoint.as_str().trim_end_matches('/')
            ));
        }
        let origin = self.access.credentials_origin.as_deref();
        let code = error_body::find(&response.body).and_then(|(code, _)| code);
        if code.as_deref() == Some(codes::TOKEN_PROJECT_ID_NOT_MATCH) {
            let credentials = origin.map(|origin| format!(", the credentials from {origin}"));
            return Some(format!(
                "the project id is from {}{}",
                self.access.project_origin,
                credentials.unwrap_or_default()
            ));
        }
        let signed = call.canonical_request.as_deref();
        // The secrets in the response are masked, so those in the local request must be as well.
        let masked = signed.and_then(|signed| call.mask().text(signed));
        let advice = rejection::advice(
            response.status,
            &response.body,
            masked.as_deref().or(signed),
            &call.secrets.last()?.credentials,
            &*self.access.credentials,
            origin,
        )?;
        // The advice of a provider may contain a secret.
        Some(call.mask().text(&advice).unwrap_or(advice))
    }

    fn report(&self, call: &CallInfo) {
        if let Some(progress) = &self.progress {
            // The summary is replaced completely, so it is valid after a panic of another thread.
            *progress.lock().unwrap_or_else(PoisonError::into_inner) = call.summary.clone();
        }
    }

    pub(crate) fn service_time(&self, local: SystemTime) -> SystemTime {
        add_seconds(local, self.shared.service_skew.load(Ordering::Relaxed))
    }

    fn seconds_until(&self, server: SystemTime) -> i64 {
        let ahead = SignedDuration::system_until(self.clock.now(), server);
        ahead.map_or(0, |ahead| ahead.as_secs())
    }

    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::new(&self.clock, Some(self.shared.overall_timeout))
    }

    fn left(&self, started: SystemTime) -> Duration {
        self.timeout.saturating_sub(since(&*self.clock, started))
    }

    /// Takes one retry from the budget. Returns `false` if the budget is exhausted.
    pub(crate) fn take_retry(&self) -> bool {
        self.shared.budget.withdraw(self.clock.now())
    }
}

fn add_seconds(time: SystemTime, seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let sum = if seconds >= 0 { time.checked_add(distance) } else { time.checked_sub(distance) };
    sum.unwrap_or(time)
}
