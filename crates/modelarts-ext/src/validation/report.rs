//! The result of a check: violations and warnings.

use std::{borrow::Cow, fmt};

use crate::error::violation::{Actual, Violation};

/// The evidence for a rule, as `openapi/SOURCES.md` has it. A job that breaks the rule gets
/// a violation or a warning by it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Basis {
    /// A violation: the service was seen to refuse such jobs, or its list of codes names
    /// this cause. With the code.
    Refusal(&'static str),
    /// A violation: a document says that it must be so. With the code that answers.
    Must(&'static str),
    /// A warning: advice of a document, or what seems to follow from one. With the reason
    /// why it is no more than that.
    Advice(&'static str),
}

/// Advice that a job does not follow. Nothing is known to refuse the job for it: the
/// advice says why it is no [`Violation`].
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

    /// The field, such as `algorithm.inputs[0].name`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The better way, and the reason.
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

/// The findings of a check. Its `Display` is one line for each violation and warning.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use = "a report says whether something is wrong; it is no error by itself"]
pub struct Report {
    /// The rules that the service was seen to enforce, or that a document states.
    pub violations: Vec<Violation>,
    /// Advice that is not followed. It keeps no job from being sent.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Adds what breaks a rule: a violation, or a warning where the rule is advice.
    pub(crate) fn add(
        &mut self,
        basis: Basis,
        field: impl Into<String>,
        actual: Actual,
        says: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) {
        let (says, advice) = (says.into(), advice.into());
        match basis {
            Basis::Refusal(code) | Basis::Must(code) => {
                self.violations
                    .push(Violation::new(field, actual, says, Some(code), advice))
            }
            Basis::Advice(why) => {
                let advice = format!("{says}; {advice} ({why})");
                self.warnings.push(Warning::new(field, actual, advice));
            }
        }
    }

    /// True if the service would take it, as far as that can be known here.
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
