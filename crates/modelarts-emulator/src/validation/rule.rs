//! The form of a rule, and the errors of broken ones.

use std::fmt::Display;

use crate::{api::error::ApiError, validation::creation::Creation};

/// The evidence for a rule, as given in `openapi/SOURCES.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The service refuses such jobs, as observed or by its list of codes.
    Refusal,
    /// A document requires it.
    Must,
    /// A document advises it, or it seems to follow from one: such jobs are accepted.
    Advice,
}

/// A rule between fields, or between a field and the offer of the service.
pub(super) struct Rule {
    /// Its name in `openapi/SOURCES.md` and in the client.
    pub(super) name: &'static str,
    pub(super) basis: Basis,
    /// Returns the error of a creation that breaks the rule.
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

/// An error that names the field and the rule.
pub(super) fn broken(sentence: impl Display) -> Option<ApiError> {
    Some(ApiError::invalid_parameter(sentence))
}

pub(super) fn broken_if(broken: bool, sentence: impl Display) -> Option<ApiError> {
    broken.then(|| ApiError::invalid_parameter(sentence))
}

/// An error of the service's table whose message has no values.
pub(super) fn refused_if(broken: bool, number: u16) -> Option<ApiError> {
    broken.then(|| ApiError::of(number, &[]))
}
