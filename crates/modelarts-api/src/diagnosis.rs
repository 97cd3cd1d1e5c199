//! Types of the tables of `causes.yaml`: [`CAUSES`] and [`SIGNATURES`](crate::SIGNATURES).

use std::fmt;

use serde::{Serialize, Serializer};

use crate::generated::{CAUSES, Cause};

/// Confidence of a diagnosis in its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Confidence {
    /// The evidence shows no cause.
    Unknown,
    /// The evidence fits the cause, and might fit others.
    Likely,
    /// The evidence states the cause.
    Certain,
}

/// Texts of a cause, and those that replace them in special cases.
#[derive(Debug)]
pub struct CauseTexts {
    /// Texts without a special case.
    pub texts: Texts,
    /// Special cases. The first whose condition holds counts.
    pub cases: &'static [(Condition, Texts)],
}

/// Texts about a cause. A name in braces is a value; a part in brackets is left out if one of its
/// values is not known.
#[derive(Debug)]
pub struct Texts {
    /// The cause as a clause, such as `{task} ran out of memory`.
    pub summary: &'static str,
    /// Next steps, a sentence each.
    pub advice: &'static [&'static str],
    /// Documents about the cause.
    pub links: &'static [Link],
}

/// Condition of a special case. All its members must hold.
#[derive(Debug)]
pub struct Condition {
    /// `true` if the confidence must be less than [`Confidence::Certain`].
    pub is_likely: bool,
    /// Facts that must be known: `package`, `input`, `pool` or `log`.
    pub known: &'static [&'static str],
    /// Texts of which the text that shows the cause must contain one. Empty for any text.
    pub detail: &'static [&'static str],
    /// Signals of which one must have ended the process. Empty for any end.
    pub signal: &'static [&'static str],
}

/// Document about a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// Title of the document.
    pub title: &'static str,
    /// Address of the document.
    pub url: &'static str,
}

/// Line of a log that shows a cause: one that contains all parts in their order.
#[derive(Debug)]
pub struct Signature {
    /// The cause.
    pub cause: Cause,
    /// Class of the cause.
    pub class: Class,
    /// Confidence in the cause if the process ended with this line.
    pub confidence: Confidence,
    /// Position of the first part in the line.
    pub position: Position,
    /// Texts in the line.
    pub parts: &'static [&'static str],
    /// Example of such a line.
    pub excerpt: &'static str,
}

/// Class of a cause. If several lines match, a root cause takes precedence over a consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Cause that needs no other one.
    Root,
    /// Failure that the end of another worker or process may have caused.
    Consequence,
}

/// Position of a text in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At the beginning of the line, such as the name of an exception. The same text in the middle
    /// of a line is often that of a warning.
    Start,
    /// Whole line, except for its indentation.
    Line,
    /// At any position.
    Anywhere,
}

impl Cause {
    /// Returns the texts of the cause.
    #[must_use]
    pub fn texts(self) -> Option<&'static CauseTexts> {
        CAUSES.get(self as usize)
    }
}

impl Signature {
    /// Returns `true` if the line has the parts of the signature.
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
