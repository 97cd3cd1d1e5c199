//! Structure of a validation rule, and errors of violated rules.

use std::fmt::Display;

use crate::{api::error::ApiError, validation::creation::Creation};

/// Evidence for a rule, as given in `openapi/SOURCES.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The service rejects such jobs, as observed or according to its list of codes.
    Refusal,
    /// A document requires the rule.
    Must,
    /// A document advises or seems to imply the rule. Jobs that violate the rule are accepted.
    Advice,
}

/// Rule for several fields, or for a field and the offer of the service.
pub(super) struct Rule {
    /// Name of the rule in `openapi/SOURCES.md` and in the client.
    pub(super) name: &'static str,
    pub(super) basis: Basis,
    pub(super) check: Check,
}

type Check = fn(&Creation<'_>) -> Option<ApiError>;

pub(super) const fn refusal(name: &'static str, check: Check) -> Rule {
    let basis = Basis::Refusal;
    Rule { name, basis, check }
}

pub(super) const fn must(name: &'static str, check: Check) -> Rule {
    let basis = Basis::Must;
    Rule { name, basis, check }
}

pub(super) const fn advice(name: &'static str, check: Check) -> Rule {
    let basis = Basis::Advice;
    Rule { name, basis, check }
}

/// Returns an error whose message is `sentence`, which names the field and states the rule.
pub(super) fn broken(sentence: impl Display) -> Option<ApiError> {
    Some(ApiError::invalid_parameter(sentence))
}

pub(super) fn broken_if(broken: bool, sentence: impl Display) -> Option<ApiError> {
    broken.then(|| ApiError::invalid_parameter(sentence))
}

/// Returns the error `number` if `broken`. Its message must have no placeholders.
pub(super) fn refused_if(broken: bool, number: u16) -> Option<ApiError> {
    broken.then(|| ApiError::of(number, &[]))
}
