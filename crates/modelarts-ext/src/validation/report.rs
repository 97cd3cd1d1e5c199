//! Validation report: violations and warnings.

use std::{borrow::Cow, fmt};

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    validation::json_path::Located,
};

/// Evidence for a rule, as listed in `openapi/SOURCES.md`. It determines whether the rule yields a
/// violation or a warning.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Basis {
    /// Yields a violation: the service is known to reject such jobs, or its list of error codes
    /// names this cause. The value is the error code.
    Refusal(&'static str),
    /// Yields a violation: a document states the requirement. The value is the expected error code.
    Must(&'static str),
    /// Yields a warning: a document recommends or seems to imply the requirement. The value is the
    /// reason why it is not a violation.
    Advice(&'static str),
}

/// Advice that a job does not follow.
///
/// The service is not known to reject jobs that do not follow it. The advice includes the reason
/// why it is not a [`Violation`].
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

    /// Creates a warning about a field, including the value of the field.
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

/// Findings of a validation.
///
/// `Display` writes one line for each violation and warning.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use = "a report is not an error by itself: its violations must be read"]
pub struct Report {
    /// Violated rules that the service is known to enforce, or that a document states.
    pub violations: Vec<Violation>,
    /// Advice that the job does not follow. Warnings do not prevent a submission.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Adds the finding of a violated rule: a warning if the rule is advice, and a violation
    /// otherwise.
    pub(crate) fn add(
        &mut self,
        basis: Basis,
        field: &Located<'_>,
        requirement: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) {
        self.add_value(basis, field.path(), field.actual(), requirement, advice);
    }

    /// Adds a finding like [`add`](Self::add), with an explicit value for the message.
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

    /// Returns `true` if no rule is violated. The service may still reject the job for other
    /// reasons.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the warnings. `subject` names what was checked, such as `the job`.
    ///
    /// # Errors
    /// All violations, as the error of
    /// [`CreateJob::submit`](crate::jobs::create::CreateJob::submit) has them.
    pub fn into_result(self, subject: &str) -> Result<Vec<Warning>, Error> {
        match self.violations.is_empty() {
            true => Ok(self.warnings),
            false => Err(Error::broken_rules(subject, self.violations)),
        }
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
