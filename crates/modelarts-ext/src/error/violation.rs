//! Violation of a rule, found before a job or a document is sent.

use std::{borrow::Cow, fmt};

use serde_json::Value;

/// Violation of a rule by a job or a document, found before it is sent.
///
/// `Display` prints field, value, rule, code and advice in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    field: String,
    actual: Actual,
    rule: Cow<'static, str>,
    code: Option<&'static str>,
    advice: Cow<'static, str>,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Actual {
    Missing,
    Value(Value),
    /// Measurements of a directory, as JSON and as text for messages.
    Measured(Value, String),
    /// Placeholder for a value that may be a secret and is therefore not stored.
    Hidden,
    Field,
}

impl Violation {
    pub(crate) fn new(
        field: impl Into<String>,
        actual: Actual,
        rule: impl Into<Cow<'static, str>>,
        code: Option<&'static str>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field: field.into(), actual, rule: rule.into(), code, advice: advice.into() }
    }

    /// Returns the path of the field, such as `spec.volumes[2].nfs.local_path`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the value of the field, unless it is missing, irrelevant, or may be a secret.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match &self.actual {
            Actual::Value(value) | Actual::Measured(value, _) => Some(value),
            Actual::Missing | Actual::Hidden | Actual::Field => None,
        }
    }

    /// Returns the requirement that the field violates, such as `must end in .py`.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns the error code with which the service rejects the job, such as `ModelArts.2788`.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// Returns advice on correcting the field.
    #[must_use]
    pub fn advice(&self) -> &str {
        &self.advice
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", self.field, self.actual, self.rule)?;
        if let Some(code) = self.code {
            write!(f, " ({code})")?;
        }
        write!(f, "; {}", self.advice)
    }
}

const SHOWN: usize = 80;

impl fmt::Display for Actual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(" is missing"),
            Self::Field => Ok(()),
            Self::Hidden => f.write_str(" (its value is not shown)"),
            Self::Measured(_, text) => write!(f, " = {text}"),
            Self::Value(value) => {
                let text = value.to_string();
                match text.char_indices().nth(SHOWN) {
                    None => write!(f, " = {text}"),
                    Some((end, _)) => write!(f, " = {}…", &text[..end]),
                }
            }
        }
    }
}

impl fmt::Debug for Actual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.to_string().trim_start())
    }
}
