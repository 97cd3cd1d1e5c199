//! A change that breaks clients.

use std::fmt;

use serde_json::Value;

/// One change that breaks clients.
#[derive(Debug, PartialEq)]
pub struct Break {
    pub place: String,
    pub what: String,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Adds a break if the value of a setting has changed.
pub fn compare_setting(
    place: &str,
    what: &str,
    before: &Value,
    after: &Value,
    breaks: &mut Vec<Break>,
) {
    if before[what] != after[what] {
        breaks.push(Break {
            place: place.to_owned(),
            what: format!(
                "{what} was {}, is {}",
                display(&before[what]),
                display(&after[what])
            ),
        });
    }
}

/// Formats a value for messages.
pub fn display(value: &Value) -> String {
    match value {
        Value::Null => "not there".to_owned(),
        value => value.to_string(),
    }
}
