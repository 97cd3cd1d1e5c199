//! Loop over the attempts of a call, which retries a request if a retry is safe and useful.

use std::{
    pin::pin,
    sync::atomic::Ordering,
    time::{Duration, SystemTime},
};

use futures::future::{Either, select};
use modelarts_api::{Operation, RawResponse};
use reqwest::{
    Request, StatusCode,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};
use tracing::{Instrument, Span, field};

use crate::{
    clock::{self, since},
    credentials::{
        Credentials,
        authenticate::{Secrets, authenticate, copy_without_auth},
        rejection::{self, Rejection},
    },
    error::{Error, ErrorKind},
    http::{headers, observer::Attempt},
    transport::{
        HttpTransport, add_seconds,
        attempt::{AttemptError, read_response},
        call::CallInfo,
        retry::{AttemptResult, may_retry},
    },
};

static LANGUAGE: HeaderName = HeaderName::from_static("x-language");

impl HttpTransport {
    pub(super) async fn send_with_retries(
        &self,
        request: &Request,
        operation: &'static Operation,
        call: &mut CallInfo,
        mut started: SystemTime,
    ) -> Result<RawResponse, Error> {
        let mut retries = 0;
        let mut fixes = Fixes::default();
        self.shared.budget.deposit();
        let mut left = self.timeout;
        loop {
            let mut signed_skew = None;
            let mut sent_at = None;
            let mut span = Span::none();
            let was_uncertain = call.summary.uncertain;
            let response = {
                let attempt = pin!(async {
                    let credentials = match self.access.credentials.cached() {
                        Some(credentials) => credentials,
                        None => {
                            let fetched = self.access.credentials.credentials(&self.access.context);
                            fetched.await.map_err(not_sent)?
                        }
                    };
                    // An attempt reads the skew only once, because concurrent calls may change it.
                    let skew = self.shared.skew.load(Ordering::Relaxed);
                    let outgoing = self.authenticate(request, &credentials, skew, call);
                    // The copy of the request does not exist while the response is pending.
                    let outgoing = outgoing.map_err(not_sent)?;
                    let authorization = outgoing.headers().get(AUTHORIZATION).cloned();
                    span = attempt_span(request, call.attempts());
                    let response = span.in_scope(|| self.connector.send(outgoing));
                    let secrets = Secrets { credentials, authorization };
                    call.secrets.push(secrets.clone());
                    call.summary.attempts += 1;
                    call.summary.uncertain = true;
                    signed_skew = Some(skew);
                    sent_at = self.observer.is_set().then(|| self.clock.now());
                    self.report(call);
                    read_response(response, &secrets, &self.endpoint, self.access.context.proxy())
                        .instrument(span.clone())
                        .await
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
            end_span(span, &response);
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
                // The error may contain the `Retry-After` of a response from IAM.
                Err(failed) => (failed.result, failed.error.retry_after(), failed.permanent),
            };
            let wait = wait.map(|wait| wait.min(self.clock.max_pause()));
            call.summary.retry_after = wait;
            if let (Some(limit), Some(wait)) = (&self.rate_limit, wait) {
                // The pause also applies to concurrent calls.
                limit.hold(self.clock.now(), wait);
            }
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
            let observe = |call: &CallInfo, next| {
                if let Some(sent_at) = sent_at {
                    self.observer.observe(&Attempt {
                        operation: operation.id,
                        number: call.attempts(),
                        result: match &response {
                            Ok(answer) => Ok(answer.status.as_u16()),
                            Err(failed) => Err(&failed.error),
                        },
                        elapsed: since(&*self.clock, sent_at),
                        next,
                    });
                }
            };
            if let AttemptResult::Response(status) = result
                && status.is_success()
            {
                observe(call, None);
                return response.map_err(|failed| failed.error);
            }
            if let (Ok(answer), Some(skew), Some(secrets)) =
                (&response, signed_skew, call.secrets.last())
                && self.fix_rejection(answer, &secrets.credentials, skew, &mut fixes)
            {
                observe(call, Some(Duration::ZERO));
                started += self.await_permit().await;
                left = self.left(started);
                continue;
            }
            let delay = (!permanent && may_retry(operation.effect, result))
                .then(|| self.retry.delay(retries, wait, since(&*self.clock, started)))
                .flatten()
                .map(|delay| delay.min(self.clock.max_pause()))
                .filter(|delay| *delay < self.left(started))
                .filter(|_| self.take_retry());
            observe(call, delay);
            let Some(delay) = delay else {
                return response.map_err(|failed| failed.error);
            };
            tracing::debug!(attempt = ?result, pause = ?delay, "sending again");
            clock::pause(&*self.clock, delay).await;
            started += self.await_permit().await;
            retries += 1;
            left = self.left(started);
        }
    }

    /// Returns an authenticated copy of the request, dated `skew` seconds after the local clock.
    fn authenticate(
        &self,
        request: &Request,
        credentials: &Credentials,
        skew: i64,
        call: &mut CallInfo,
    ) -> Result<Request, Error> {
        let now = add_seconds(self.clock.now(), skew);
        let (signing, project_id) = (&self.access.signing, Some(&self.access.project_id));
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

    /// Returns `true` after fixing a rejection, once per kind and call: five rejections lock a key.
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
                !std::mem::replace(&mut fixes.renewed, true)
                    && self.access.credentials.renew(credentials)
            }
            Rejection::Clock { server } => {
                let ahead = self.seconds_until(server);
                self.shared.skew.store(ahead, Ordering::Relaxed);
                self.shared.service_skew.store(ahead, Ordering::Relaxed);
                tracing::warn!(seconds = ahead, "the clock of the service is ahead of this one");
                // Concurrent calls may have changed the shared skew.
                !std::mem::replace(&mut fixes.clock, true) && skew != ahead
            }
        }
    }
}

