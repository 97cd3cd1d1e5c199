//! Error of the code generator.

use std::fmt;

/// The reason why a description cannot be compiled.
#[derive(Debug)]
pub struct Error(pub(super) String);

impl Error {
    pub(super) fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
