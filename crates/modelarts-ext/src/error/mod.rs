//! [`Error`], the error type of the crate.
//!
//! The service reports errors in several shapes, many of its error codes share one HTTP status, and
//! some calls fail before they reach the service. An [`Error`] contains the details of a failed
//! call, and advice. Its methods classify the error: for example, [`Error::is_not_found`] for an
//! object that does not exist, and [`Error::is_throttled`] for too many calls.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # look(&client, "cf63aba9-63b1-4219-b717-708a2665100b").await?;
//! # emulator.shutdown().await;
//! # Ok(()) }
//! async fn look(client: &Client, id: &str) -> Result<(), Error> {
//!     match client.training_jobs().get(id).await {
//!         Ok(job) => println!("{} is {}", job.name(), job.phase()),
//!         Err(error) if error.is_not_found() => println!("there is no such job"),
//!         Err(error) if error.is_throttled() => {
//!             println!("too many calls; again in {:?}", error.retry_after());
//!         }
//!         Err(error) => {
//!             println!("{error}\nwhat to do: {}", error.advice().unwrap_or("ask support"));
//!             println!("support asks for {:?}", error.request_id());
//!             return Err(error);
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! If a job breaks rules, its create request is not sent, and [`Error::violations`] returns all
//! broken rules that were found. If a list cannot be read to its end, [`Error::position`] returns
//! the position from which the list can be resumed. If the response to a call is lost,
//! [`Error::is_uncertain`] returns whether the call may have been executed.

// `call_summary` has the details of the call, `classification` the meaning of errors for a program,
// `display` their texts, `violation` the rules that a job breaks, and `mask` removes secrets from
// texts that come from outside.

pub(crate) mod call_summary;
mod classification;
#[cfg(test)]
mod codes_tests;
pub(crate) mod display;
pub(crate) mod mask;
pub(crate) mod violation;

pub use violation::Violation;

use std::{any::Any, error::Error as StdError, iter, sync::Arc, time::Duration};

use modelarts_api::{ErrorCode, types::ApiError};

use crate::{
    error::{call_summary::CallSummary, mask::Mask},
    list_position::Position,
};

/// A failed call: its cause and the details of the call.
///
/// Its fields are private; use the accessors, such as [`is_not_found`](Self::is_not_found),
/// [`status`](Self::status), [`code`](Self::code). `Display` shows the error in one sentence, with
/// two exceptions: several broken rules follow on a line each, and a job that did not complete is
/// followed by its last events, its last log lines and the advice. `Debug`, which a `main` that
/// returns the error prints, shows one fact a line:
///
/// ```no_run
/// use modelarts_ext::{Client, Error};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Error> {
///     let client = Client::from_env()?;
///     let job = client.training_jobs().get("2f0e").await?;
///     println!("{job}");
///     Ok(())
/// }
/// ```
///
/// ```text
/// Error: ShowTrainingJobDetails: Training job (ID: 2f0e) not found
///   kind: Service
///   status: 400
///   code: ModelArts.2775 (TrainingJobNotFound)
///   request id: ec6fbb5d382b4772af51a078c48aebb1
///   attempts: 1 in 8.5ms
///   advice: Check whether the training job information in the request is valid
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    call: CallSummary,
    status: Option<u16>,
    code: Option<String>,
    service_message: Option<String>,
    solution: Option<String>,
    /// Advice of this crate. It replaces that of the table, which is the same for all credentials.
    advice: Option<String>,
    body: Option<String>,
    /// Overrides the decision on retries, which depends on kind and status.
    retryable: Option<bool>,
    /// Cause of the error. It is shared, because all calls that waited for the same credentials get
    /// the error.
    source: Option<Arc<dyn StdError + Send + Sync>>,
    violations: Vec<Violation>,
    position: Option<Position>,
    /// Value of a module that this one does not depend on. It is shared, because errors are cloned.
    detail: Option<Arc<dyn Any + Send + Sync>>,
}

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The client is misconfigured. Nothing was sent.
    Config,
    /// The call is invalid. Nothing was sent.
    Invalid,
    /// The client has no usable credentials. Nothing was sent.
    Credentials,
    /// The service could not be reached, or the connection broke.
    Connection,
    /// The service did not respond in time.
    Timeout,
    /// The service responded with an error.
    Service,
    /// The result is not ready yet; call again later.
    NotReady,
    /// The service has no such object: a search of the client found none. If the service itself
    /// reports that, the kind is [`Service`](Self::Service); see [`Error::is_not_found`].
    NotFound,
    /// A job that was waited for did not complete; see [`Error::outcome`].
    NotCompleted,
    /// A local file could not be written; see
    /// [`download`](crate::jobs::logs::Logs::download).
    File,
    /// The response could not be decoded.
    Decode,
    /// The response is not part of the description, such as a redirect.
    Unexpected,
}