/// Creates the span of an attempt, with the attributes of an HTTP client in OpenTelemetry.
fn attempt_span(request: &Request, resends: u32) -> Span {
    let (method, url) = (request.method().as_str(), request.url());
    tracing::info_span!(
        "http",
        otel.kind = "client",
        otel.name = method,
        otel.status_code = field::Empty,
        http.request.method = method,
        http.request.resend_count = (resends > 0).then_some(resends),
        http.response.status_code = field::Empty,
        server.address = url.host_str(),
        server.port = url.port_or_known_default(),
        url.full = url.as_str(),
        error.type = field::Empty,
    )
}

fn end_span(span: Span, response: &Result<RawResponse, AttemptError>) {
    let (status, kind) = match response {
        Ok(answer) => (Some(answer.status.as_u16()), None),
        Err(failed) => (failed.error.status(), Some(failed.error.kind())),
    };
    span.record("http.response.status_code", status);
    let error = match (status.filter(|status| *status >= 400), kind) {
        (Some(status), _) => status.to_string(),
        (None, Some(kind)) => format!("{kind:?}"),
        (None, None) => return,
    };
    span.record("error.type", error);
    span.record("otel.status_code", "ERROR");
}

#[derive(Default)]
struct Fixes {
    renewed: bool,
    clock: bool,
}

/// Converts an error before sending, such as an unreachable IAM, to the error of an attempt.
#[cold]
fn not_sent(error: Error) -> AttemptError {
    AttemptError { result: AttemptResult::NotSent, permanent: !error.is_retryable(), error }
}

fn is_uncertain(result: AttemptResult) -> bool {
    match result {
        AttemptResult::NotSent => false,
        AttemptResult::Lost => true,
        AttemptResult::Response(status) => match status {
            // The gateway stopped waiting for the request, but may have received it completely.
            StatusCode::REQUEST_TIMEOUT => true,
            // The server does not implement the operation, so it cannot have executed it.
            StatusCode::NOT_IMPLEMENTED => false,
            // The body determines the result; see `Error::is_uncertain`.
            status if status.is_success() || status.is_client_error() => false,
            // The response was late, or was sent by a gateway.
            _ => true,
        },
    }
}
