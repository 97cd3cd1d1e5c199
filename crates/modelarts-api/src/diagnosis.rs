//! Types of the tables from `causes.yaml`: [`CAUSES`] and [`SIGNATURES`](crate::SIGNATURES).

use std::fmt;

use serde::{Serialize, Serializer};

use crate::generated::{CAUSES, Cause};

/// Confidence that the cause in a diagnosis is the actual cause of the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Confidence {
    /// The evidence indicates no cause.
    Unknown,
    /// The evidence is consistent with the cause, but may also be consistent with other causes.
    Likely,
    /// The evidence states the cause.
    Certain,
}

/// Texts of a cause, and alternative texts for special cases.
#[derive(Debug)]
pub struct CauseTexts {
    /// Codes of the cause in the service's own diagnosis of a job, such as `MDC.300710`.
    pub codes: &'static [&'static str],
    /// Texts that apply if the condition of no special case holds.
    pub texts: Texts,
    /// Special cases with their texts. The first case whose condition holds applies.
    pub cases: &'static [(Condition, Texts)],
}

/// Texts about a cause. A name in braces is a placeholder for a value. A part in brackets is
/// omitted if one of the values in the part is not known.
#[derive(Debug)]
pub struct Texts {
    /// Description of the cause as a clause, such as `{task} ran out of memory`.
    pub summary: &'static str,
    /// Recommended next steps, one sentence each.
    pub advice: &'static [&'static str],
    /// Documents about the cause.
    pub links: &'static [Link],
}

/// Condition of a special case, which holds if the conditions in all members hold.
#[derive(Debug)]
pub struct Condition {
    /// `true` if the confidence must be less than [`Confidence::Certain`].
    pub is_likely: bool,
    /// Names of the facts that must be known: `package`, `input`, `code`, `pool` or `log`.
    pub known: &'static [&'static str],
    /// Texts, one of which the evidence of the cause must contain. Empty if any evidence matches.
    pub detail: &'static [&'static str],
    /// Signals, one of which must have ended the process. Empty if any end matches.
    pub signal: &'static [&'static str],
}

/// Document about a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// Title of the document.
    pub title: &'static str,
    /// URL of the document.
    pub url: &'static str,
}

/// Pattern of a log line that indicates a cause. The line contains all parts in the given order.
#[derive(Debug)]
pub struct Signature {
    /// Cause that a matching line indicates.
    pub cause: Cause,
    /// Class of the cause.
    pub class: Class,
    /// Confidence in the cause if no ordinary output follows the line; otherwise at most `Likely`.
    pub confidence: Confidence,
    /// Required position of the first part in the line.
    pub position: Position,
    /// Texts that the line must contain, in this order.
    pub parts: &'static [&'static str],
    /// Example of a matching line.
    pub excerpt: &'static str,
}

/// Class of a cause. If several lines match, a root cause takes precedence over a consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Failure that does not follow from another failure.
    Root,
    /// Failure that may follow from the end of another worker or process.
    Consequence,
}

/// Position of a text in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At the beginning of the line, such as the name of an exception. In the middle of a line, the
    /// same text often belongs to a warning.
    Start,
    /// The whole line, except for leading and trailing white space.
    Line,
    /// At any position.
    Anywhere,
}

impl Cause {
    /// Returns the texts of the cause. Returns `None` if the table contains no texts for the cause.
    #[must_use]
    pub fn texts(self) -> Option<&'static CauseTexts> {
        CAUSES.get(self as usize)
    }

    /// Returns the cause with this code in the service's own diagnosis, such as `MDC.300710`.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        let index = CAUSES.iter().position(|row| row.codes.contains(&code))?;
        Self::ALL.get(index).copied()
    }
}

impl Signature {
    /// Returns `true` if the line contains all parts in order, the first at its required position.
    #[must_use]
    pub fn matches(&self, line: &str) -> bool {
        let first = self.parts.first().copied().unwrap_or_default();
        let is_in_position = match self.position {
            Position::Start => line.starts_with(first),
            Position::Line => line.trim() == first,
            Position::Anywhere => true,
        };
        let mut rest = line;
        is_in_position
            && self.parts.iter().all(|part| match rest.split_once(part) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title, self.url)
    }
}
