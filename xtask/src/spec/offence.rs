//! Violation of a rule by the description, with its JSON pointer.

use std::fmt;

/// Violation of one rule by the description.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// JSON pointer to the violation.
    pub place: String,
    /// Description of the violation and its remedy.
    pub message: String,
}

impl Offence {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An empty pointer denotes the whole description.
        let place = match self.place.as_str() {
            "" => "(description)",
            place => place,
        };
        write!(f, "{place}: {}", self.message)
    }
}
