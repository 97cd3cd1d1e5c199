//! The result of a check: violations and warnings.

use std::{borrow::Cow, fmt};

use crate::{
    error::violation::{Actual, Violation},
    validation::json_path::Located,
};

/// The evidence for a rule, as in `openapi/SOURCES.md`. It decides between violation and warning.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Basis {
    /// A violation, because the service is known to refuse such jobs, or its list of codes names
    /// this cause. The value is the code.
    Refusal(&'static str),
    /// A violation, because a document requires it. The value is the code of the refusal.
    Must(&'static str),
    /// A warning, because a document advises it or seems to imply it. The value is the reason why
    /// it is not a violation.
    Advice(&'static str),
}

/// Advice that a job does not follow.
///
/// The service is not known to refuse the job for it. The advice includes the reason why it is not
/// a [`Violation`].
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    field: String,
    actual: Actual,
    advice: Cow<'static, str>,
}

impl Warning {
    pub(crate) fn new(
        field: impl Into<String>,
        actual: Actual,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            field: field.into(),
            actual,
            advice: advice.into(),
        }
    }

    /// Creates a warning about a field, with its value.
    pub(crate) fn at(field: &Located<'_>, advice: impl Into<Cow<'static, str>>) -> Self {
        Self::new(field.path(), field.actual(), advice)
    }

    /// Returns the path of the field, such as `algorithm.inputs[0].name`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the recommendation, and the reason for it.
    #[must_use]
    pub fn advice(&self) -> &str {
        &self.advice
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", self.field, self.actual, self.advice)
    }
}

/// The findings of a check.
///
/// `Display` writes one line for each violation and warning.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use = "a report is not an error by itself: its violations must be read"]
pub struct Report {
    /// Broken rules that the service is known to enforce, or that a document states.
    pub violations: Vec<Violation>,
    /// Advice that the job does not follow. Warnings do not prevent a submission.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Adds a violation, or a warning if the rule is advice.
    pub(crate) fn add(
        &mut self,
        basis: Basis,
        field: &Located<'_>,
        requirement: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) {
        self.add_value(basis, field.path(), field.actual(), requirement, advice);
    }

    /// Like [`add`](Self::add), with a value for the message.
    pub(crate) fn add_value(
        &mut self,
        basis: Basis,
        field: impl Into<String>,
        actual: Actual,
        requirement: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) {
        let (requirement, advice) = (requirement.into(), advice.into());
        match basis {
            Basis::Refusal(code) | Basis::Must(code) => self.violations.push(Violation::new(
                field,
                actual,
                requirement,
                Some(code),
                advice,
            )),
            Basis::Advice(why) => {
                let advice = format!("{requirement}; {advice} ({why})");
                self.warnings.push(Warning::new(field, actual, advice));
            }
        }
    }

    /// Returns `true` if no rule is broken. The service may still refuse the job for other reasons.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "error: {violation}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}
