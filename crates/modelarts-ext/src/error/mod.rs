//! [`Error`], the error type of the crate.
//!
//! An [`Error`] contains the details of a failed call, and advice. Methods such as
//! [`Error::is_not_found`] and [`Error::is_throttled`] classify the error.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # look(&client, "cf63aba9-63b1-4219-b717-708a2665100b").await?;
//! # Ok(()) }) }
//! async fn look(client: &Client, id: &str) -> Result<(), Error> {
//!     match client.training_jobs().get(id).await {
//!         Ok(job) => println!("{} is {}", job.name(), job.phase()),
//!         Err(error) if error.is_not_found() => println!("there is no such job"),
//!         Err(error) if error.is_throttled() => {
//!             println!("too many calls; again in {:?}", error.retry_after());
//!         }
//!         Err(error) => {
//!             println!("{error}\nwhat to do: {}", error.advice().unwrap_or("ask support"));
//!             println!("support asks for {:?}", error.request_id());
//!             return Err(error);
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! [`Error::violations`] returns the violations because of which a job was not sent.
//! [`Error::position`] returns the position from which a list can be resumed.
//! [`Error::is_uncertain`] returns `true` if the service may have executed a failed call.

// `build` creates errors, `classification` classifies them, `display` formats them, `violation`
// contains the type of violations, and `mask` masks secrets.

mod build;
mod classification;
#[cfg(test)]
mod codes_tests;
pub(crate) mod display;
pub(crate) mod mask;
pub(crate) mod violation;

pub use violation::Violation;

use std::{any::Any, error::Error as StdError, sync::Arc, time::Duration};

use modelarts_api::ErrorCode;

use crate::list_position::Position;

/// Details of a call that an error contains.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallSummary {
    pub(crate) operation: Option<&'static str>,
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) uncertain: bool,
    pub(crate) retry_after: Option<Duration>,
}

/// Error with its cause and the details of the failed call.
///
/// `Display` prints one sentence, or several lines for several violations, and for the last events
/// and log lines of a job that did not complete. `Debug`, which is used if `main` returns the
/// error, prints one detail per line:
///
/// ```no_run
/// use modelarts_ext::{Client, Error};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Error> {
///     let client = Client::from_env()?;
///     let job = client.training_jobs().get("2f0e").await?;
///     println!("{job}");
///     Ok(())
/// }
/// ```
///
/// ```text
/// Error: ShowTrainingJobDetails: Training job (ID: 2f0e) not found
///   kind: Service
///   status: 400
///   code: ModelArts.2775 (TrainingJobNotFound)
///   request id: ec6fbb5d382b4772af51a078c48aebb1
///   attempts: 1 in 8.5ms
///   advice: Check whether the training job information in the request is valid
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    call: CallSummary,
    reply: Reply,
    /// Advice of this crate, such as for the kind of credentials. Replaces that of the table.
    advice: Option<String>,
    retryable: Option<bool>,
    /// Shared source, because all calls that wait for the same credentials return the error.
    source: Option<Arc<dyn StdError + Send + Sync>>,
    violations: Vec<Violation>,
    position: Option<Position>,
    detail: Option<Detail>,
}

/// Value of a type of another module, such as the end of a job, on which errors do not depend.
#[derive(Clone)]
struct Detail(Arc<dyn Any + Send + Sync>);

#[derive(Clone, Default)]
struct Reply {
    status: Option<u16>,
    code: Option<String>,
    message: Option<String>,
    solution: Option<String>,
    body: Option<String>,
}

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting of the client is missing or invalid. The call was not sent.
    Config,
    /// A parameter of the call is invalid. The call was not sent.
    Invalid,
    /// The client has no usable credentials. The call was not sent to the service.
    Credentials,
    /// The service could not be reached, or the connection broke.
    Connection,
    /// The time limit of the client was reached.
    Timeout,
    /// The service responded with an error.
    Service,
    /// The result does not exist yet. The same call may succeed later.
    NotReady,
    /// A search of the client did not find the resource. See [`Error::is_not_found`].
    NotFound,
    /// A job that the program waited for did not complete. See [`Error::outcome`].
    NotCompleted,
    /// A local file could not be written.
    File,
    /// The response could not be decoded.
    Decode,
    /// The response, for example a redirect, does not match the description.
    Unexpected,
}

impl Error {
    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the HTTP status of the response. Returns `None` if no response caused the error.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.reply.status
    }

    /// Returns the error code of the service, such as `ModelArts.2775`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.reply.code.as_deref()
    }

    /// Returns the name of the code in the table of error codes, such as `TrainingJobNotFound`.
    #[must_use]
    pub fn code_name(&self) -> Option<&'static str> {
        Some(self.known_code()?.name)
    }

    /// Returns the row of the table of error codes, with meaning, advice and retry condition.
    #[must_use]
    pub fn known_code(&self) -> Option<&'static ErrorCode> {
        ErrorCode::find(self.code()?, self.status()?)
    }

    /// Returns the advice of the service, otherwise the advice of this crate for the error,
    /// otherwise the advice in the table of error codes.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.solution().or(self.0.advice.as_deref()).or_else(|| Some(self.known_code()?.advice))
    }

    /// Returns the error message of the service.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.0.reply.message.as_deref()
    }

    /// Returns the advice that the service returned with the error.
    #[must_use]
    pub fn solution(&self) -> Option<&str> {
        self.0.reply.solution.as_deref()
    }

    /// Returns the request id, which the support of the cloud needs.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.call.request_id.as_deref()
    }

    /// Returns the number of attempts of the call, or of the last request of a creation.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.call.attempts
    }

    /// Returns the delay in the header `Retry-After` of the last response.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.call.retry_after
    }

    /// Returns the duration of the call with all attempts, or of the last request of a creation.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.call.elapsed
    }

    /// Returns the name of the operation, such as `ShowTrainingJobDetails`.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.0.call.operation
    }

    /// Returns the violations because of which a job or a document was not sent.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// Returns the position from which `resume` continues a list that changed too much when read.
    #[must_use]
    pub fn position(&self) -> Option<&Position> {
        self.0.position.as_ref()
    }

    /// Returns the body of a response that could not be decoded.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.0.reply.body.as_deref()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}
