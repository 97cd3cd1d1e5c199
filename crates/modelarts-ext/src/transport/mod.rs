//! Sends requests: signs, sends, reads the answer, and does it again if that is
//! safe and useful.

pub(crate) mod attempt;
pub(crate) mod call;
pub(crate) mod call_accessors;
pub mod connector;
pub(crate) mod deadline;
pub(crate) mod retry;
mod retry_budget;

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::future::{Either, select};
use modelarts_api::{BoxFuture, Operation, Response, Transport, TransportError, types::Language};
use reqwest::{
    Request, StatusCode, Url,
    header::{AUTHORIZATION, HeaderValue},
};
use tracing::{Instrument, Span};

use crate::error::mask::Secrets;
use crate::transport::deadline::Deadline;
use crate::{
    clock::{Clock, since},
    credentials::{
        ProvideCredentials, ProviderContext,
        authenticate::Used,
        rejection::{self, Refusal},
    },
    error::{Error, ErrorKind},
    http::signing::SigningScheme,
    transport::{
        attempt::{AttemptError, request_id},
        call::{Record, Watch},
        connector::HttpConnector,
        retry::{Attempt, RetryPolicy, may_retry, pause, retry_after},
        retry_budget::RetryBudget,
    },
};

/// An answer that is there may be decoded for so long, however late it came.
const DECODING: Duration = Duration::from_secs(1);

/// The transport of this crate.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    pub(crate) endpoint: Url,
    pub(crate) project_id: HeaderValue,
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    pub(crate) connector: Arc<dyn HttpConnector>,
    /// What the provider of the credentials works with.
    pub(crate) tools: ProviderContext,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) signing: SigningScheme,
    pub(crate) retry: RetryPolicy,
    /// How long a call may take, all attempts and pauses together.
    pub(crate) timeout: Duration,
    /// How long several calls may take that serve one purpose.
    pub(crate) overall_timeout: Duration,
    /// The language of messages, if the service is to be told.
    pub(crate) language: Option<Language>,
    /// What clones share.
    pub(crate) shared: Arc<Common>,
}

/// What the calls of one client have in common.
pub(crate) struct Common {
    /// What retries are paid from.
    budget: RetryBudget,
    /// How far the clock of the gateway is ahead of ours, in seconds.
    pub(crate) skew: AtomicI64,
}

impl Common {
    pub(crate) fn new(policy: &RetryPolicy, now: SystemTime) -> Self {
        Self {
            budget: policy.make_budget(now),
            skew: AtomicI64::new(0),
        }
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("endpoint", &self.endpoint.as_str())
            .finish_non_exhaustive()
    }
}

impl Transport for HttpTransport {
    fn execute<'a>(
        &'a self,
        _: &'a reqwest::Client,
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
        let recorder = span.clone();
        Box::pin(
            async move {
                self.send(&request, operation, &recorder)
                    .await
                    .map_err(|error| TransportError::Other(Box::new(error)))
            }
            .instrument(span),
        )
    }
}

impl HttpTransport {
    async fn send(
        &self,
        request: &Request,
        operation: &'static Operation,
        span: &Span,
    ) -> Result<Response, Error> {
        let record = Record::current();
        record.update(|facts| facts.operation = Some(operation.id));
        let started = self.clock.now();
        let result = self.attempts(request, operation, &record, started).await;
        let elapsed = since(&*self.clock, started);
        record.update(|facts| {
            facts.elapsed = elapsed;
            span.record("attempts", facts.attempts);
            span.record("status", facts.status);
            span.record("request_id", facts.request_id.as_deref());
            span.record(
                "elapsed_ms",
                u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            );
        });
        let mut response = result?;
        response.observer = Some(Arc::new(Watch {
            record,
            clock: Arc::clone(&self.clock),
            started: self.clock.now(),
            left: self.timeout.saturating_sub(elapsed).max(DECODING),
            timeout: self.timeout,
        }));
        Ok(response)
    }

