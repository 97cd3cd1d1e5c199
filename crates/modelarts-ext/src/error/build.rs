//! Constructors of errors, and methods that add details to an error.

use std::{any::Any, error::Error as StdError, sync::Arc, time::Duration};

use modelarts_api::types::ApiError;

use crate::{
    error::{
        CallSummary, Detail, Error, ErrorKind, Inner, Reply, display::chain_message, mask::Mask,
        violation::Violation,
    },
    list_position::Position,
};

impl Error {
    /// Creates an error, for providers and dependent crates. `message` must not end in a full stop.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            call: CallSummary::default(),
            reply: Reply::default(),
            advice: None,
            retryable: None,
            source: None,
            violations: Vec::new(),
            position: None,
            detail: None,
        }))
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn broken_rules(what: &str, violations: Vec<Violation>) -> Self {
        let message = match &violations[..] {
            [violation] => format!("{what} breaks a rule, so nothing was sent: {violation}"),
            violations => {
                let lines = violations.iter().map(|violation| format!("\n  {violation}"));
                let (count, lines) = (violations.len(), lines.collect::<String>());
                format!("{what} breaks {count} rules, so nothing was sent:{lines}")
            }
        };
        let mut error = Self::invalid(message).with_advice(joined_advice(&violations));
        error.0.violations = violations;
        error
    }

    pub(crate) fn service(status: u16, body: &ApiError) -> Self {
        let mut error = Self::new(ErrorKind::Service, "");
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        error.0.reply.status = Some(status);
        error.0.reply.code = text(&body.error_code);
        error.0.reply.message = text(&body.error_msg).or_else(|| text(&body.error_message));
        error.0.reply.solution = text(&body.error_solution);
        error.0.call.request_id = text(&body.request_id);
        error
    }

    /// Sets the source of the error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    pub(crate) fn with_solution(mut self, solution: Option<String>) -> Self {
        self.0.reply.solution = self.0.reply.solution.or(solution);
        self
    }

    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        let advice = self.advice().unwrap_or_default().trim();
        self.0.reply.solution = Some(match advice.trim_end_matches('.') {
            "" => hint.to_owned(),
            advice => format!("{advice}; {hint}"),
        });
        self
    }

    /// Sets the advice, which applies if the service returned no advice.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<Option<String>>) -> Self {
        self.0.advice = advice.into();
        self
    }

    /// Masks secrets in the message and the source, because they may contain text of a server.
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
        self.0.reply.status = Some(status);
        self
    }

    /// Sets the error code of the service.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Option<String>>) -> Self {
        self.0.reply.code = code.into();
        self
    }

    /// Sets the request id, which the support of the cloud needs.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.0.call.request_id = id.into();
        self
    }

    pub(crate) fn with_position(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }

    pub(crate) fn with_detail(mut self, detail: impl Any + Send + Sync) -> Self {
        self.0.detail = Some(Detail(Arc::new(detail)));
        self
    }

    pub(crate) fn detail<T: 'static>(&self) -> Option<&T> {
        self.0.detail.as_ref()?.0.downcast_ref()
    }

    /// Sets the result of [`is_retryable`](Self::is_retryable), regardless of the other details.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = Some(retryable);
        self
    }

    /// Masks the security token in the canonical request that the message of the gateway contains.
    pub(crate) fn without_token(mut self) -> Self {
        const NAME: &str = "x-security-token:";
        if let Some(message) = &mut self.0.reply.message
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
        self.0.reply.body = Some(body);
        self
    }

    /// Returns this error with the call of an earlier, uncertain error, which becomes the source.
    pub(crate) fn after_uncertain(mut self, other: Self) -> Self {
        self.0.call = other.0.call.clone();
        self.with_uncertainty().with_source(other)
    }

    pub(crate) fn with_uncertainty(mut self) -> Self {
        self.0.call.uncertain = true;
        self
    }

    /// Removes the uncertainty of a lost response, if a later call shows the result.
    pub(crate) fn without_uncertainty(mut self) -> Self {
        self.0.call.uncertain = false;
        self
    }

    /// Adds the details of a call. If they contain no request id, keeps the request id of the body.
    pub(crate) fn with_call(mut self, call: CallSummary) -> Self {
        let request_id = call.request_id.or(self.0.call.request_id.take());
        self.0.call = CallSummary { request_id, ..call };
        self
    }
}

/// Joins distinct advice of violations. Above three, returns the first and the number of others.
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
