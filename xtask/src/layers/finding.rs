//! Violation of a rule, with its location.

use std::fmt;

/// Violation of a rule. Violations are sorted by location; equal violations are reported once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The path of the file, relative to the root of the workspace.
    pub file: String,
    pub line: usize,
    pub message: String,
}

impl Finding {
    pub fn new(file: &str, line: usize, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
