//! A violation of a rule by the description, with its place.

use std::fmt;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// The place of the violation, as a JSON pointer.
    pub place: String,
    /// The violation and its remedy.
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
        // The pointer of the whole description is the empty text.
        let place = match self.place.as_str() {
            "" => "(description)",
            place => place,
        };
        write!(f, "{place}: {}", self.message)
    }
}