impl Error {
    /// Creates an error, for providers of credentials and for crates on top of this one. The
    /// message is a clause without a full stop.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            call: CallSummary::default(),
            status: None,
            code: None,
            service_message: None,
            solution: None,
            advice: None,
            body: None,
            retryable: None,
            violations: Vec::new(),
            position: None,
            detail: None,
            source: None,
        }))
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Creates the error for a request that was not sent, because `what` breaks these rules.
    pub(crate) fn broken_rules(what: &str, violations: Vec<Violation>) -> Self {
        let message = match &violations[..] {
            [violation] => format!("{what} breaks a rule, so nothing was sent: {violation}"),
            violations => {
                let lines = violations
                    .iter()
                    .map(|violation| format!("\n  {violation}"));
                let (count, lines) = (violations.len(), lines.collect::<String>());
                format!("{what} breaks {count} rules, so nothing was sent:{lines}")
            }
        };
        let mut error = Self::invalid(message).with_advice(joined_advice(&violations));
        error.0.violations = violations;
        error
    }

    /// Creates the error for an error response of the service.
    pub(crate) fn service(status: u16, body: &ApiError) -> Self {
        let mut error = Self::new(ErrorKind::Service, "");
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        error.0.status = Some(status);
        error.0.code = text(&body.error_code);
        error.0.service_message = text(&body.error_msg).or_else(|| text(&body.error_message));
        error.0.solution = text(&body.error_solution);
        error.0.call.request_id = text(&body.request_id);
        error
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Adds advice, unless the service gave its own.
    pub(crate) fn with_solution(mut self, solution: Option<String>) -> Self {
        self.0.solution = self.0.solution.or(solution);
        self
    }

    /// Appends advice to that of the service or of the table.
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        let advice = self.advice().unwrap_or_default().trim();
        self.0.solution = Some(match advice.trim_end_matches('.') {
            "" => hint.to_owned(),
            advice => format!("{advice}; {hint}"),
        });
        self
    }

    /// Sets the advice for an error without advice of the service.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<Option<String>>) -> Self {
        self.0.advice = advice.into();
        self
    }

    /// Masks secrets in the message and the source, which may quote a server.
    pub(crate) fn with_mask(mut self, mask: &Mask) -> Self {
        if let Some(masked) = mask.text(&self.0.message) {
            self.0.message = masked;
        }
        if let Some(source) = &self.0.source {
            let message = chain_message(&**source);
            if mask.text(&format!("{source:?} {message}")).is_some() {
                let masked = mask.text(&message).unwrap_or(message);
                self.0.source = Some(Arc::from(Box::<dyn StdError + Send + Sync>::from(masked)));
            }
        }
        self
    }

    /// Sets the HTTP status of the response.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Sets the code of the service.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Option<String>>) -> Self {
        self.0.code = code.into();
        self
    }

    /// Sets the id of the request, which the support of the cloud asks for.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.0.call.request_id = id.into();
        self
    }

    pub(crate) fn with_position(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }

    pub(crate) fn with_detail(mut self, detail: Arc<dyn Any + Send + Sync>) -> Self {
        self.0.detail = Some(detail);
        self
    }

    /// Returns the detail, if it has this type.
    pub(crate) fn detail<T: 'static>(&self) -> Option<&T> {
        self.0.detail.as_ref()?.downcast_ref()
    }

    /// Sets the result of [`is_retryable`](Self::is_retryable), regardless of kind and status.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = Some(retryable);
        self
    }

    /// Masks the security token in the canonical request that the gateway returns. The mask of the
    /// call does not find a token that belongs to another request.
    pub(crate) fn without_token(mut self) -> Self {
        const NAME: &str = "x-security-token:";
        if let Some(message) = &mut self.0.service_message
            && let Some(at) = message.find(NAME)
        {
            let start = at + NAME.len();
            let end = message[start..].find('|');
            message.replace_range(start..end.map_or(message.len(), |end| start + end), "***");
        }
        self
    }

    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.call.retry_after = wait;
        self
    }

    pub(crate) fn with_body(mut self, body: String) -> Self {
        self.0.body = Some(body);
        self
    }

    /// Returns this error as the result of an operation whose earlier error was uncertain: it takes
    /// over the call of the earlier one and is uncertain, too.
    pub(crate) fn after_uncertain(mut self, other: Self) -> Self {
        self.0.call = other.0.call.clone();
        self.with_uncertainty().with_source(other)
    }

    /// Marks the call as possibly executed.
    pub(crate) fn with_uncertainty(mut self) -> Self {
        self.0.call.uncertain = true;
        self
    }

    /// Adds the details of the call from the transport. A request id from the body of the response
    /// is kept unless the transport has one.
    pub(crate) fn with_call(mut self, call: CallSummary) -> Self {
        let request_id = call.request_id.or(self.0.call.request_id.take());
        self.0.call = CallSummary { request_id, ..call };
        self
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the HTTP status of the response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns the code of the service, such as `ModelArts.2775`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Returns the name of the code in the table of error codes, such as `TrainingJobNotFound`, if
    /// the table has the code.
    #[must_use]
    pub fn code_name(&self) -> Option<&'static str> {
        Some(self.known_code()?.name)
    }

    /// Returns the row of the code in the table of error codes: its meaning, advice and retry.
    #[must_use]
    pub fn known_code(&self) -> Option<&'static ErrorCode> {
        ErrorCode::find(self.code()?, self.status()?)
    }

    /// Returns the advice of the service, else that for the kind of error, such as rejected
    /// credentials, [broken rules](Self::violations) or a job that did not complete, else that of
    /// the table of error codes.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.solution()
            .or(self.0.advice.as_deref())
            .or_else(|| Some(self.known_code()?.advice))
    }

    /// Returns the message of the service.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.0.service_message.as_deref()
    }

    /// Returns the advice of the service.
    #[must_use]
    pub fn solution(&self) -> Option<&str> {
        self.0.solution.as_deref()
    }

    /// Returns the id of the request, for the support of the service.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.call.request_id.as_deref()
    }

    /// Returns the number of attempts of the request. A creation whose response was lost may
    /// consist of several requests; the number is that of the last one.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.call.attempts
    }

    /// Returns the delay that the last response requested with `Retry-After`.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.call.retry_after
    }

    /// Returns the duration of the call, including all attempts. For a creation whose response was
    /// lost, the duration of the last request.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.call.elapsed
    }

    /// Returns the operation, such as `ShowTrainingJobDetails`.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.0.call.operation
    }

    /// Returns the rules that a job or a document breaks, if it was not sent because of them.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// Returns the position from which `resume` continues a list that ended with an error because
    /// it changed too much or rows are missing at its end.
    #[must_use]
    pub fn position(&self) -> Option<&Position> {
        self.0.position.as_ref()
    }

    /// Returns the body of a response that could not be decoded.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }
}

/// Returns the advice of the violations, each once; of more than 3, that of the first one.
fn joined_advice(violations: &[Violation]) -> Option<String> {
    const SHOWN: usize = 3;
    let mut advice: Vec<&str> = Vec::new();
    for violation in violations {
        if !advice.contains(&violation.advice()) {
            advice.push(violation.advice());
        }
    }
    match &advice[..] {
        [first, rest @ ..] if rest.len() >= SHOWN => Some(format!("{first}; {} more", rest.len())),
        advice => (!advice.is_empty()).then(|| advice.join("; ")),
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

/// Returns the messages of an error and its sources, each part once.
pub(crate) fn chain_message(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    for error in iter::successors(error.source(), |error| (*error).source()) {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
    }
    text
}
