//! `Failure`: the reason why a command did not succeed.

use std::{error::Error as _, fmt, io};

use modelarts_ext::{Error, ErrorKind, error::Violation};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{exit_status::ExitStatus, wording};

/// Reason why a command did not succeed. `Display` formats the text for stderr without the leading
/// `error:`.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the SDK: a rejection by the service, the network, or a missing setting.
    Sdk(Error),
    /// An error of the SDK that prevented the creation of a job. A missing bucket or pool then
    /// counts as a rejection, because the command names no job that could be missing.
    NotCreated(Error),
    /// The emulator of the context does not respond, or an emulator runs and no context is selected.
    /// The text has the command that helps.
    NoEmulator(Error, String),
    /// An argument, a file or a setting is wrong. The text contains the wrong value and the rule.
    Usage(String),
    /// The check found violations; nothing was sent. The text contains a list of the violations.
    Unchecked(String, Vec<Violation>),
    /// The job, or the algorithm, does not exist.
    NotFound(String),
    /// A problem of this machine, such as a full disk.
    Local(String),
    /// The reader of stdout has closed it, as `head` does after its last line. Nothing is printed.
    Closed,
    /// The result was already printed.
    Status(ExitStatus),
}

impl Failure {
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self::Usage(text.to_string())
    }

    pub(crate) fn local(text: impl fmt::Display) -> Self {
        Self::Local(text.to_string())
    }

    /// Adds advice on emulators, which depends on the kind of the error.
    pub(crate) fn with_advice(self, advice: impl FnOnce(ErrorKind) -> Option<String>) -> Self {
        let (Self::Sdk(error) | Self::NotCreated(error)) = &self else {
            return self;
        };
        match advice(error.kind()) {
            Some(advice) => Self::NoEmulator(error.clone(), advice),
            None => self,
        }
    }

    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Sdk(error) if error.is_not_found() => ExitStatus::NotFound,
            Self::Sdk(error) | Self::NotCreated(error)
                if !error.violations().is_empty() && error.attempts() == 0 =>
            {
                ExitStatus::Unchecked
            }
            // A value that the SDK rejects before anything is sent is a wrong argument. The error
            // of a local file has an I/O error as its source instead.
            Self::Sdk(error) | Self::NotCreated(error)
                if error.kind() == ErrorKind::Invalid
                    && error.attempts() == 0
                    && error.source().is_none() =>
            {
                ExitStatus::Usage
            }
            Self::Sdk(_) | Self::NotCreated(_) | Self::NoEmulator(..) | Self::Local(_) => {
                ExitStatus::Refused
            }
            Self::Usage(_) => ExitStatus::Usage,
            Self::Unchecked(..) => ExitStatus::Unchecked,
            Self::NotFound(_) => ExitStatus::NotFound,
            Self::Closed => ExitStatus::Success,
            Self::Status(status) => *status,
        }
    }

    pub(crate) fn has_text(&self) -> bool {
        !matches!(self, Self::Closed | Self::Status(_))
    }

    /// Returns a sentence with the command that helps with the error.
    pub(crate) fn hint(&self) -> Option<&str> {
        let error = match self {
            Self::Sdk(error) | Self::NotCreated(error) => error,
            Self::NoEmulator(_, advice) => return Some(advice),
            _ => return None,
        };
        match error.kind() {
            ErrorKind::Config => Some(
                "`modelarts doctor` shows which settings were found; `modelarts run --local` needs \
                 no account",
            ),
            ErrorKind::Connection => {
                Some("`modelarts doctor` checks the address, the credentials and the clock")
            }
            _ => None,
        }
    }

    /// Returns the error as a document, for the output formats `json` and `ndjson`.
    pub(crate) fn document(&self) -> ErrorDocument {
        let mut error = ErrorFacts::new(self.to_string(), self.status());
        if let Self::Unchecked(_, violations) = self {
            error.violations = violations.iter().map(BrokenRule::new).collect();
        }
        if let Self::Sdk(sdk) | Self::NotCreated(sdk) | Self::NoEmulator(sdk, _) = self {
            error.kind = Some(format!("{:?}", sdk.kind()));
            error.code = sdk.code().map(str::to_owned);
            error.status = sdk.status();
            error.request_id = sdk.request_id().map(str::to_owned);
            let advice = sdk.advice().map(wording::for_users);
            error.advice = advice.or_else(|| self.hint().map(str::to_owned));
            let violations = sdk.violations().iter();
            error.violations = violations.map(BrokenRule::new).collect();
        }
        ErrorDocument { error }
    }
}

/// An error on stderr.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorDocument {
    /// The error.
    pub(crate) error: ErrorFacts,
}

/// Facts of an error.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ErrorFacts {
    /// The text that the other formats print.
    message: String,
    /// Exit code of the program.
    exit_code: u8,
    /// Kind of an error of the SDK, such as `Service` or `Connection`.
    kind: Option<String>,
    /// Error code of the service, such as `ModelArts.2775`.
    code: Option<String>,
    /// HTTP status of the response.
    status: Option<u16>,
    /// Id of the request, for the support of the service.
    request_id: Option<String>,
    /// Advice on the error.
    advice: Option<String>,
    /// Rules that the job breaks.
    violations: Vec<BrokenRule>,
}

/// A rule that a job breaks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BrokenRule {
    /// Field of the request, such as `spec.resource.node_count`.
    field: String,
    /// The rule.
    rule: String,
    /// Advice.
    advice: String,
}

impl ErrorFacts {
    pub(crate) fn new(message: String, status: ExitStatus) -> Self {
        Self { message, exit_code: status.code(), ..Self::default() }
    }
}

impl BrokenRule {
    fn new(violation: &Violation) -> Self {
        Self {
            field: violation.field().to_owned(),
            rule: violation.rule().to_owned(),
            advice: violation.advice().to_owned(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sdk(error) | Self::NotCreated(error) | Self::NoEmulator(error, _) => {
                f.write_str(&wording::for_users(&error.to_string()))
            }
            Self::Usage(text)
            | Self::Unchecked(text, _)
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

/// Converts an error of writing to stdout. A closed stdout becomes [`Failure::Closed`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::local(format_args!("cannot write to stdout: {error}")),
        }
    }
}