    async fn attempts(
        &self,
        request: &Request,
        operation: &'static Operation,
        record: &Record,
        started: SystemTime,
    ) -> Result<Response, Error> {
        let mut retries = 0;
        let mut second_chance = SecondChance::default();
        self.shared.budget.deposit();
        let mut left = self.timeout;
        loop {
            let mut used = None;
            // Of the attempts before this one.
            let mut uncertain = false;
            let mut outcome = {
                let attempt = pin!(async {
                    let credentials = match self.credentials.cached() {
                        Some(credentials) => credentials,
                        None => {
                            let asked = self.credentials.credentials(&self.tools);
                            asked.await.map_err(not_sent)?
                        }
                    };
                    // Other calls may find out about the clock meanwhile.
                    let skew = self.shared.skew.load(Ordering::Relaxed);
                    let outgoing = self.authorize(request, &credentials, skew, record);
                    // Made here, so that the request is not kept while the answer is waited for.
                    let outgoing = outgoing.map_err(not_sent)?;
                    let authorization = outgoing.headers().get(AUTHORIZATION).cloned();
                    let answer = self.connector.send(outgoing);
                    let secrets = Secrets {
                        credentials,
                        authorization,
                    };
                    let Used { secrets, .. } = used.insert(Used { secrets, skew });
                    record.update(|facts| {
                        facts.secrets.push(secrets.clone());
                        facts.attempts += 1;
                        uncertain = std::mem::replace(&mut facts.uncertain, true);
                    });
                    self.attempt(answer, secrets).await
                });
                match select(attempt, self.clock.sleep(left)).await {
                    Either::Left((outcome, _)) => outcome,
                    Either::Right(((), _)) => Err(self.out_of_time()),
                }
            };
            if let (Err(broken), None) = (&mut outcome, &used) {
                // Time ran out while there were no credentials yet.
                broken.attempt = Attempt::NotSent;
            }
            let (attempt, wait, permanent) = match &outcome {
                Ok(answer) => (
                    Attempt::Answer(answer.status),
                    retry_after(&answer.headers, || self.now()),
                    false,
                ),
                // An IAM that is asked for credentials may want to be left alone, too.
                Err(broken) => (broken.attempt, broken.error.retry_after(), broken.permanent),
            };
            record.update(|facts| {
                if used.is_some() {
                    facts.uncertain = uncertain || is_uncertain(attempt);
                }
                facts.retry_after = wait;
                (facts.status, facts.request_id) = match &outcome {
                    Ok(answer) => (
                        Some(answer.status.as_u16()),
                        used.as_ref()
                            .and_then(|used| request_id(&answer.headers, &used.secrets)),
                    ),
                    // A redirect, or too long an answer.
                    Err(AttemptError { error, .. }) if used.is_some() => {
                        (error.status(), error.request_id().map(str::to_owned))
                    }
                    Err(_) => (None, None),
                };
            });
            if let Attempt::Answer(status) = attempt
                && status.is_success()
            {
                return outcome.map_err(|broken| broken.error);
            }
            if let (Ok(answer), Some(used)) = (&outcome, &used)
                && self.has_second_chance(answer, used, &mut second_chance)
            {
                left = self.left(started);
                continue;
            }
            let again = !permanent && may_retry(operation.effect, attempt);
            let pause = again
                .then(|| self.retry.ceilings().nth(retries))
                .flatten()
                .map(|ceiling| pause(wait, ceiling))
                .filter(|pause| {
                    let after = since(&*self.clock, started).saturating_add(*pause);
                    after < self.retry.max_elapsed && after < self.timeout
                })
                .filter(|_| self.pay_retry());
            let Some(pause) = pause else {
                return outcome.map_err(|broken| broken.error);
            };
            tracing::debug!(?attempt, ?pause, "sending again");
            self.clock.sleep(pause).await;
            retries += 1;
            left = self.left(started);
        }
    }

    /// The time limit of several calls that serve one purpose, which begins now.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::new(&*self.clock, Some(self.overall_timeout))
    }

    /// What is left of the time that the call may take.
    fn left(&self, started: SystemTime) -> Duration {
        self.timeout.saturating_sub(since(&*self.clock, started))
    }

    /// Whether one more retry can be paid, and pays it.
    pub(crate) fn pay_retry(&self) -> bool {
        self.shared.budget.withdraw(self.clock.now())
    }

    /// Whether a refusal of the credentials can be mended: by newer ones, or by
    /// the right time. Each once in a call, because a gateway that refuses five
    /// signatures in a row locks the key for five minutes.
    fn has_second_chance(&self, answer: &Response, used: &Used, chance: &mut SecondChance) -> bool {
        let Some(refusal) = rejection::read(answer.status, &answer.body) else {
            return false;
        };
        match refusal {
            Refusal::Expired => {
                !std::mem::replace(&mut chance.renewed, true)
                    && self.credentials.renew(&used.secrets.credentials)
            }
            Refusal::Clock { server } => {
                let ahead = match server.duration_since(self.clock.now()) {
                    Ok(ahead) => i64::try_from(ahead.as_secs()).unwrap_or_default(),
                    Err(behind) => -i64::try_from(behind.duration().as_secs()).unwrap_or_default(),
                };
                self.shared.skew.store(ahead, Ordering::Relaxed);
                tracing::warn!(
                    seconds = ahead,
                    "the clock of the service is ahead of this one"
                );
                // What this call was signed with counts, not what others know by now.
                !std::mem::replace(&mut chance.clock, true) && used.skew != ahead
            }
        }
    }

    /// The end of an attempt that took all the time that the call had left.
    fn out_of_time(&self) -> AttemptError {
        AttemptError {
            attempt: Attempt::Lost,
            error: Error::new(
                ErrorKind::Timeout,
                format!("no answer within {:?}", self.timeout),
            ),
            permanent: true,
        }
    }
}

/// The exceptions to the rule that a refusal is final, as far as they are used up.
#[derive(Default)]
struct SecondChance {
    renewed: bool,
    clock: bool,
}

/// Nothing was sent. An IAM that cannot be reached for the moment is like a service that
/// cannot be.
#[cold]
fn not_sent(error: Error) -> AttemptError {
    AttemptError {
        attempt: Attempt::NotSent,
        permanent: !error.is_retryable(),
        error,
    }
}

/// Whether the service may have executed a request that ended like this.
fn is_uncertain(attempt: Attempt) -> bool {
    match attempt {
        Attempt::NotSent => false,
        Attempt::Lost => true,
        Attempt::Answer(status) => match status {
            StatusCode::REQUEST_TIMEOUT => true,
            StatusCode::NOT_IMPLEMENTED => false,
            // Of a success the body tells, of a refusal too; see `Error::is_uncertain`. All
            // others may have come too late, or from something between here and the service.
            status => !status.is_success() && !status.is_client_error(),
        },
    }
}
