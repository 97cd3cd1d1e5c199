//! Report of a validation, with violations and warnings.

use std::{borrow::Cow, fmt};

use serde::Deserialize;

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    validation::json_path::Located,
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Rule {
    /// Name of the rule in `openapi/SOURCES.md`, if different from the key.
    pub(crate) name: Option<String>,
    pub(crate) fields: Vec<String>,
    pub(crate) basis: Basis,
    pub(crate) code: String,
    /// Reason why a violation of the rule causes only a warning.
    pub(crate) reason: String,
    pub(crate) requirement: String,
    pub(crate) advice: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Basis {
    /// The service is known to reject such jobs, or its list of error codes states this cause.
    #[default]
    Refusal,
    Must,
    Advice,
}

/// Advice that a job does not follow.
///
/// A warning is not a [`Violation`], because the service may accept the job.
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
        Self { field: field.into(), actual, advice: advice.into() }
    }

    pub(crate) fn at(field: &Located<'_>, advice: impl Into<Cow<'static, str>>) -> Self {
        Self::new(field.path(), field.actual(), advice)
    }

    /// Returns the path of the field, such as `algorithm.inputs[0].name`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the advice, in most cases with the reason.
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

/// Report of a validation.
///
/// `Display` prints one line for each violation and each warning.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use = "a report is not an error by itself: its violations must be read"]
pub struct Report {
    /// Violations of rules that the service is known to enforce, or that a document states.
    pub violations: Vec<Violation>,
    /// Advice that the job does not follow. Warnings do not prevent a submission.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Adds a warning if the rule is advice, and otherwise a violation.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        field: &Located<'_>,
        requirement: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) {
        self.add_value(rule, field.path(), field.actual(), requirement, advice);
    }

    pub(crate) fn add_in_words_of(&mut self, rule: &'static Rule, field: &str, actual: Actual) {
        self.add_value(rule, field, actual, &*rule.requirement, &*rule.advice);
    }

    pub(crate) fn add_value(
        &mut self,
        rule: &'static Rule,
        field: &str,
        actual: Actual,
        requirement: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) {
        let (requirement, advice) = (requirement.into(), advice.into());
        if rule.basis == Basis::Advice {
            let advice = format!("{requirement}; {advice} ({})", rule.reason);
            self.warnings.push(Warning::new(field, actual, advice));
        } else {
            let code = Some(&*rule.code);
            let violation = Violation::new(field, actual, requirement, code, advice);
            self.violations.push(violation);
        }
    }

    /// Returns `true` if no rule is violated.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the warnings. `subject` describes what was validated, such as `the job`.
    ///
    /// # Errors
    /// Returns an error with all violations if the report has any, as
    /// [`CreateJob::submit`](crate::jobs::create::CreateJob::submit) does.
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
