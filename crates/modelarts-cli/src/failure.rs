//! `Failure`: the reason why a command did not succeed.

use std::{fmt, io};

use modelarts_ext::Error;
use serde_json::{Value, json};

use crate::exit_status::ExitStatus;

/// Reason why a command did not succeed. `Display` returns the text for stderr, without the leading
/// `error:`.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the SDK: a rejection by the service, the network, or a missing setting.
    Sdk(Error),
    /// An argument, a file or a setting of the user is wrong. The text names it, and the rule.
    Usage(String),
    /// The check found violations; nothing was sent.
    Unchecked(String),
    /// No such job exists.
    NotFound(String),
    /// A problem of this machine, such as a full disk.
    Local(String),
    /// The reader of stdout is gone, such as `head` after its last line. Nothing is printed.
    Closed,
    /// A result that was printed already.
    Status(ExitStatus),
}

impl Failure {
    /// Creates an error about an argument, a file or a setting.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self::Usage(text.to_string())
    }

    /// Creates an error of this machine.
    pub(crate) fn local(text: impl fmt::Display) -> Self {
        Self::Local(text.to_string())
    }

    /// Returns the result of the program.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Sdk(error) if error.is_not_found() => ExitStatus::NotFound,
            Self::Sdk(error) if !error.violations().is_empty() && error.attempts() == 0 => {
                ExitStatus::Unchecked
            }
            Self::Sdk(_) | Self::Local(_) => ExitStatus::Refused,
            Self::Usage(_) => ExitStatus::Usage,
            Self::Unchecked(_) => ExitStatus::Unchecked,
            Self::NotFound(_) => ExitStatus::NotFound,
            Self::Closed => ExitStatus::Success,
            Self::Status(status) => *status,
        }
    }

    /// Returns `true` if there is a text for the user.
    pub(crate) fn has_text(&self) -> bool {
        !matches!(self, Self::Closed | Self::Status(_))
    }

    /// Returns the error as JSON, for the output formats `json` and `ndjson`.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"message": self.to_string(), "exit_code": self.status().code()});
        if let Self::Sdk(sdk) = self {
            error["kind"] = format!("{:?}", sdk.kind()).into();
            error["code"] = sdk.code().into();
            error["status"] = sdk.status().into();
            error["request_id"] = sdk.request_id().into();
            error["advice"] = sdk.advice().into();
        }
        error
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sdk(error) => write!(f, "{error}"),
            Self::Usage(text)
            | Self::Unchecked(text)
            | Self::NotFound(text)
            | Self::Local(text) => f.write_str(text),
            Self::Closed | Self::Status(_) => Ok(()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sdk(error)
    }
}

/// Converts an error of writing to stdout.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::local(format_args!("cannot write to stdout: {error}")),
        }
    }
}
